import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';

export const maxTools = 128;
const maxPages = 100;

/** What a server says that it can do, as it says it. The same object as long as it says the same. */
export interface Listed {
  tools: unknown[];
  /** Whether there are more than are taken. */
  hasMore: boolean;
}

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** The SDK's own listing would refuse all tools for one that is malformed, and compile schemas that are never used. */
export async function listTools(client: Client, signal: AbortSignal): Promise<Listed> {
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
