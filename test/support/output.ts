import type { Readable } from 'node:stream';

/** What a process has said so far; grows while it runs. */
export function outputOf(child: { stdout: Readable; stderr: Readable }): { out: string; err: string } {
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  return said;
}
