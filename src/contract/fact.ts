// Every fact type with the schema of its data. A fact is durable and never changes, so a released schema may only gain optional fields; a field
// that old programs must not ignore needs a new version (`newestVersions`).
import { z } from 'zod';
import { Artifact } from './artifact.ts';
import { Brief } from './brief.ts';
import { PathChange } from './change-set.ts';
import { CheckStatus } from './check.ts';
import { ContentPart, Usage } from './content.ts';
import { Effort } from './effort.ts';
import { ErrorInfo } from './error.ts';
import { FlowRef, StepKind } from './flow.ts';
import { Decision, Grant } from './grant.ts';
import { Hash, Instant, RunId } from './ids.ts';
import { StoredImage } from './image.ts';
import type { Json } from './json.ts';
import { RecordedOutcome } from './outcome.ts';
import { Repository } from './repository.ts';
import { TraceContext } from './trace-context.ts';

/**
 * What a model call is for. `wrap-up`: the final answer at a limit. `summary`: a second prompt after the work is done. `compact`: a summary that
 * replaces the conversation so far (since version 3 of `model.asked`).
 */
export const Purpose = z.enum(['turn', 'wrap-up', 'summary', 'compact']);
export type Purpose = z.infer<typeof Purpose>;
export const LimitCause = z.enum(['max_turns', 'max_tokens', 'max_cost']);
export type LimitCause = z.infer<typeof LimitCause>;

/** Identifies a tool call of a run by turn and index in the answer, because providers reuse their own ids. */
const call = { turn: z.int(), index: z.int() };

/** Identifies an acceptance check by its round and its index in the brief. */
const checkRef = { round: z.int().min(1), index: z.int().min(0) };

/** What the tools of a run remember, such as the versions of files they have read. */
const Memo = z.record(z.string(), z.string());

