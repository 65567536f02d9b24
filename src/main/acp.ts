// The ACP agent on the standard streams of this process.
import { serveStreams } from '../acp/serve.ts';
import type { AcpService, Io } from '../cli/io.ts';
import { sanitizeText } from '../text/terminal.ts';

export async function serveAcp(service: AcpService, { version, err }: Pick<Io, 'version' | 'err'>): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const log = (line: string) => err(`retinue: ${sanitizeText(line)}\n`);
  if (input.isTTY) log('this is an ACP agent waiting for an editor. `retinue acp install EDITOR` adds it to yours; Ctrl-D ends it.');
  const after = (ms: number, run: () => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
  try {
    await serveStreams({ input, output }, { ...service, version, after, log });
  } finally {
    // An open standard input would keep the process alive.
    input.destroy();
  }
}
