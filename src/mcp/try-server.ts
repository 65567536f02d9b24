// Starts a server as a client would, asks for its tools and ends it: the test of `retinue mcp install`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

/** Codex gives a server 10 s by default. */
const timeoutMs = 10_000;
const keptErrorChars = 2000;

export interface TriedServer {
  command: string;
  args: string[];
  cwd: string;
  /** Added to the few variables that every client passes on. */
  env: Record<string, string>;
}

/** The names of its tools, or why it does not work: the last that it wrote to standard error, or what went wrong. */
export type TryResult = { ok: true; tools: string[] } | { ok: false; reason: string };

export async function tryServer({ command, args, cwd, env }: TriedServer, version: string): Promise<TryResult> {
  const transport = new StdioClientTransport({ command, args, cwd, env, stderr: 'pipe' });
  const client = new Client({ name: 'retinue mcp install', version });
  let written = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    written = (written + chunk.toString('utf8')).slice(-keptErrorChars);
  });
  try {
    await client.connect(transport, { timeout: timeoutMs });
    const { tools } = await client.listTools({}, { timeout: timeoutMs });
    return tools.length > 0 ? { ok: true, tools: tools.map(({ name }) => name) } : { ok: false, reason: 'it offers no tools' };
  } catch (error) {
    return { ok: false, reason: written.trim() || (error as Error).message };
  } finally {
    await client.close().catch(() => {});
  }
}
