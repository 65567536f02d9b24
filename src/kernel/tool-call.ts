// Tool calls: what of an answer may be executed (examine), and executing one (execute).
//
// T1. Every call of an answer gets exactly one `tool.asked` and one result; what cannot be executed is answered to the model at once.
// T2. A tool that throws, hangs, ignores its signal or floods gives a result all the same, in time and in bounds.
// T3. No tool starts after the run's signal has fired (invariant 8).
import { z } from 'zod';
import { Artifact } from '../contract/artifact.ts';
import type { ContentPart } from '../contract/content.ts';
import { isRetinueError } from '../contract/error.ts';
import type { Draft, FactData } from '../contract/fact.ts';
import type { Decision, Ruleset } from '../contract/grant.ts';
import { RunId } from '../contract/ids.ts';
import type { Json } from '../contract/json.ts';
import { parseArguments } from '../parts/arguments.ts';
import { sha256 } from '../parts/canonical.ts';
import { type CallState, submitTool } from '../parts/conversation.ts';
import type { Deadlines } from '../parts/deadlines.ts';
import { unknown } from '../parts/nearest.ts';
import { decide } from '../parts/policy.ts';
import { namedProblems } from '../parts/problems.ts';
import { cutMiddle } from '../parts/text.ts';
import { visible } from '../parts/visible.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { DialectSetup } from '../ports/dialect.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Subject } from '../ports/subject.ts';
import type { AnyTool, Rights, ToolResult } from '../ports/tool.ts';
import { repeatRefused } from './decide.ts';
import { callKey, callParts, countRepeats, maxRecent, type RunState } from './state.ts';

const defaultOutputBytes = 50_000;
/** How long a tool that was told to stop may take to clean up (its processes get 2 s to end by themselves). */
const graceMs = 3000;

/** What a run's calls are held against. */
export interface ToolEnv {
  tools: ReadonlyMap<string, AnyTool>;
  offered: readonly string[];
  agent: string;
  /** The rulesets of the run and all its ancestors. */
  rulesets(): Ruleset[];
  workspace: string;
  toolTimeoutMs: number;
  /** Checks a submitted result; null where the brief wants none. Gives the problem, or null when it holds. */
  checkResult: ((value: Json) => string | null) | null;
  redact: Redact;
  memo: Map<string, string>;
  /** How a call reads to the model that no rule allows. */
  denial?: DialectSetup['denial'] | undefined;
}

type Rejected = NonNullable<FactData['tool.asked']['rejected']>;
type Verdict = {
  args: Json;
  decision: Decision;
  idempotent: boolean;
  rejected: null | { why: Rejected; status: 'ok' | 'error' | 'denied'; say: string; data?: Json };
};

const kernels: Decision = { action: 'allow', owner: 'kernel', rule: null };

/** Resolves when the tools that an answer calls can say what a call touches. One that never can has its calls refused when it is asked. */
export async function prepared(content: ContentPart[], { tools }: ToolEnv): Promise<void> {
  const called = new Set(callParts(content).map((part) => part.tool));
  await Promise.all(
    [...called].map((name) =>
      tools
        .get(name)
        ?.prepare?.()
        .catch(() => {}),
    ),
  );
}

/** The calls of an answer as facts. Ids that stand twice are made different in place, because providers refuse them when sent back. */
export function examine(content: ContentPart[], turn: number, state: RunState, env: ToolEnv): Draft[] {
  const ids = new Set<string>();
  let recent = state.recent;
  return callParts(content).flatMap((part, index): Draft[] => {
    const twice = ids.has(part.callId);
    if (twice) part.callId = `${part.callId}~${index}`;
    ids.add(part.callId);
    const verdict = twice
      ? reject(part.input, 'duplicate', 'two calls of your answer had the same id; only the first was made')
      : judge(part, env);
    recent = [...recent, callKey(part.tool, verdict.args)].slice(-maxRecent);
    if (!verdict.rejected && countRepeats(recent) >= repeatRefused) {
      verdict.rejected = {
        why: 'repeated',
        status: 'error',
        say: 'you have made this same call several times in a row, so it was not made again; try something else',
      };
    }
    const { rejected } = verdict;
    const asked: Draft = {
      type: 'tool.asked',
      data: {
        arguments: verdict.args,
        decision: verdict.decision,
        idempotent: verdict.idempotent,
        index,
        rejected: rejected?.why ?? null,
        tool: part.tool,
        turn,
        waits: !rejected && env.tools.get(part.tool)?.timeoutMs === null,
      },
    };
    if (!rejected) return [asked];
    return [asked, finished({ turn, index }, rejected.status, rejected.say, rejected.data === undefined ? {} : { data: rejected.data })];
  });
}

