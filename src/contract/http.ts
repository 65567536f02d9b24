// What travels over HTTP besides the views of runs (view.ts): requests, answers and errors of the server, and roles of its tokens.
import { z } from 'zod';
import { Brief } from './brief.ts';
import { RunId } from './ids.ts';

/** What a token allows. Each includes those before it. `read`: see everything. `steer`: give orders to existing runs. `start`: start runs. */
export const Role = z.enum(['read', 'steer', 'start']);
export type Role = z.infer<typeof Role>;

export const HttpError = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
export type HttpError = z.infer<typeof HttpError>;

/** `GET /api/server`. `workspace`: the id of the workspace that the server was started for. */
export const ServerInfo = z.object({ version: z.string(), role: Role, workspace: z.string() });
export type ServerInfo = z.infer<typeof ServerInfo>;

/** A workspace that the server can show. Requests name it with `?workspace=ID`. `live`: runs that have not ended; null if its database cannot be read. */
export const Workspace = z.object({
  id: z.string(),
  path: z.string(),
  db: z.string(),
  live: z.int().nullable(),
  questions: z.int().nullable(),
  usedAt: z.string().nullable(),
});
export type Workspace = z.infer<typeof Workspace>;

/** `POST /api/runs`. */
export const StartRequest = Brief;
export const StartResponse = z.object({ runId: RunId });

export const CancelRequest = z.strictObject({ reason: z.string().max(2_000).optional() });
export const CancelResponse = z.object({ runId: RunId, result: z.enum(['asked', 'ended', 'already']) });
export const MessageRequest = z.strictObject({
  text: z.string().trim().min(1).max(65_536),
  rules: z.array(z.string()).max(100).optional(),
});
/** `runId`: the run that got the message; a new one if it continues a finished run. */
export const MessageResponse = z.object({ kind: z.enum(['sent', 'continued']), runId: RunId });
export const PauseRequest = z.strictObject({ reason: z.string().max(2_000).optional() });
export const PauseResponse = z.object({ runId: RunId, result: z.enum(['paused', 'already']) });
/** `released`: a pause was ended. `resumed`: the server drives the interrupted tree from now on. `already`: there was nothing to resume. */
export const ResumeResponse = z.object({ runId: RunId, result: z.enum(['released', 'resumed', 'already']) });
export const ForkRequest = z.strictObject({ turn: z.int().min(1), task: z.string().trim().min(1), model: z.string().optional() });
export const AnswerRequest = z.strictObject({
  allowed: z.boolean(),
  always: z.boolean().optional(),
  reason: z.string().max(2_000).optional(),
  /** The hash of the call that was shown. An answer for another call is refused with 409. */
  hash: z.string().optional(),
});
export const AnswerResponse = z.object({ id: z.string(), result: z.enum(['answered', 'kept', 'late']), denial: z.string().optional() });
/** `call`: `tool:argument`, as for `retinue policy test`. */
export const PolicyRequest = z.strictObject({ call: z.string(), agent: z.string().optional() });

/** One recorded change of a file, as the runtime saw it. */
export const FileChange = z.object({ runId: RunId, path: z.string(), added: z.int(), removed: z.int(), diff: z.string() });
export type FileChange = z.infer<typeof FileChange>;
