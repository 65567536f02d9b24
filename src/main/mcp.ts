// The MCP server on the standard streams of this process.
import { statSync } from 'node:fs';
import type { Io, McpService } from '../cli/io.ts';
import { serveStreams } from '../mcp/serve.ts';
import { sanitizeText } from '../text/terminal.ts';

export async function serveMcp(service: McpService, { version, repeat, err }: Pick<Io, 'version' | 'repeat' | 'err'>): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const log = (line: string) => err(`retinue: ${sanitizeText(line)}\n`);
  if (input.isTTY) log('this is an MCP server waiting for a client. `retinue mcp install CLIENT` adds it to your client; Ctrl-D ends it.');
  try {
    await serveStreams({ input, output }, { ...service, version, every: repeat, log, isFolder });
  } finally {
    // An open standard input would keep the process alive.
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