function judge(part: Extract<ContentPart, { type: 'tool-call' }>, env: ToolEnv): Verdict {
  const parsed = parseArguments(part.input);
  if (!parsed.ok) return reject(part.input, 'malformed', `${parsed.problem}; send the call again with correct arguments`);
  if (part.tool === submitTool && env.checkResult) return judgeResult(parsed.value, env.checkResult);
  const tool = env.tools.get(part.tool);
  if (!tool) return reject(parsed.value, 'unknown', unknown('tool', part.tool, [...env.offered]));
  const read = readCall(tool, parsed.value, env);
  if ('denied' in read) return deny(parsed.value, tool, read.denied);
  if ('problem' in read) return reject(parsed.value, 'malformed', `the arguments of ${part.tool} are wrong: ${read.problem}`);
  const decision = decide(env.rulesets(), { tool: part.tool, subjects: read.subjects });
  const verdict: Verdict = { args: parsed.value, decision, idempotent: tool.idempotent, rejected: null };
  if (decision.action !== 'allow') verdict.rejected = { why: 'denied', status: 'denied', say: (env.denial ?? denial)(part.tool, decision) };
  else if (!env.offered.includes(part.tool))
    verdict.rejected = { why: 'unknown', status: 'error', say: `the tool ${part.tool} is not available in this run` };
  return verdict;
}

/** What the call touches, or what is wrong with it. A tool that cannot say it has no call made: no rule could be held against it. */
function readCall(tool: AnyTool, args: Json, env: ToolEnv): { subjects: Subject[] } | { problem: string } | { denied: string } {
  try {
    const input = tool.input.safeParse(args);
    if (input.success) return { subjects: tool.subjects(input.data, { workspace: env.workspace }) };
    return { problem: namedProblems(input.error, tool.input, args) };
  } catch (error) {
    return isRetinueError(error) && error.code === 'denied' ? { denied: error.message } : { problem: messageOf(error) };
  }
}

/** No rule is asked: what the call does cannot be told. */
function deny(args: Json, { name, idempotent }: AnyTool, why: string): Verdict {
  const rejected = { why: 'denied' as const, status: 'denied' as const, say: `denied: ${why}` };
  return { args, decision: { action: 'deny', owner: name, rule: null }, idempotent, rejected };
}

function judgeResult(value: Json, check: (value: Json) => string | null): Verdict {
  const problem = check(value);
  const say = problem === null ? 'accepted' : `the result breaks its schema: ${problem}; submit it again, corrected`;
  const rejected = {
    why: 'submit' as const,
    status: problem === null ? ('ok' as const) : ('error' as const),
    say,
    ...(problem === null ? { data: value } : {}),
  };
  return { args: value, decision: kernels, idempotent: true, rejected };
}

function reject(args: Json, why: Rejected, say: string): Verdict {
  return { args, decision: kernels, idempotent: true, rejected: { why, status: 'error', say } };
}

function denial(tool: string, { action, rule, owner, about }: Decision): string {
  const what = about === undefined ? '' : `\`${about}\`: `;
  const by = `${what}${rule === null ? `no rule of the owner allows it` : `rule \`${rule}\` of ${owner}`}`;
  return action === 'ask' ? `denied: ${tool} needs an approval, and nobody can be asked (${by})` : `denied: ${tool} is not allowed (${by})`;
}

function finished(
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

function rightsOf({ agent, offered, rulesets }: ToolEnv): Rights {
  return { agent, tools: offered, decide: (tool, subjects) => decide(rulesets(), { tool, subjects }) };
}

/** What a tool gives becomes facts, so it is looked at first: a tool that gives something else has failed. */
function resultOf(given: unknown): ToolResult {
  const parsed = Attempted.shape.result.safeParse(given);
  if (parsed.success) return parsed.data as ToolResult;
  const issue = parsed.error.issues[0];
  throw new Error(`it gave no result (${issue?.path.join('.') || 'result'}: ${issue?.message})`);
}

/** The message of whatever was thrown. */
function messageOf(thrown: unknown): string {
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
  blobs: string[];
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
  const whole = visible(env.redact(rough.text.toWellFormed(), true));
  const cut = cutMiddle(whole, cap);
  const originalBytes = rough.truncated?.originalBytes ?? cut.truncated?.originalBytes ?? 0;
  const truncated = cut.truncated ? { originalBytes, keptBytes: cut.truncated.keptBytes } : null;
  const made = (result.artifacts ?? []).map((artifact) =>
    artifactOf(call, { ...artifact, value: env.redact(artifact.value.toWellFormed(), true) }, null),
  );
  const rest = truncated
    ? [artifactOf(call, { bytes: originalBytes, kind: 'note', title: `whole output of ${call.tool}`, value: '' }, sha256(whole))]
    : [];
  const finish = finished(call, status, cut.text, {
    truncated,
    taint: [...new Set([...(tool?.taint ?? []), ...(result.taint ?? [])])],
    told: result.told ?? [],
  });
  return { drafts: [...made, ...rest, finish], blobs: truncated ? [whole] : [] };
}

function artifactOf({ turn, index }: CallState, artifact: Artifact, blob: string | null): Draft {
  return { type: 'artifact.recorded', data: { artifact, blob, index, turn } };
}
