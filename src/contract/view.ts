// What front-ends get of runs and questions, in process and over HTTP. Keys are in print order.
import { z } from 'zod';
import { Brief } from './brief.ts';
import { Effort } from './effort.ts';
import { StepKind } from './flow.ts';
import { Decision, Grant } from './grant.ts';
import { Hash, Instant, RunId } from './ids.ts';
import type { Json } from './json.ts';
import { McpServer } from './mcp-server.ts';
import { Outcome, Tokens } from './outcome.ts';
import { RunRow } from './run.ts';

const { kind, status } = RunRow.shape;

/** One row of `ps`. `interrupted`: the process that drove it no longer exists. */
export const RunView = z.object({
  runId: RunId,
  parentId: RunId.nullable(),
  rootId: RunId,
  depth: z.int(),
  kind,
  label: z.string().nullable(),
  agent: z.string().nullable(),
  status: z.enum([...status.options, 'interrupted']),
  turns: z.int(),
  tokens: Tokens,
  costUsd: z.number().nullable(),
  startedAt: Instant.nullable(),
  endedAt: Instant.nullable(),
  /** The first line of the task of a run without a label; null if its content was erased. The command line does not print it as JSON. */
  task: z.string().nullable(),
  /** Whether a living process drives it. The command line does not print it as JSON; `status` shows it. */
  driven: z.boolean(),
  /** The worker that drives it; null if none does. Older servers leave it out. */
  worker: z.string().nullable().default(null),
});
export type RunView = z.infer<typeof RunView>;

/** A tree in a list: its root, and how many runs it has. */
export const TreeView = RunView.extend({
  createdAt: Instant,
  model: z.string().nullable(),
  /** All runs of the tree, and those that have not ended. */
  runs: z.int(),
  live: z.int(),
});
export type TreeView = z.infer<typeof TreeView>;

/** Newest first. `next`: there may be more trees before this one; null if there are none. */
export const TreeList = z.object({ trees: z.array(TreeView), next: RunId.nullable() });
export type TreeList = z.infer<typeof TreeList>;

/** `before`: only trees created before this one. `status`: one of these. `text`: part of the label, task, agent or id. */
export interface TreeQuery {
  limit: number;
  before?: string | undefined;
  status?: RunView['status'][] | undefined;
  agent?: string | undefined;
  text?: string | undefined;
}

/** `instead`: the budget had too little left for the model before; otherwise its provider kept failing. */
export const ModelChange = z.object({
  turn: z.int(),
  model: z.string(),
  instead: z.object({ of: z.string(), neededUsd: z.number(), leftUsd: z.number().nullable() }).optional(),
});
export type ModelChange = z.infer<typeof ModelChange>;

/** A compaction of the conversation, with the input tokens of the call that summarised it and of the next call; null if there is none. */
export const CompactionView = z.object({ at: Instant, before: z.int().nullable(), after: z.int().nullable() });
export type CompactionView = z.infer<typeof CompactionView>;

/** `brief`, `grant` and `outcome` are null for an erased run; `outcome` also while the run is live. */
export const RunDetail = RunView.extend({
  brief: Brief.nullable(),
  grant: Grant.nullable(),
  /** MCP servers defined by the agent of an unfinished run, as pinned. */
  servers: z.record(z.string(), McpServer),
  outcome: Outcome.nullable(),
  /** The living process that drives its tree; null if there is none, or if the run has ended. */
  pid: z.int().nullable(),
  /** Where its tools execute; null if the run was erased. */
  host: z.string().nullable(),
  /** The model it runs on; null before it has started. */
  model: z.string().nullable(),
  /** The program that carries it out, and whether its model calls go through the model gate. `version`: null before it has started. */
  external: z.object({ program: z.string(), version: z.string().nullable(), gated: z.boolean() }).optional(),
  /** The models in its list, if it has one. */
  models: z.array(z.string()).optional(),
  /** When it changed its model, and why. */
  modelChanges: z.array(ModelChange).optional(),
  /** How much its model should think; absent to leave it to the provider. */
  effort: Effort.optional(),
  /** How often its conversation was compacted; absent if it was not. */
  compactions: z.array(CompactionView).optional(),
  /** Why it is paused, and when the runtime continues it; null if a user has to. Absent unless it is paused. */
  pause: z.object({ until: Instant.nullable(), reasons: z.array(z.string()) }).optional(),
  /** The queue whose workers drive it. Absent while a process drives it, and after its end. */
  queue: z.string().optional(),
  /** When its time limit ends, however long it is paused; null without one, or before it has started. */
  deadline: Instant.nullable(),
  /** Rules that it got with messages; they narrow it. */
  addedRules: z.array(z.string()),
  /** What the user should know about how it was set up. */
  notices: z.array(z.string()),
  /** Untrusted sources of what its tools and children reported. */
  taint: z.array(z.string()),
  /** When its content was erased. */
  erasedAt: Instant.optional(),
  children: z.array(RunView),
});
export type RunDetail = z.infer<typeof RunDetail>;

