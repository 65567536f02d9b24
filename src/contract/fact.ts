// Every fact type with the schema of its data. A fact is durable and never changes, so a released schema may only gain optional fields; a field
// that old programs must not ignore needs a new version (`newestVersions`).
import { z } from 'zod';
import { Artifact } from './artifact.ts';
import { Brief } from './brief.ts';
import { ContentPart, Usage } from './content.ts';
import { ErrorInfo } from './error.ts';
import { Decision, Grant } from './grant.ts';
import { Hash, Instant, RunId } from './ids.ts';
import type { Json } from './json.ts';
import { Outcome } from './outcome.ts';
import { TraceContext } from './trace-context.ts';

/** What a model call is for. `wrap-up`: the final answer at a limit. `summary`: a second prompt after the work is done. */
export const Purpose = z.enum(['turn', 'wrap-up', 'summary']);
export type Purpose = z.infer<typeof Purpose>;
export const LimitCause = z.enum(['max_turns', 'max_tokens', 'max_cost']);
export type LimitCause = z.infer<typeof LimitCause>;

/** Identifies a tool call of a run by turn and index in the answer, because providers reuse their own ids. */
const call = { turn: z.int(), index: z.int() };

/** What the tools of a run remember, such as the versions of files they have read. */
const Memo = z.record(z.string(), z.string());

export const factData = {
  'run.created': z.strictObject({
    brief: Brief,
    grant: Grant,
    kind: z.enum(['agent', 'client']),
    parentId: RunId.nullable(),
    rootId: RunId,
    depth: z.int(),
    agent: z.string().nullable(),
    /** Blob with the agent's definition at that time. A resumed run uses it even if the definition has changed. */
    definition: Hash.nullable().optional(),
    model: z.string().nullable(),
    dialect: z.string(),
    host: z.string(),
    /** The parent's tool call that delegated this run; null for roots and for children of a client. */
    parentCall: z.strictObject(call).nullable(),
    notices: z.array(z.string()),
    /** Why the run has none of its agent's tools, if it has none; becomes part of the outcome. Since version 2. */
    missingTools: z.string().optional(),
    /** The trace of the caller, if it passed one on. Traces of this run and its descendants belong to it. Since version 3. */
    trace: TraceContext.optional(),
  }),
  'run.started': z.strictObject({
    loop: z.int(),
    /** Null for a client, like the next three fields. */
    model: z.string().nullable(),
    system: Hash.nullable(),
    tools: Hash.nullable(),
    /** The first user message: task, context and files as they were read. */
    first: z.string().nullable(),
    /** Blob with the messages of the run that this one continues. */
    history: Hash.nullable(),
    deadline: Instant.nullable(),
    /** Untrusted sources of the continued conversation; absent if there are none. */
    taint: z.array(z.string()).optional(),
    /** The tool that reads the rest of a child's cut report, if the dialect has one. Since version 2. */
    reader: z.string().optional(),
    /** What the tools of the continued run remembered. Since version 3. */
    memo: Memo.optional(),
  }),
  'model.asked': z.strictObject({
    turn: z.int(),
    attempt: z.int(),
    purpose: Purpose,
    cause: LimitCause.nullable(),
    /** The run's own model, or one that it fell back to. */
    model: z.string(),
    /** Recorded here because no other fact has this part of the request. */
    maxOutputTokens: z.int().nullable(),
    request: Hash,
    upTo: z.int(),
  }),
  'model.answered': z.strictObject({
    turn: z.int(),
    content: z.array(ContentPart),
    finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'interrupted', 'other']),
    usage: Usage,
    costUsd: z.number().nullable(),
    /** Number of tool calls beyond the maximum of one answer; `content` does not include them. */
    dropped: z.int(),
  }),
  'model.failed': z.strictObject({
    turn: z.int(),
    attempt: z.int(),
    error: ErrorInfo,
    text: z.string(),
    usage: Usage.nullable(),
    costUsd: z.number().nullable(),
    /** Whether the run retries. `fallback`: the model it switches to, if it does. */
    again: z.boolean(),
    fallback: z.string().nullable(),
  }),
  'model.nudged': z.strictObject({ turn: z.int(), reason: z.enum(['empty', 'cut', 'result', 'summary']), text: z.string() }),
  'tool.asked': z.strictObject({
    ...call,
    tool: z.string(),
    arguments: z.custom<Json>(),
    decision: Decision,
    /** Why the call is not executed; null if it is. */
    rejected: z.enum(['unknown', 'malformed', 'duplicate', 'denied', 'repeated', 'submit']).nullable(),
    idempotent: z.boolean(),
    /** The tool only waits for children. A run with no other open call is `waiting`. */
    waits: z.boolean(),
    /** HMAC of the call as the model made it, if secrets were removed from `arguments`. Since version 2. */
    original: Hash.optional(),
  }),
  'tool.finished': z.strictObject({
    ...call,
    status: z.enum(['ok', 'error', 'denied', 'timeout', 'cancelled', 'unknown']),
    output: z.string(),
    truncated: z.strictObject({ originalBytes: z.int(), keptBytes: z.int() }).nullable(),
    taint: z.array(z.string()),
    /** Children whose outcome is part of this result, so that the model does not get it a second time. */
    told: z.array(RunId),
    /** The validated result, if this call submitted it. */
    data: z.custom<Json>().optional(),
    /** What the run's tools remember from this call on. Since version 2. */
    memo: Memo.optional(),
  }),
  'child.created': z.strictObject({
    /** The tool call that delegated it; null if the parent is a client. */
    call: z.strictObject(call).nullable(),
    childId: RunId,
    hash: Hash,
    label: z.string().nullable(),
    agent: z.string().nullable(),
    background: z.boolean(),
    /** Its index among the briefs of that call; 0 if absent. A repeated call finds its children by it. */
    n: z.int().optional(),
  }),
  /** `taint`: untrusted sources that the child and its descendants have read; absent if there are none. */
  'child.ended': z.strictObject({ childId: RunId, hash: Hash, outcome: Outcome, taint: z.array(z.string()).optional() }),
  /** `order`: the order of another process that caused it. `rules` narrow the run and its descendants from now on. */
  'message.received': z.strictObject({
    from: z.string(),
    text: z.string(),
    order: z.string().optional(),
    rules: z.array(z.string()).optional(),
  }),
  /** `blob`: the text of the artifact, if it is not in `value`. */
  'artifact.recorded': z.strictObject({ ...call, artifact: Artifact, blob: Hash.nullable() }),
  /** Old tool calls whose results are no longer sent to the model. */
  'context.pruned': z.strictObject({ calls: z.array(z.strictObject(call)) }),
  'context.compacted': z.strictObject({ upTo: z.int(), summary: z.string() }),
  'cancel.asked': z.strictObject({ reason: z.string(), by: z.string(), code: z.enum(['cancelled', 'client_gone']) }),
  /** A call that waits for approval. `hash` covers the tool and the arguments, so that exactly the shown call is executed. */
  'approval.asked': z.strictObject({
    ...call,
    hash: Hash,
    tool: z.string(),
    arguments: z.custom<Json>(),
    /** The subjects that the rules were matched against. */
    subjects: z.array(z.string()),
    decision: Decision,
    /** No answer by then counts as a refusal. */
    expiresAt: Instant,
  }),
  /** `always`: the same subjects need no further approval in this run and its descendants. */
  'approval.answered': z.strictObject({
    ...call,
    hash: Hash,
    allowed: z.boolean(),
    by: z.string(),
    always: z.boolean().optional(),
    /** The order of another process that caused it. */
    order: z.string().optional(),
    /** Why it was refused, if a reason was given. */
    reason: z.string().optional(),
  }),
  'run.paused': z.strictObject({ reason: z.string(), resumeAt: Instant.nullable() }),
  /** `takeover`: the process that drove the run had died or gone silent. Since version 2. */
  'run.resumed': z.strictObject({ by: z.string(), takeover: z.literal(true).optional() }),
  'run.ended': z.strictObject({ outcome: Outcome }),
};

