// Executing tool calls.
//
// T1. Every call that is executed gets exactly one result.
// T2. A tool that throws, hangs, ignores its signal or floods gives a result all the same, in time and in bounds.
// T3. No tool starts after the run's signal has fired (invariant 8).
import { z } from 'zod';
import { Artifact } from '../contract/artifact.ts';
import type { Draft, FactData } from '../contract/fact.ts';
import type { Ruleset } from '../contract/grant.ts';
import { RunId } from '../contract/ids.ts';
import type { Json } from '../contract/json.ts';
import type { CallState } from '../conversation/request.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { DialectSetup } from '../ports/dialect.ts';
import type { Redact } from '../ports/secrets.ts';
import type { StoredBlob } from '../ports/store.ts';
import type { AnyTool, Rights, ToolResult } from '../ports/tool.ts';
import { decideCall } from '../rules/policy.ts';
import type { Deadlines } from '../scheduling/deadlines.ts';
import { sha256 } from '../text/canonical.ts';
import { cutMiddle } from '../text/cut.ts';
import { markInvisible } from '../text/invisible.ts';
import type { Always } from './calls.ts';

const defaultOutputBytes = 50_000;
/** How long a tool that was told to stop may take to clean up (its processes get 2 s to end by themselves). */
const graceMs = 3000;

/** What a run's calls are held against. */
export interface ToolEnv {
  tools: ReadonlyMap<string, AnyTool>;
  offered: readonly string[];
  agent: string;
  /** Hash of its pinned definition; where it is absent nothing is given that goes by it. */
  definition?: string | null;
  /** The rulesets of the run and all its ancestors. */
  rulesets(): Ruleset[];
  /** Whether rules have come since the run began, to it or to one above it. */
  narrowed(): boolean;
  /** Whether somebody can be asked. */
  attended(): boolean;
  /** Until when a question that is asked now waits. */
  expiresAt(): string;
  /** What was allowed for good in the run or above it. */
  always(): Always[];
  workspace: string;
  toolTimeoutMs: number;
  /** Checks a submitted result; null where the brief wants none. Gives the problem, or null when it holds. */
  checkResult: ((value: Json) => string | null) | null;
  redact: Redact;
  memo: Map<string, string>;
  /** How a call reads to the model that no rule allows. */
  denial?: DialectSetup['denial'] | undefined;
}

export function finished(
  call: { turn: number; index: number },
  status: FactData['tool.finished']['status'],
  output: string,
  more: Partial<FactData['tool.finished']> = {},
): Draft {
  return {
    type: 'tool.finished',
    data: { index: call.index, output, status, taint: [], told: [], truncated: null, turn: call.turn, ...more },
  };
}

export const unknownText =
  'It is not known whether this call took effect: the process was interrupted while it was at work. Look before you make it again.';

export interface Execution {
  runId: string;
  rootId: string;
  env: ToolEnv;
  delegation: Delegation;
  signal: AbortSignal;
  deadlines: Deadlines;
  now(): number;
}

/** Executes one call and gives its facts. Never rejects. */
export async function execute(call: CallState, x: Execution): Promise<Executed> {
  return told(call, await attempt(call, x), x.env);
}

/** What became of a call, before it is made into facts. */
export const Attempted = z.object({
  status: z.enum(['ok', 'error', 'timeout', 'cancelled', 'unknown']),
  result: z.object({
    output: z.string(),
    isError: z.boolean().optional(),
    artifacts: z.array(Artifact).optional(),
    taint: z.array(z.string()).optional(),
    told: z.array(RunId).optional(),
  }),
});
export type Attempted = { status: z.infer<typeof Attempted>['status']; result: ToolResult };

