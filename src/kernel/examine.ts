// What of an answer may be executed.
//
// E1. Every call of an answer gets exactly one `tool.asked`; what cannot be executed is answered to the model at once.
// E2. Rules are asked at this moment, with whatever has come to narrow them since the run began.
import type { ContentPart } from '../contract/content.ts';
import { isRetinueError } from '../contract/error.ts';
import type { Draft, FactData } from '../contract/fact.ts';
import type { Decision } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import { namedProblems } from '../conversation/argument-problems.ts';
import { parseArguments } from '../conversation/arguments.ts';
import { type CallState, submitTool } from '../conversation/request.ts';
import type { Subject } from '../ports/subject.ts';
import type { AnyTool } from '../ports/tool.ts';
import { decideCall, subjectText } from '../rules/policy.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { type Always, callHash, callKey, callParts, countRepeats, maxRecent } from './calls.ts';
import { repeatRefused } from './decide.ts';
import type { RunState } from './state.ts';
import { finished, messageOf, type ToolEnv } from './tool-call.ts';

type Rejected = NonNullable<FactData['tool.asked']['rejected']>;
type Verdict = {
  args: Json;
  decision: Decision;
  idempotent: boolean;
  /** Somebody is to be asked about these. */
  ask?: string[];
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
    const asked = {
      type: 'tool.asked' as const,
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
    if (!rejected && verdict.ask) return [asked, question(asked.data, verdict.ask, env)];
    if (!rejected) return [asked];
    return [asked, finished({ turn, index }, rejected.status, rejected.say, rejected.data === undefined ? {} : { data: rejected.data })];
  });
}

function question({ turn, index, tool, arguments: args, decision }: FactData['tool.asked'], subjects: string[], env: ToolEnv): Draft {
  const data = { arguments: args, decision, expiresAt: env.expiresAt(), hash: callHash(tool, args), index, subjects, tool, turn };
  return { type: 'approval.asked', data };
}

function judge(part: Extract<ContentPart, { type: 'tool-call' }>, env: ToolEnv): Verdict {
  const parsed = parseArguments(part.input);
  if (!parsed.ok) return reject(part.input, 'malformed', `${parsed.problem}; send the call again with correct arguments`);
  if (part.tool === submitTool && env.checkResult) return judgeResult(parsed.value, env.checkResult);
  const tool = env.tools.get(part.tool);
  if (!tool) return reject(parsed.value, 'unknown', unknownNameMessage('tool', part.tool, [...env.offered]));
  const read = readCall(tool, parsed.value, env);
  if ('denied' in read) return deny(parsed.value, tool, read.denied);
  if ('problem' in read) return reject(parsed.value, 'malformed', `the arguments of ${part.tool} are wrong: ${read.problem}`);
  const decision = decideNow({ tool, args: parsed.value, subjects: read.subjects }, env);
  const verdict: Verdict = { args: parsed.value, decision, idempotent: tool.idempotent, rejected: null };
  const asks = decision.action === 'ask' && env.offered.includes(part.tool) && env.attended();
  if (asks) verdict.ask = read.subjects.filter(isOwn).map(subjectText);
  else if (decision.action !== 'allow')
    verdict.rejected = { why: 'denied', status: 'denied', say: (env.denial ?? denial)(part.tool, decision) };
  else if (!env.offered.includes(part.tool))
    verdict.rejected = { why: 'unknown', status: 'error', say: `the tool ${part.tool} is not available in this run` };
  return verdict;
}

/** What the call touches, and how that is decided. */
interface Read {
  tool: AnyTool;
  args: Json;
  subjects: Subject[];
}

/** By the rules, and by what somebody has allowed for good where they ask. Nothing that was said beats a deny. */
function decideNow({ tool, args, subjects }: Read, env: ToolEnv): Decision {
  const decision = decideCall(env.rulesets(), { tool: tool.name, subjects });
  if (decision.action !== 'ask') return decision;
  const hash = callHash(tool.name, args);
  const own = subjects.filter(isOwn).map(subjectText);
  // The same call; of tools whose subjects say all that matters, also another one about the same.
  const isSame = (each: Always) => each.hash === hash || (tool.bySubject === true && own.length > 0 && isEqual(each.subjects, own));
  const said = env.always().find((each) => each.tool === tool.name && isSame(each));
  return said ? { action: 'allow', owner: said.by, rule: 'always allow' } : decision;
}

function isEqual(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** How a call that was let through reads to the model, where it may not be made any more; null where it may. */
export function deniedNow(call: CallState, env: ToolEnv): string | null {
  const tool = env.tools.get(call.tool);
  if (!tool) return null;
  const read = readCall(tool, call.arguments, env);
  if ('denied' in read) return `denied: ${read.denied}`;
  if ('problem' in read) return `denied: ${read.problem}`;
  const decision = decideNow({ tool, args: call.arguments, subjects: read.subjects }, env);
  const isDenied = decision.action === 'deny' || (decision.action === 'ask' && !call.approval);
  return isDenied ? (env.denial ?? denial)(call.tool, decision) : null;
}

function isOwn(subject: Subject): boolean {
  return typeof subject === 'string' || subject.alias !== true;
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