const createFactData = () => ({
  'run.created': z.strictObject({
    brief: Brief,
    grant: Grant,
    kind: z.enum(['agent', 'client', 'flow']),
    parentId: RunId.nullable(),
    rootId: RunId,
    depth: z.int(),
    agent: z.string().nullable(),
    /** Blob with the agent's definition at that time. A resumed run uses it even if the definition has changed. */
    definition: Hash.nullable().optional(),
    model: z.string().nullable(),
    /** All models in order, if a route of the configuration or the parent chose them. Since version 9, like `effort` here and in the brief. */
    models: z.array(z.string()).min(1).optional(),
    effort: Effort.optional(),
    dialect: z.string(),
    host: z.string(),
    /** The parent's tool call that delegated this run; null for roots and for children of a client. */
    parentCall: z.strictObject(call).nullable(),
    notices: z.array(z.string()),
    /** Why the run has none of its agent's tools, if it has none; becomes part of the outcome. Since version 2. */
    missingTools: z.string().optional(),
    /** The run has its own copy of the files, because the brief or the agent says so. Since version 4, like `repository` and `workspace` of the brief. */
    isolation: z.literal('worktree').optional(),
    /** The trace of the caller, if it passed one on. Traces of this run and its descendants belong to it. Since version 3. */
    trace: TraceContext.optional(),
    /** Images that came with the brief. Since version 5. */
    images: z.array(StoredImage).optional(),
    /**
     * The program of a flow. Since version 7, like the kind `flow` and `checks` of the brief. `models`: what its process used by default, in order, by agent
     * name or `*`; since version 10.
     */
    flow: FlowRef.extend({ input: z.custom<Json>(), models: z.record(z.string(), z.array(z.string()).min(1)).optional() }).optional(),
    /** What does the work: the name of an external agent, and whether its model calls go through the model gate. Since version 8. */
    external: z.strictObject({ agent: z.string(), gated: z.boolean() }).optional(),
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
  /**
   * Where the files of the run are; the newest one counts. `checkout` and `copy` are folders of the run's own, made from a commit and from
   * the files of another folder. `directory`: a folder that others use too. `empty`: a run without tools for files.
   */
  'workspace.prepared': z.strictObject({
    kind: z.enum(['checkout', 'copy', 'directory', 'empty']),
    path: z.string(),
    repository: Repository.optional(),
    /** The commit of a checkout; for a copy, the one that its source had checked out. */
    commit: z.string().nullable(),
    /** The git tree of the files at the beginning; null without a checkout or copy. */
    base: z.string().nullable(),
    notices: z.array(z.string()),
  }),
  /** What the run has changed in its checkout or copy so far. `changes` and `patch` are null if nothing has changed, or if it could not be stored. */
  'workspace.saved': z.strictObject({
    /** A blob with a `ChangeSet`. */
    changes: Hash.nullable(),
    /** A blob with the same as a patch for git. */
    patch: Hash.nullable(),
    files: z.int().min(0),
    /** Part of the outcome; absent if nothing has changed. */
    artifact: Artifact.optional(),
    /** The folder that was left because not everything in it could be stored. */
    left: z.string().optional(),
    /** New files and folders (with `/` at the end) that are not part of the changes, such as ignored ones. Only the first if there are many. */
    unstored: z.array(z.string()).optional(),
    notices: z.array(z.string()),
  }),
  /** Changes that will be made to the files of the run's workspace, or are being made. `id` is unique in the run. */
  'changes.planned': z.strictObject({
    id: z.string(),
    kind: z.enum(['apply', 'undo']),
    /** The runs whose changes they are. */
    runs: z.array(RunId),
    workspace: z.string(),
    /** A blob with `ChangeSteps`. */
    changes: Hash,
    files: z.int().min(0),
  }),
  /** The plan was carried out. `left`: paths that had changed in the meantime and were left alone. */
  'changes.made': z.strictObject({ id: z.string(), left: z.array(z.string()) }),
  /** The changes of these runs are not to be applied any more. */
  'changes.discarded': z.strictObject({ runs: z.array(RunId) }),
  /** A session of an external agent began or was taken up again; the newest one counts. `version`: of the program, as it reports it. */
  'session.opened': z.strictObject({
    agent: z.string(),
    version: z.string().nullable(),
    /** The id that the agent gave it. */
    session: z.string(),
    /** `resumed` and `loaded`: the agent knows the conversation so far. */
    how: z.enum(['new', 'resumed', 'loaded']),
    /** Part of the outcome, such as what is not enforced. */
    notices: z.array(z.string()),
  }),
  /** A text that was sent to an external agent. It includes the messages and the nudge that waited for it. */
  'session.prompted': z.strictObject({ text: z.string() }),
  /** A model call of an external agent outside its conversation, such as one for a title. */
  'model.called': z.strictObject({ model: z.string(), request: Hash, usage: Usage, costUsd: z.number().nullable() }),
  'model.asked': z.strictObject({
    turn: z.int(),
    attempt: z.int(),
    purpose: Purpose,
    cause: LimitCause.nullable(),
    /** The shared budget whose limit is the cause. Since version 2. */
    budget: z.string().optional(),
    /** The run's own model, or one that it fell back to. */
    model: z.string(),
    /** Recorded here because no other fact has this part of the request. */
    maxOutputTokens: z.int().nullable(),
    request: Hash,
    upTo: z.int(),
    /** How much the model was told to think; absent if it was not told. Since version 4, like `instead`. */
    effort: Effort.optional(),
    /** From this call on, the run uses this model instead of another, because the budget has too little left for a call of that one. In US dollars. */
    instead: z.strictObject({ of: z.string(), neededUsd: z.number(), leftUsd: z.number().nullable() }).optional(),
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
    /** The request was too long: the conversation is compacted before the next attempt. Since version 2. */
    next: z.literal('compact').optional(),
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
    /** Repeating the call is normal, because it only waits for a while; it does not count as a loop. Since version 3. */
    polls: z.literal(true).optional(),
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
    /** The run whose conversation it continues. Since version 2. */
    continues: RunId.optional(),
    /** The acceptance check that it carries out: it is no part of the conversation. Since version 2. */
    check: z.strictObject(checkRef).optional(),
  }),
  /** `taint`: untrusted sources that the child and its descendants have read; absent if there are none. */
  'child.ended': z.strictObject({ childId: RunId, hash: Hash, outcome: RecordedOutcome, taint: z.array(z.string()).optional() }),
  /** `order`: the order of another process that caused it. `rules` narrow the run and its descendants from now on. */
  'message.received': z.strictObject({
    from: z.string(),
    text: z.string(),
    order: z.string().optional(),
    rules: z.array(z.string()).optional(),
  }),
  /** `blob`: the text of the artifact, if it is not in `value`. */
  'artifact.recorded': z.strictObject({
    ...call,
    artifact: Artifact,
    blob: Hash.nullable(),
    /** What a tool changed in a file of the workspace; the content before is a blob. Since version 2. */
    change: PathChange.optional(),
  }),
  /** A step of a flow. `step` counts from 1, in the order in which the program began them; `at` is the line of its source. */
  'step.started': z.strictObject({
    step: z.int().min(1),
    kind: StepKind,
    name: z.string(),
    at: z.string(),
    /** If it is cut off, it is executed again. */
    idempotent: z.boolean(),
    /** When a sleep ends. */
    until: Instant.optional(),
    /** Of a delegation: the hash of its brief as the program wrote it, without secrets. Since version 2. */
    brief: Hash.optional(),
  }),
  /** The result of a step. Delegations have none unless they were refused: theirs is `child.ended`. `unknown`: it was cut off. */
  'step.finished': z.strictObject({
    step: z.int().min(1),
    status: z.enum(['ok', 'error', 'unknown']),
    value: z.custom<Json>().optional(),
    error: z.strictObject({ name: z.string(), message: z.string(), code: z.string().optional() }).optional(),
  }),
  /** The return value of a flow's program. `notices`: what the user should know about its end. Since version 2. */
  'flow.returned': z.strictObject({ notices: z.array(z.string()).optional(), value: z.custom<Json>().optional() }),
  /** An acceptance check of the brief, by its index there. `round` counts from 1. */
  'check.started': z.strictObject({
    ...checkRef,
    /** What is executed; for a reviewer, what it looks for. */
    command: z.string(),
    /** The reviewing agent. Since version 2. */
    agent: z.string().optional(),
  }),
  'check.finished': z.strictObject({ ...checkRef, status: CheckStatus, output: z.string() }),
  /** Old tool calls whose results are no longer sent to the model. */
  'context.pruned': z.strictObject({ calls: z.array(z.strictObject(call)) }),
  /** From here on, `summary` replaces the conversation between the first message and the last answer. The other fields: since version 2. */
  'context.compacted': z.strictObject({
    /** The last fact that the summary covers. */
    upTo: z.int(),
    /** The message as it is sent. */
    summary: z.string(),
    /** The model that wrote it. Its usage is already counted with its answer. */
    model: z.string().optional(),
    usage: Usage.optional(),
    costUsd: z.number().nullable().optional(),
    /** Calls that stay in the conversation with their results. */
    kept: z.array(z.strictObject(call)).optional(),
    /** What the tools remember, such as the versions of the files that were read. */
    memo: Memo.optional(),
    /** Sources of everything that it was made from. */
    taint: z.array(z.string()).optional(),
  }),
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
  'run.paused': z.strictObject({
    reason: z.string(),
    resumeAt: Instant.nullable(),
    /** The shared budget that is used up. Such a pause does not count for the deadline. Since version 2, like `begun`. */
    budget: z.string().optional(),
    /** If calls of the last answer have no result yet: those of them that had begun. No other call begins before the run is resumed. */
    begun: z.array(z.strictObject(call)).optional(),
  }),
  /** `takeover`: the process that drove the run had died or gone silent. Since version 2. */
  'run.resumed': z.strictObject({ by: z.string(), takeover: z.literal(true).optional() }),
  'run.ended': z.strictObject({ outcome: RecordedOutcome }),
});

type FactSchemas = ReturnType<typeof createFactData>;
export type FactType = keyof FactSchemas;

let schemas: FactSchemas | null = null;

/** The schemas by type. Made at the first use, because driving a run needs none of them, and they would take 10 ms at each start. */
export function factData(): FactSchemas {
  schemas ??= createFactData();
  return schemas;
}

export function factTypes(): FactType[] {
  return Object.keys(factData()) as FactType[];
}

export type FactData = { [T in FactType]: z.infer<FactSchemas[T]> };

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
