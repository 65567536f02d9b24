// The protocol between a run's tool process and its supervisor: one JSON value per line, over one pipe. The process executes tools and nothing else;
// it has no key and no database.
//
//   supervisor → process   start · call · verdict · cancel · stop · ping
//   process → supervisor   target · output · result · error · pong
//
// A call that opens something asks `target` and proceeds on the same open handle once the `verdict` allows it. Long outputs arrive in pieces
// before the `result`, which also carries what tools remembered: paths and versions of the files they read or wrote.
import { z } from 'zod';
import type { ClosedPaths } from '../../contract/closed-paths.ts';
import type { Json } from '../../contract/json.ts';
import type { Subject } from '../../ports/subject.ts';

export type ToProcess =
  | { type: 'start'; runId: string; workspace: string; readable: readonly string[]; memo: [string, string][] }
  | { type: 'call'; id: number; tool: string; arguments: Json; closedPaths: ClosedPaths }
  | { type: 'verdict'; id: number; denial: string | null }
  | { type: 'cancel'; id: number }
  | { type: 'stop' }
  | { type: 'ping' };

const id = z.int().min(1);
const Subjects: z.ZodType<Subject[]> = z.array(
  z.union([
    z.string(),
    z.strictObject({
      text: z.string(),
      unsafe: z.string().optional(),
      alias: z.literal(true).optional(),
      tool: z.string().optional(),
    }) as z.ZodType<Exclude<Subject, string>>,
  ]),
);

/** What the process says is not trusted: its form is checked here, its results by the kernel. */
export const FromProcess = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('target'), id, subjects: Subjects }),
  z.strictObject({ type: z.literal('output'), id, text: z.string() }),
  z.strictObject({ type: z.literal('result'), id, result: z.looseObject({}), memo: z.array(z.tuple([z.string(), z.string()])) }),
  z.strictObject({ type: z.literal('error'), id, message: z.string() }),
  z.strictObject({ type: z.literal('pong') }),
]);
export type FromProcess = z.infer<typeof FromProcess>;

/** Outputs are sent in pieces of at most this many characters. */
export const maxPieceLength = 1024 * 1024;

/** The file descriptor of the pipe in the process. */
export const channelFd = 3;
