// What travels over HTTP besides the views of runs (view.ts): requests, answers and errors of the server, and roles of its tokens.
import { z } from 'zod';
import { Agent } from './agent.ts';
import { Brief } from './brief.ts';
import { BudgetName } from './budget.ts';
import { Effort } from './effort.ts';
import { Decision } from './grant.ts';
import { Hash, Instant, RunId } from './ids.ts';
import { LimitsGiven } from './limits.ts';
import { JobOptions, QueueState, WorkerState } from './queue.ts';
import { RunDetail } from './view.ts';

/** What a token allows. Each includes those before it. `read`: see everything. `steer`: give orders to existing runs. `start`: start runs. */
export const Role = z.enum(['read', 'steer', 'start']);
export type Role = z.infer<typeof Role>;

export const HttpError = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
export type HttpError = z.infer<typeof HttpError>;

/** `GET /api/server`. `workspace`: the id of the workspace that the server was started for. */
export const ServerInfo = z.object({ version: z.string(), role: Role, workspace: z.string() });
export type ServerInfo = z.infer<typeof ServerInfo>;

/** `GET /api/position`: the position of the newest fact. A screen loads it, then its data, then streams the events after it. */
export const PositionResponse = z.object({ position: z.string() });

/** `GET /api/runs/ID`. `pid`: only while a process drives the run; its own process if it has one. `servers`: without credentials. */
export const RunDetailJson = RunDetail.extend({ pid: z.int().optional(), servers: z.record(z.string(), z.json()) });
export type RunDetailJson = z.infer<typeof RunDetailJson>;

/** A line of `logs --json` with its position, which `?after=` takes. `data` is missing and `erased` is true if its content was erased. */
export const FactJson = z.object({
  runId: RunId,
  seq: z.int(),
  at: Instant,
  v: z.int(),
  type: z.string(),
  data: z.json().optional(),
  erased: z.literal(true).optional(),
  hash: Hash,
  position: z.string(),
});
export type FactJson = z.infer<typeof FactJson>;

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

/** `POST /api/flows`: a flow of the server's workspace, by the name of its file in `.retinue/flows`, which is trusted there. */
export const FlowStartRequest = z.strictObject({
  name: z.string().regex(/^[\w-][\w.-]{0,99}$/, 'must be the name of a file in .retinue/flows, without its extension'),
  input: z.json().optional(),
  label: z.string().max(200).optional(),
  limits: LimitsGiven.optional(),
  budgets: z.array(BudgetName).max(20).optional(),
  effort: Effort.optional(),
});
export type FlowStartRequest = z.infer<typeof FlowStartRequest>;

/** `POST /api/queue`. The brief's files come from its `repository` or `workspace`; without either, from the workspace of the server, which workers must share. */
export const EnqueueRequest = JobOptions.extend({ queue: JobOptions.shape.queue.default('default'), brief: Brief });
/** `isNew`: false if the brief's idempotency key had been used before; then `runId` is the run that has it. */
export const EnqueueResponse = z.object({ runId: RunId, isNew: z.boolean() });
/** `GET /api/queue`. */
/** `queued`: trees of all queues that no worker drives, those that start later included. */
export const QueuesResponse = z.object({
  queued: z.int(),
  running: z.int(),
  queues: z.array(QueueState),
  workers: z.array(WorkerState),
});

