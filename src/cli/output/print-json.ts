import { stringifySafely } from '../../text/terminal.ts';
import type { Io } from '../io.ts';

/** Indented on a terminal, one line elsewhere. */
export function printJson(io: Io, value: unknown): void {
  io.out(`${stringifySafely(value, io.outTTY ? 2 : undefined)}\n`);
}
