import type { Api } from '../api/api.ts';
import type { Settings, SettingsFlags } from './settings.ts';

/** `interrupt`: Ctrl-C or a request to terminate. `closed`: nobody reads standard output any more. */
export type Stop = 'interrupt' | 'closed';

/** What the demonstration runs on. `db` is null where the workspace's own database serves. */
export interface Demo {
  workspace: string;
  model: string;
  db: string | null;
  /** How the reader calls this program, for the hints at the end. */
  command: string;
}

/** The world as the command line sees it. `main/` makes it from the process, tests make it from memory. */
export interface Io {
  version: string;
  out(text: string): void;
  err(text: string): void;
  outTTY: boolean;
  errTTY: boolean;
  colour: { out: boolean; err: boolean };
  /** Size of the terminal; some default where there is none. */
  columns(): number;
  rows(): number;
  /** Rejects with `usage` when there is more than a brief can hold. */
  readStdin(): Promise<string>;
  /** Text of a file named on the command line. Rejects with `usage`, naming the file and the nearest there is. */
  readFile(path: string): Promise<string>;
  /** The path of a file for a brief, as seen from the workspace. Rejects like `readFile`. */
  findFile(workspace: string, path: string): Promise<string>;
  /** While a handler is registered, the process is not ended by Ctrl-C. The returned function takes it away again. */
  onInterrupt(handler: (why: Stop) => void): () => void;
  exitNow(code: number): never;
  now(): number;
  every(ms: number, run: () => void): () => void;
  settings(flags: SettingsFlags): Promise<Settings>;
  /** `drive`: the command may start runs here, or end those that nobody drives. Without it the command only reads. */
  open(settings: Settings, options: { drive: boolean }): Promise<Api>;
  demo(): Promise<Demo>;
}
