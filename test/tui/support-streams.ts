// The streams of a terminal made of memory, for `openScreen`.
import { PassThrough, Writable } from 'node:stream';
import type { TerminalStreams } from '../../src/tui/open-screen.tsx';
import { createTerminal, type Terminal } from '../support/terminal.ts';

export interface MemoryTerminal {
  streams: TerminalStreams;
  terminal: Terminal;
  /** Bytes written so far. */
  bytes(): number;
  /** What was written since the last call. */
  take(): string;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  isRaw(): boolean;
}

export function createMemoryTerminal(size: { columns: number; rows: number }): MemoryTerminal {
  const terminal = createTerminal(size);
  let bytes = 0;
  let recent = '';
  const stdout = Object.assign(
    new Writable({
      decodeStrings: false,
      write(chunk, _, done) {
        const text = String(chunk);
        bytes += Buffer.byteLength(text);
        recent += text;
        terminal.write(text);
        done();
      },
    }),
    { ...size, isTTY: true },
  );
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(raw: boolean) {
      stdin.isRaw = raw;
      return stdin;
    },
    ref: () => stdin,
    unref: () => stdin,
  });
  return {
    streams: { stdin, stdout } as unknown as TerminalStreams,
    terminal,
    bytes: () => bytes,
    take() {
      const text = recent;
      recent = '';
      return text;
    },
    type: (keys) => void stdin.write(keys),
    resize(columns, rows) {
      Object.assign(stdout, { columns, rows });
      terminal.resize(columns, rows);
      stdout.emit('resize');
    },
    isRaw: () => stdin.isRaw,
  };
}