export type FactType = keyof typeof factData;

/** The newest version of each fact type that this program reads; 1 for types that are not listed. */
const newestVersions: { [T in FactType]?: number } = {
  'child.ended': 2,
  'run.created': 3,
  'run.ended': 2,
  'run.resumed': 2,
  'run.started': 3,
  'tool.asked': 2,
  'tool.finished': 2,
};

export function newestFactVersion(type: FactType): number {
  return newestVersions[type] ?? 1;
}

/** The version to write: as low as the data allows, so that older programs can read as much as possible. */
export function factVersionOf({ type, data }: Draft): number {
  switch (type) {
    case 'run.created':
      if (data.trace !== undefined) return 3;
      return data.grant.limits.maxToolCalls !== undefined || data.grant.rulesets.some((ruleset) => ruleset.scope !== undefined) ? 2 : 1;
    case 'run.started':
      return data.memo !== undefined ? 3 : data.reader !== undefined ? 2 : 1;
    case 'child.ended':
    case 'run.ended':
      return data.outcome.notices === undefined ? 1 : 2;
    case 'run.resumed':
      return data.takeover === undefined ? 1 : 2;
    case 'tool.asked':
      return data.original === undefined ? 1 : 2;
    case 'tool.finished':
      return data.memo === undefined ? 1 : 2;
    default:
      return 1;
  }
}

export const factTypes = Object.keys(factData) as FactType[];
export type FactData = { [T in FactType]: z.infer<(typeof factData)[T]> };

/** A recorded fact. `hash` covers the canonical JSON of the fact and the hash of the run's previous fact. */
export type FactOf<T extends FactType> = {
  runId: string;
  seq: number;
  at: Instant;
  v: number;
  type: T;
  data: FactData[T];
  hash: string;
};
export type Fact = { [T in FactType]: FactOf<T> }[FactType];

/** A fact before the journal numbers it. */
export type Draft = { [T in FactType]: { type: T; data: FactData[T] } }[FactType];

/** A fact in a store. `position` orders all facts of the store and serves as a reader's cursor. */
export type StoredFact = Fact & { position: string };

/** The remainder of an erased fact: everything but its data. */
export type ErasedFact = Omit<FactOf<FactType>, 'data'> & { erased: true; position: string };