/** Executes one call. Never rejects. */
export async function attempt(call: Pick<CallState, 'tool' | 'arguments'>, x: Execution): Promise<Attempted> {
  const tool = x.env.tools.get(call.tool);
  if (!tool) return { status: 'error', result: { output: `the tool ${call.tool} is gone` } };
  if (x.signal.aborted) return { status: 'cancelled', result: { output: 'the run was stopped before this call was made' } };
  const stop = new AbortController();
  const onAbort = () => stop.abort(x.signal.reason);
  x.signal.addEventListener('abort', onAbort, { once: true });
  const limit = tool.timeoutMs === null ? null : Math.min(tool.timeoutMs ?? x.env.toolTimeoutMs, x.env.toolTimeoutMs);
  const endTimer = limit === null ? () => {} : x.deadlines.at(x.now() + limit, () => stop.abort(new Error('timeout')));
  try {
    const context = {
      runId: x.runId,
      rootId: x.rootId,
      workspace: x.env.workspace,
      signal: stop.signal,
      memo: x.env.memo,
      rights: rightsOf(x.env),
      delegation: x.delegation,
    };
    const work = (async () => resultOf(await tool.execute(tool.input.parse(structuredClone(call.arguments)), context)))();
    const { result, late } = await orStopped(work, stop.signal, x);
    if (!late && result) return { status: result.isError ? 'error' : 'ok', result };
    const stopped = x.signal.aborted;
    // Somebody goes on with the run: whether the call took effect is for the model to find out.
    if (stopped && (x.signal.reason as { code?: string } | undefined)?.code === 'paused')
      return { status: 'unknown', result: { output: unknownText } };
    const why = stopped ? 'the run was stopped while this call was at work' : `${call.tool} took longer than ${limit} ms and was stopped`;
    const output = result ? `${result.output}\n[${why}]` : why;
    return { status: stopped ? 'cancelled' : 'timeout', result: { ...result, output } };
  } catch (error) {
    return { status: 'error', result: { output: `${call.tool} failed: ${messageOf(error)}` } };
  } finally {
    endTimer();
    x.signal.removeEventListener('abort', onAbort);
  }
}

function rightsOf({ agent, definition = null, offered, rulesets }: ToolEnv): Rights {
  return { agent, definition, tools: offered, decide: (tool, subjects, options) => decideCall(rulesets(), { tool, subjects }, options) };
}

/** What a tool gives becomes facts, so it is looked at first: a tool that gives something else has failed. */
function resultOf(given: unknown): ToolResult {
  const parsed = Attempted.shape.result.safeParse(given);
  if (parsed.success) return parsed.data as ToolResult;
  const issue = parsed.error.issues[0];
  throw new Error(`it gave no result (${issue?.path.join('.') || 'result'}: ${issue?.message})`);
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error && String(thrown.message)) || String(thrown);
  } catch {
    return 'it broke';
  }
}

/** What the tool gives. Once its signal has fired it has a short time left to clean up and to give what it has; then it is left alone. */
function orStopped(work: Promise<ToolResult>, signal: AbortSignal, x: Execution): Promise<{ result: ToolResult | null; late: boolean }> {
  return new Promise((resolve, reject) => {
    let endGrace = () => {};
    const onAbort = () => {
      endGrace = x.deadlines.at(x.now() + graceMs, () => resolve({ result: null, late: true }));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work
      .then(
        (result) => resolve({ result, late: signal.aborted }),
        (error) => (signal.aborted ? resolve({ result: null, late: true }) : reject(error)),
      )
      .finally(() => {
        endGrace();
        signal.removeEventListener('abort', onAbort);
      });
  });
}

/** The facts of a call, and the texts that they point to. */
export interface Executed {
  drafts: Draft[];
  blobs: StoredBlob[];
}

/** More of an output than this is not kept at all. */
const maxKeptBytes = 4 * 1024 * 1024;

/**
 * A result as facts: with secrets taken out, what nobody sees made visible, and cut to the tool's measure; in this order, so that a cut splits
 * no secret. The whole is an artifact.
 */
export function told(call: CallState, { status, result }: Attempted, env: ToolEnv): Executed {
  const tool = env.tools.get(call.tool);
  const cap = tool?.maxOutputBytes ?? defaultOutputBytes;
  const rough = cutMiddle(String(result.output ?? ''), Math.max(maxKeptBytes, cap));
  const whole = markInvisible(env.redact(rough.text.toWellFormed(), true));
  const cut = cutMiddle(whole, cap);
  const originalBytes = rough.truncated?.originalBytes ?? cut.truncated?.originalBytes ?? 0;
  const truncated = cut.truncated ? { originalBytes, keptBytes: cut.truncated.keptBytes } : null;
  const made = (result.artifacts ?? []).map((artifact) =>
    artifactOf(call, { ...artifact, value: env.redact(artifact.value.toWellFormed(), true) }, null),
  );
  const blobs = truncated ? [{ hash: sha256(whole), text: whole }] : [];
  const note = { bytes: originalBytes, kind: 'note' as const, title: `whole output of ${call.tool}`, value: '' };
  const rest = blobs.map(({ hash }) => artifactOf(call, note, hash));
  const finish = finished(call, status, cut.text, {
    truncated,
    taint: [...new Set([...(tool?.taint ?? []), ...(result.taint ?? [])])],
    told: result.told ?? [],
  });
  return { drafts: [...made, ...rest, finish], blobs };
}

function artifactOf({ turn, index }: CallState, artifact: Artifact, blob: string | null): Draft {
  return { type: 'artifact.recorded', data: { artifact, blob, index, turn } };
}
