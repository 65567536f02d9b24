// Judges the tool calls of an answer.
//
// E1. Every call of an answer gets exactly one `tool.asked`; calls that cannot be executed get their result at once.
// E2. Rules are evaluated now, with everything that has narrowed the run since it began.
import type { ContentPart } from '../../contract/content.ts';
import type { Draft, FactData } from '../../contract/fact.ts';
import type { Decision } from '../../contract/grant.ts';
import type { Json } from '../../contract/json.ts';
import { parseArguments } from '../../conversation/arguments.ts';
import { type CallRef, callKey, countRepeats, hashCall, maxRecent, toolCallParts } from '../../conversation/tool-calls.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { subjectText } from '../../rules/policy.ts';
import { msToIso } from '../../text/instant.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { loopVersionOf } from '../state/state.ts';
import { defaultQuestionMs } from './approval.ts';
import { type CallReview, reviewCalls } from './call-review.ts';
import { decideForRun, describeDenial, findTool, isOwnSubject, prepareTools, readSubjects } from './call-rights.ts';
import { keepOriginal, pinOriginal, redactJson } from './original-arguments.ts';

type RejectReason = NonNullable<FactData['tool.asked']['rejected']>;
type FinishStatus = FactData['tool.finished']['status'];

interface Verdict {
  /** As they are recorded: without secrets. */
  args: Json;
  /** As they are executed, if they differ. */
  original?: Json;
  decision: Decision;
  idempotent: boolean;
  /** Subjects that need approval. */
  ask?: string[];
  /** Set if the kernel answers the call itself, without executing a tool. */
  immediate: null | { reason: RejectReason; status: FinishStatus; output: string; data?: Json };
}

const kernelDecision: Decision = { action: 'allow', owner: 'kernel', rule: null };

/** The result of a call that was interrupted. */
export const unknownEffectText =
  'It is not known whether this call took effect, because the process was interrupted during the call. Check before you repeat it.';

type CallResult = Pick<FactData['tool.finished'], 'status' | 'output'> & Partial<FactData['tool.finished']>;

/** The fact that a call has ended with a result. */
export function toolFinishedFact(
  { index, turn }: CallRef,
  { status, output, data, memo, taint = [], told = [], truncated = null }: CallResult,
): Draft {
  const submitted = data === undefined ? {} : { data };
  const remembered = memo === undefined ? {} : { memo };
  return { type: 'tool.finished', data: { ...submitted, index, ...remembered, output, status, taint, told, truncated, turn } };
}

/** The calls of an answer, in order: redacted in `content`, and their arguments as the model wrote them. */
export interface AnswerCalls {
  content: ContentPart[];
  originals: string[];
  turn: number;
  /** The index of the first call; 0 if absent. */
  from?: number;
}

/**
 * Judges all calls of an answer and returns their facts. Repeated call ids are made unique in place, because providers refuse duplicates. Null: the run
 * was paused while the program reviewed the calls, so there is no verdict.
 */
export async function judgeToolCalls(
  { content, originals, turn, from = 0 }: AnswerCalls,
  run: Run,
  services: Services,
): Promise<Draft[] | null> {
  const parts = toolCallParts(content);
  const preparing = prepareTools(
    parts.map((part) => part.tool),
    run,
  );
  if (preparing) await preparing;
  const reviewing = reviewCalls(
    parts.map(({ tool, input }, index) => ({ tool, input, original: originals[index] ?? input, turn, index: from + index })),
    run,
    services,
  );
  const reviews = reviewing ? await reviewing : [];
  if (reviewing && run.stopCause?.code === 'paused') return null;
  const ids = new Set<string>();
  let { recent } = run.state.guards;
  return parts.flatMap((part, index): Draft[] => {
    const isDuplicate = ids.has(part.callId);
    if (isDuplicate) part.callId = `${part.callId}~${index}`;
    ids.add(part.callId);
    const verdict = isDuplicate
      ? reject(part.input, 'duplicate', 'two calls of your answer had the same id; only the first was made')
      : judgeCall({ part, original: originals[index] ?? part.input, review: reviews[index] }, run, services);
    const isPoll = !verdict.immediate && findTool(run, part.tool)?.polls === true;
    if (!isPoll) recent = [...recent, callKey(part.tool, verdict.args)].slice(-maxRecent);
    if (!isPoll && !verdict.immediate && countRepeats(recent) >= loopVersionOf(run.state).limits.repeatRefused) {
      const output = 'you have made the same call several times in a row, so it was not made again; try something else';
      verdict.immediate = { reason: 'repeated', status: 'error', output };
    }
    return verdictToFacts({ verdict, call: { tool: part.tool, turn, index: from + index } }, run, services);
  });
}

