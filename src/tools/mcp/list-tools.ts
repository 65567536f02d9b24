// Reads the tool list of a server.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';

export const maxTools = 128;
const maxPages = 100;

/** The tools as the server lists them, unchecked. The same object until the server reports a change. */
export interface ToolListing {
  tools: unknown[];
  /** Whether the server has more tools than are used. */
  hasMore: boolean;
}

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Used instead of the SDK's method, which rejects all tools because of one malformed tool and compiles schemas that are never used. */
export async function listTools(client: Client, signal: AbortSignal): Promise<ToolListing> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], hasMore: false };
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, Page, { signal });
    tools.push(...answer.tools.slice(0, maxTools + 1 - tools.length));
    cursor = answer.nextCursor;
    if (cursor === undefined || tools.length > maxTools) break;
  }
  return { tools: tools.slice(0, maxTools), hasMore: tools.length > maxTools || cursor !== undefined };
}