export const CancelRequest = z.strictObject({ reason: z.string().max(2_000).optional() });
export const CancelResponse = z.object({ runId: RunId, result: z.enum(['asked', 'ended', 'already']) });
/** `rules` narrow a live run and its descendants. The text may be empty if there are rules; it has at most 65536 bytes (`api/message-text.ts`). */
export const MessageRequest = z.strictObject({ text: z.string(), rules: z.array(z.string()).max(100).optional() });
/** `runId`: the run that got the message; a new one if it continues a finished run. `kept`: its process has died; it reads the message when it is resumed. */
export const MessageResponse = z.object({ kind: z.enum(['sent', 'kept', 'continued']), runId: RunId });
/** `kept`: no process drives the run; it is compacted when it is resumed. */
export const CompactResponse = z.object({ runId: RunId, result: z.enum(['asked', 'kept']) });
export const PauseRequest = z.strictObject({ reason: z.string().max(2_000).optional() });
export const PauseResponse = z.object({ runId: RunId, result: z.enum(['paused', 'already']) });
/** `released`: a pause was ended. `resumed`: the server drives the interrupted tree from now on. `already`: there was nothing to resume. */
export const ResumeResponse = z.object({ runId: RunId, result: z.enum(['released', 'resumed', 'already']) });
/** `task`: default as for `retinue fork`. */
export const ForkRequest = z.strictObject({
  turn: z.int().min(1),
  task: z.string().trim().min(1).optional(),
  model: z.string().optional(),
});
export const AnswerRequest = z.strictObject({
  allowed: z.boolean(),
  always: z.boolean().optional(),
  reason: z.string().max(2_000).optional(),
  /** The hash of the call that was shown. An answer for another call is refused with 409. */
  hash: z.string().optional(),
});
export type AnswerRequest = z.infer<typeof AnswerRequest>;
export const AnswerResponse = z.object({ id: z.string(), result: z.enum(['answered', 'kept', 'late']), denial: z.string().optional() });
/** `call`: `tool:argument`, as for `retinue policy test`. */
export const PolicyRequest = z.strictObject({ call: z.string(), agent: z.string().optional() });
/** The decision for one call, and for each of its subjects. */
export const PolicyVerdict = Decision.extend({
  call: z.string(),
  tool: z.string(),
  agent: z.string(),
  /** Whether the agent gets the tool at all. */
  offered: z.boolean(),
  /** Why the call is refused whatever the rules say: it cannot be analysed, or its path is outside, closed or protected. */
  refused: z.string().optional(),
  /** What else decides what would happen: the sandbox, or that there is none. */
  notes: z.array(z.string()),
  parts: z.array(Decision.extend({ subject: z.string(), unsafe: z.string().optional(), alias: z.literal(true).optional() })),
});
export type PolicyVerdict = z.infer<typeof PolicyVerdict>;

/** An agent that a brief can name. Its MCP servers appear by name only: their definitions may contain secrets. */
export const AgentJson = Agent.extend({ mcpServers: z.array(z.string()).optional() });

/** A model that can be used. */
export const ListedModel = z.object({
  name: z.string(),
  /** Why it can be used here: a key, a local server, or the configuration. */
  reason: z.string(),
  isDefault: z.boolean(),
  /** US dollars per million tokens; null if unknown. */
  price: z.object({ input: z.number(), output: z.number() }).nullable(),
  contextWindow: z.number().nullable(),
});
export type ListedModel = z.infer<typeof ListedModel>;

/** One recorded change of a file, as the runtime saw it. */
export const FileChange = z.object({ runId: RunId, path: z.string(), added: z.int(), removed: z.int(), diff: z.string() });
export type FileChange = z.infer<typeof FileChange>;

export const MemoryJson = z.object({ title: z.string(), text: z.string(), at: Instant });
export const ReplayResponse = z.array(
  z.object({
    runId: RunId,
    facts: z.int(),
    /** Requests with the same hash as recorded. */
    requests: z.int(),
    difference: z.object({ seq: z.int(), type: z.string(), what: z.string(), recorded: z.json(), rebuilt: z.json() }).nullable(),
  }),
);
/** `broken`: the first fault of each run. `faults`: of the database as a whole. */
export const VerifyResponse = z.object({
  trees: z.int(),
  runs: z.int(),
  facts: z.int(),
  erased: z.int(),
  broken: z.array(z.object({ runId: z.string(), seq: z.int(), what: z.string() })),
  faults: z.array(z.object({ where: z.string(), what: z.string() })),
});