function verdictToFacts({ verdict, call }: { verdict: Verdict; call: CallRef & { tool: string } }, run: Run, services: Services): Draft[] {
  const { args, original, decision: found, idempotent, ask, immediate } = verdict;
  const { clock, questions, redact } = services;
  const { tool, turn, index } = call;
  const executed = immediate ? undefined : findTool(run, tool);
  const waits = executed?.timeoutMs === null;
  const polls = executed?.polls ? { polls: true as const } : {};
  const decision = redactJson(found, redact);
  const pin = original === undefined || immediate ? undefined : keepOriginal(run, { call, args: original }, services);
  const pinned = pin === undefined ? {} : { original: pin };
  const asked = {
    arguments: args,
    decision,
    idempotent,
    index,
    ...pinned,
    ...polls,
    rejected: immediate?.reason ?? null,
    tool,
    turn,
    waits,
  };
  const facts: Draft[] = [{ type: 'tool.asked', data: asked }];
  if (immediate) {
    const data = immediate.data === undefined ? {} : { data: immediate.data };
    facts.push(toolFinishedFact(call, { status: immediate.status, output: redact(immediate.output, false), ...data }));
  } else if (ask) {
    const expiresAt = msToIso(clock.now() + (questions?.timeoutMs ?? defaultQuestionMs));
    const subjects = redactJson(ask, redact);
    const question = { arguments: args, decision, expiresAt, hash: pin ?? hashCall(tool, args), index, subjects, tool, turn };
    facts.push({ type: 'approval.asked', data: question });
  }
  return facts;
}

interface AnsweredCall {
  part: Extract<ContentPart, { type: 'tool-call' }>;
  original: string;
  review: CallReview | undefined;
}

/** Judges the original arguments. The verdict and its texts are redacted when they become facts. */
function judgeCall({ part, original, review = {} }: AnsweredCall, run: Run, services: Services): Verdict {
  const parsed = parseArguments(original);
  if (!parsed.ok) {
    const output = findTool(run, part.tool)?.invalidInput?.(parsed.problem);
    return reject(part.input, 'malformed', output ?? `${parsed.problem}; send the call again with correct arguments`);
  }
  const redacted = part.input === original ? parsed : parseArguments(part.input);
  if (!redacted.ok) return reject(part.input, 'malformed', 'the arguments could not be read after secrets were removed from them');
  const { value: args } = redacted;
  if (review.result !== undefined) return judgeResult(args, review.result);
  const hasSecret = args !== parsed.value;
  const hash = () => (hasSecret ? pinOriginal(part.tool, parsed.value, services) : hashCall(part.tool, parsed.value));
  const verdict = judgeArguments({ name: part.tool, args: parsed.value, hash, review }, run, services);
  return hasSecret ? { ...verdict, args, original: parsed.value } : verdict;
}

interface CallArguments {
  name: string;
  args: Json;
  hash: () => string;
  review: CallReview;
}

function judgeArguments({ name, args, hash, review }: CallArguments, run: Run, services: Services): Verdict {
  const tool = findTool(run, name);
  const offered = run.grant.tools;
  if (!tool) return reject(args, 'unknown', unknownNameMessage('tool', name, offered));
  const read = review.read ?? readSubjects(tool, args, run);
  if ('denied' in read) return deny(args, tool, read.denied);
  if ('problem' in read) {
    const output = tool.invalidInput?.(read.problem) ?? `the arguments of ${name} are wrong: ${read.problem}`;
    return reject(args, 'malformed', output);
  }
  const decision = decideForRun({ tool, hash, subjects: read.subjects, needsApproval: review.needsApproval === true }, run, services);
  const verdict: Verdict = { args, decision, idempotent: tool.idempotent, immediate: null };
  const isOffered = offered.includes(name) || tool.isExternal === true;
  const canAsk = (run.depth === 0 || run.dialect.setup.asks !== false) && (services.questions?.canAnswer(run.rootId) ?? false);
  if (decision.action === 'ask' && isOffered && canAsk) verdict.ask = read.subjects.filter(isOwnSubject).map(subjectText);
  else if (decision.action !== 'allow')
    verdict.immediate = { reason: 'denied', status: 'denied', output: describeDenial(run, name, decision) };
  else if (!isOffered) {
    const { delegationTools, setup } = run.dialect;
    const own = run.depth > 0 && delegationTools.includes(name) ? setup.notOffered?.(name) : undefined;
    verdict.immediate = { reason: 'unknown', status: 'error', output: own ?? `the tool ${name} is not available in this run` };
  }
  return verdict;
}

/** Denied without a rule, because it is not known what the call would do. */
function deny(args: Json, { name, idempotent }: AnyTool, why: string): Verdict {
  const decision: Decision = { action: 'deny', owner: name, rule: null };
  return { args, decision, idempotent, immediate: { reason: 'denied', status: 'denied', output: `denied: ${why}` } };
}

function reject(args: Json, reason: RejectReason, output: string): Verdict {
  return { args, decision: kernelDecision, idempotent: true, immediate: { reason, status: 'error', output } };
}

function judgeResult(value: Json, problem: string | null): Verdict {
  const immediate =
    problem === null
      ? { reason: 'submit' as const, status: 'ok' as const, output: 'accepted', data: value }
      : {
          reason: 'submit' as const,
          status: 'error' as const,
          output: `the result does not match its schema: ${problem}; correct it and submit it again`,
        };
  return { args: value, decision: kernelDecision, idempotent: true, immediate };
}
