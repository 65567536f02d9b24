import { z } from 'zod';
import { Artifact } from './artifact.ts';
import { Brief } from './brief.ts';
import { ContentPart, Usage } from './content.ts';
import { ErrorInfo } from './error.ts';
import { Decision, Grant } from './grant.ts';
import { Hash, Instant, RunId } from './ids.ts';
import type { Json } from './json.ts';
import { Outcome } from './outcome.ts';

/** What a model call is for. `wrap-up` is the last word at a limit; `summary` a second prompt after the work is done. */
export const Purpose = z.enum(['turn', 'wrap-up', 'summary']);
export type Purpose = z.infer<typeof Purpose>;
export const LimitCause = z.enum(['max_turns', 'max_tokens', 'max_cost']);
export type LimitCause = z.infer<typeof LimitCause>;

/** A tool call of a run is named by its turn and its place in the answer: providers reuse their own ids. */
const call = { turn: z.int(), index: z.int() };

export const factData = {
  'run.created': z.strictObject({
    brief: Brief,
    grant: Grant,
    kind: z.enum(['agent', 'client']),
    parentId: RunId.nullable(),
    rootId: RunId,
    depth: z.int(),
    agent: z.string().nullable(),
    /** The agent as it was defined then, as a blob: a run that was queued when its process died starts with it. */
    definition: Hash.nullable().optional(),
    model: z.string().nullable(),
    dialect: z.string(),
    host: z.string(),
    /** The call of the parent's that asked for this run; null for roots and for calls from outside. */
    parentCall: z.strictObject(call).nullable(),
    notices: z.array(z.string()),
  }),
  'run.started': z.strictObject({
    loop: z.int(),
    /** These four are null for a client, which has no model. */
    model: z.string().nullable(),
    system: Hash.nullable(),
    tools: Hash.nullable(),
    /** The first user message: brief, context and files as they were read. */
    first: z.string().nullable(),
    /** Earlier messages of the run that this one continues. */
    history: Hash.nullable(),
    deadline: Instant.nullable(),
    /** Of the conversation that it continues; absent if it has none. */
    taint: z.array(z.string()).optional(),
    /** The tool that reads the rest of a child's cut text, if the run's dialect has one. Since version 2. */
    reader: z.string().optional(),
  }),
  'model.asked': z.strictObject({
    turn: z.int(),
    attempt: z.int(),
    purpose: Purpose,
    cause: LimitCause.nullable(),
    /** The model that is asked: the run's own, or one it fell back to. */
    model: z.string(),
    /** What the request asks for at most; the only part of it that stands in no other fact. */
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
    /** Tool calls past the most that one answer may have; they are left out of `content`. */
    dropped: z.int(),
  }),
  'model.failed': z.strictObject({
    turn: z.int(),
    attempt: z.int(),
    error: ErrorInfo,
    text: z.string(),
    usage: Usage.nullable(),
    costUsd: z.number().nullable(),
    /** Whether the run will try again, and with which other model, if with another. */
    again: z.boolean(),
    fallback: z.string().nullable(),
  }),
  'model.nudged': z.strictObject({ turn: z.int(), reason: z.enum(['empty', 'cut', 'result', 'summary']), text: z.string() }),
  'tool.asked': z.strictObject({
    ...call,
    tool: z.string(),
    arguments: z.custom<Json>(),
    decision: Decision,
    /** Why the call is answered without being executed, if it is. */
    rejected: z.enum(['unknown', 'malformed', 'duplicate', 'denied', 'repeated', 'submit']).nullable(),
    idempotent: z.boolean(),
    /** It only waits for children: a run with nothing else open is `waiting`. */
    waits: z.boolean(),
  }),
  'tool.finished': z.strictObject({
    ...call,
    status: z.enum(['ok', 'error', 'denied', 'timeout', 'cancelled', 'unknown']),
    output: z.string(),
    truncated: z.strictObject({ originalBytes: z.int(), keptBytes: z.int() }).nullable(),
    taint: z.array(z.string()),
    /** Children whose outcome this result tells the model. */
    told: z.array(RunId),
    /** The validated result, where this was the call that submitted it. */
    data: z.custom<Json>().optional(),
  }),
  'child.created': z.strictObject({
    /** The call that asked for it; null when the caller is a client. */
    call: z.strictObject(call).nullable(),
    childId: RunId,
    hash: Hash,
    label: z.string().nullable(),
    agent: z.string().nullable(),
    background: z.boolean(),
    /** Its place among the briefs of that call, by which a call that was cut off finds it again; 0 where it is absent. */
    n: z.int().optional(),
  }),
  /** `taint`: of all that the child has read, its own children's included; absent where there is none. */
  'child.ended': z.strictObject({ childId: RunId, hash: Hash, outcome: Outcome, taint: z.array(z.string()).optional() }),
  /** `order`: the one from another process that it answers. `rules`: they narrow the run, and everything below it, from here on. */
  'message.received': z.strictObject({
    from: z.string(),
    text: z.string(),
    order: z.string().optional(),
    rules: z.array(z.string()).optional(),
  }),
  /** `blob`: where the whole text is, when the artifact only says that there is one. */
  'artifact.recorded': z.strictObject({ ...call, artifact: Artifact, blob: Hash.nullable() }),
  /** Results of old tool calls that the model no longer sees in full. */
  'context.pruned': z.strictObject({ calls: z.array(z.strictObject(call)) }),
  'context.compacted': z.strictObject({ upTo: z.int(), summary: z.string() }),
  'cancel.asked': z.strictObject({ reason: z.string(), by: z.string(), code: z.enum(['cancelled', 'client_gone']) }),
  /** A call that waits for somebody's word. `hash`: of the tool and the arguments, which are what will be executed. */
  'approval.asked': z.strictObject({
    ...call,
    hash: Hash,
    tool: z.string(),
    arguments: z.custom<Json>(),
    /** What the rules were asked about, as they name it. */
    subjects: z.array(z.string()),
    decision: Decision,
    /** Nobody's word by then is a refusal. */
    expiresAt: Instant,
  }),
  /** `always`: the same subjects are not asked about again, in this run and below it. */
  'approval.answered': z.strictObject({
    ...call,
    hash: Hash,
    allowed: z.boolean(),
    by: z.string(),
    always: z.boolean().optional(),
    /** The one from another process that it answers. */
    order: z.string().optional(),
    /** Why it was refused, where that was said. */
    reason: z.string().optional(),
  }),
  'run.paused': z.strictObject({ reason: z.string(), resumeAt: Instant.nullable() }),
  'run.resumed': z.strictObject({ by: z.string() }),
  'run.ended': z.strictObject({ outcome: Outcome }),
};

export type FactType = keyof typeof factData;

/** The newest version of each fact type that this program reads; types that are not listed have version 1 only. */
const newestVersions: { [T in FactType]?: number } = { 'run.started': 2 };

export function newestFactVersion(type: FactType): number {
  return newestVersions[type] ?? 1;
}

/** The version to write: as low as the data allows, so that older programs can still read what they understand. */
export function factVersionOf(draft: Draft): number {
  return draft.type === 'run.started' && draft.data.reader !== undefined ? 2 : 1;
}

export const factTypes = Object.keys(factData) as FactType[];
export type FactData = { [T in FactType]: z.infer<(typeof factData)[T]> };

/** A durable, numbered record. `hash` covers the canonical JSON of the fact and the hash before it. */
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

/** A fact in a store: `position` orders all facts of the store and is what a reader's cursor holds. */
export type StoredFact = Fact & { position: string };

/** What is left of a fact whose data was erased: its place in the chain. */
export type ErasedFact = Omit<FactOf<FactType>, 'data'> & { erased: true; position: string };
