// The MCP server on this process's streams.
import { statSync } from 'node:fs';
import type { Io, McpService } from '../cli/io.ts';
import { serveStreams } from '../mcp/serve.ts';
import { sanitizeText } from '../text/terminal.ts';

export async function serveMcp(service: McpService, { version, every, err }: Pick<Io, 'version' | 'every' | 'err'>): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const log = (line: string) => err(`retinue: ${sanitizeText(line)}\n`);
  if (input.isTTY) log('this speaks MCP and waits for a client; `retinue mcp install CLIENT` tells yours to start it. Ctrl-D ends it.');
  try {
    await serveStreams({ input, output }, { ...service, version, every, log, isFolder });
  } finally {
    // A client that is still there would keep the process waiting for its next word.
    input.destroy();
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