/** A call that waits for approval. `hash` identifies what was shown and will be executed. */
export const Question = z.object({
  id: z.string(),
  runId: RunId,
  rootId: RunId,
  agent: z.string().nullable(),
  label: z.string().nullable(),
  turn: z.int(),
  index: z.int(),
  tool: z.string(),
  arguments: z.custom<Json>(),
  subjects: z.array(z.string()),
  decision: Decision,
  hash: Hash,
  askedAt: Instant,
  expiresAt: Instant,
});
export type Question = z.infer<typeof Question>;

/** A step of a flow, as a row of its tree. A delegation is shown as its run, once it has one. */
export const LiveStep = z.object({
  /** Counts from 1. */
  step: z.int(),
  kind: StepKind,
  name: z.string(),
  /** The line of the program. */
  at: z.string(),
  status: z.enum(['running', 'waiting', 'completed', 'failed']),
  /** What went wrong; empty otherwise. */
  problem: z.string(),
  childId: RunId.nullable(),
  startedAt: z.number(),
  /** When a sleep ends. */
  until: z.number().optional(),
  endedAt: z.number().nullable(),
});
export type LiveStep = z.infer<typeof LiveStep>;

/** What a run of a tree is doing, folded from facts (views/live-state.ts). Times are milliseconds since the epoch. */
export const LiveRun = z.object({
  id: RunId,
  /** Null for the root of the tree, also if that root has a parent outside. */
  parentId: RunId.nullable(),
  depth: z.int(),
  kind,
  /** Label, or agent without one. */
  name: z.string(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  /** The first line of its task. */
  task: z.string(),
  status,
  turn: z.int(),
  maxTurns: z.int().nullable(),
  /** What it does besides tool calls: `thinking`, `writing`, a retry. After the end: the error. */
  activity: z.string(),
  /** Open tool calls, oldest first. `call`: `turn.index`. */
  tools: z.array(z.object({ call: z.string(), text: z.string() })),
  /** Calls that wait for approval. */
  questions: z.int(),
  children: z.array(RunId),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
  deadline: z.number().nullable(),
  /** Input and output tokens of the run and all its descendants, as in an outcome. */
  tokens: z.int(),
  /** Of the run and all its descendants; null while unknown. */
  costUsd: z.number().nullable(),
  /** Calls that did not work, of the run itself. */
  problems: z.object({ failed: z.int(), denied: z.int() }),
  /** Whether its acceptance checks have passed; null before its end, and without checks. Older servers leave it out. */
  verified: z.boolean().nullable().optional(),
  /** Sources outside this machine that it has read: `web`, `mcp`. */
  taint: z.array(z.string()),
  /** Of a paused run: its pause ends at a known time. */
  resumesItself: z.boolean(),
  /** Of a flow, in the order in which its program began them. */
  steps: z.array(LiveStep).optional(),
});
export type LiveRun = z.infer<typeof LiveRun>;

/** The runs of a tree, parents before children. Events after `position` bring it up to date. */
export const TreeSnapshot = z.object({ rootId: RunId, position: z.string(), runs: z.array(LiveRun) });
export type TreeSnapshot = z.infer<typeof TreeSnapshot>;

/** What runs of one agent and model, started on one day (UTC), used themselves, without their descendants. `ms`: from start to end. */
export const CostRow = z.object({
  day: z.iso.date(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  runs: z.int(),
  tokens: Tokens,
  /** Null if no price is known for any of them. */
  costUsd: z.number().nullable(),
  ms: z.number(),
});
export type CostRow = z.infer<typeof CostRow>;

/** A place where a searched text occurs. `excerpt` has the text with some context; `seq` is the fact that has it. */
export const SearchHit = z.object({
  runId: RunId,
  rootId: RunId,
  seq: z.int(),
  at: Instant,
  type: z.string(),
  label: z.string().nullable(),
  agent: z.string().nullable(),
  excerpt: z.string(),
});
export type SearchHit = z.infer<typeof SearchHit>;
