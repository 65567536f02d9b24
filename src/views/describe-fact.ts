// Facts as one line of text each, for `logs` and for progress without a terminal.

import type { Fact, FactData } from '../contract/fact.ts';
import type { Grant } from '../contract/grant.ts';
import type { LimitName } from '../contract/limits.ts';
import type { RecordedOutcome } from '../contract/outcome.ts';
import { formatEffort } from '../text/effort.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { verifiedWord } from '../text/verified.ts';
import { callKey, describeCall } from './describe-call.ts';
import { formatCost, formatCount, formatDuration, formatPlural, formatStatus, shortId, totalTokens } from './format.ts';
import { paint, statusStyle } from './style.ts';
import { createSummaryTracker } from './summary-tracker.ts';
import { createTreeCounter, describeProblems, describeTurns, type TreeCount, type TreeCounter } from './tree-counter.ts';

/** Call it with the facts in order: calls and checks are remembered until their results, compactions until the next answer, and turns are counted. */
export function createFactDescriber(): (fact: Fact) => string {
  const calls = new Map<string, string>();
  const checks = new Map<string, string>();
  /** The tokens before a compaction, by run. The next answer has the tokens after it. */
  const compactedFrom = new Map<string, number>();
  const summaries = createSummaryTracker();
  const counter = createTreeCounter();
  return (fact) => {
    counter.add(fact);
    const key = 'turn' in fact.data && 'index' in fact.data ? `${fact.runId} ${callKey(fact.data)}` : '';
    if (fact.type === 'tool.asked') calls.set(key, describeCall(fact.data.tool, fact.data.arguments));
    const checkKey = 'round' in fact.data ? `${fact.runId} ${fact.data.round} ${fact.data.index}` : '';
    if (fact.type === 'check.started') checks.set(checkKey, describeCheck(fact.data));
    const text = describeFact(fact, {
      call: calls.get(key) ?? 'a call from before',
      check: checks.get(checkKey) ?? '',
      compactedFrom: compactedFrom.get(fact.runId) ?? null,
      counter,
    });
    if (fact.type === 'tool.finished') calls.delete(key);
    if (fact.type === 'check.finished') checks.delete(checkKey);
    if (fact.type === 'model.answered') compactedFrom.delete(fact.runId);
    if (fact.type === 'context.compacted' && fact.data.usage) compactedFrom.set(fact.runId, fact.data.usage.input);
    return sanitizeLine(join(summaries.add(fact), text));
  };
}

interface Remembered {
  call: string;
  /** Empty if its beginning is not known. */
  check: string;
  compactedFrom: number | null;
  counter: TreeCounter;
}

function describeFact(fact: Fact, { call, check, compactedFrom, counter }: Remembered): string {
  switch (fact.type) {
    case 'run.created':
      return join(fact.data.agent ?? fact.data.kind, fact.data.brief.label ?? '', excerpt(fact.data.brief.task));
    case 'run.started':
      return join(fact.data.model ?? 'no model', fact.data.deadline === null ? '' : `until ${fact.data.deadline}`);
    case 'workspace.prepared':
      return join(fact.data.kind, fact.data.commit === null ? '' : `commit ${fact.data.commit.slice(0, 12)}`, fact.data.path);
    case 'workspace.saved':
      return join(`${formatPlural(fact.data.files, 'file')} changed`, ...fact.data.notices);
    case 'changes.planned':
      return join(fact.data.kind, `${formatPlural(fact.data.files, 'file')} of ${fact.data.runs.map(shortId).join(', ')}`);
    case 'changes.made':
      return fact.data.left.length === 0 ? 'done' : `done, except ${fact.data.left.join(', ')}`;
    case 'changes.discarded':
      return fact.data.runs.map(shortId).join(', ');
    case 'session.opened':
      return join(fact.data.agent, fact.data.version ?? '', fact.data.how, ...fact.data.notices);
    case 'session.prompted':
      return excerpt(fact.data.text);
    case 'model.called':
      return join(`${formatCount(fact.data.usage.input + fact.data.usage.output)} tokens`, formatCost(fact.data.costUsd));
    case 'model.asked':
      return join(
        fact.data.purpose === 'compact' ? 'compaction' : `turn ${fact.data.turn}`,
        fact.data.attempt > 1 ? `attempt ${fact.data.attempt}` : '',
        fact.data.cause ?? '',
        fact.data.instead ? `${fact.data.model}: ${describeShortage(fact.data.instead)}` : '',
        fact.data.effort === undefined ? '' : `effort ${formatEffort(fact.data.effort)}`,
      );
    case 'model.answered':
      return join(
        `${formatCount(fact.data.usage.input + fact.data.usage.output)} tokens`,
        formatCost(fact.data.costUsd),
        compactedFrom === null ? '' : `compacted from ${formatCount(compactedFrom)} to ${formatCount(fact.data.usage.input)} tokens`,
        describeAnswer(fact.data.content),
      );
    case 'model.failed':
      return join(`${fact.data.error.code}: ${fact.data.error.message}`, describeRetry(fact.data));
    case 'model.nudged':
      return join(fact.data.reason, excerpt(fact.data.text));
    case 'tool.asked':
      return join(call, fact.data.rejected === null ? '' : describeRejection(fact.data.rejected, fact.data.decision));
    case 'tool.finished':
      return join(call, callStatus[fact.data.status], describeTaint(fact.data.taint), excerpt(fact.data.output));
    case 'child.created':
      return join(
        shortId(fact.data.childId),
        fact.data.agent ?? '',
        fact.data.label ?? '',
        fact.data.background ? 'in the background' : '',
      );
    case 'child.ended':
      return join(shortId(fact.data.childId), describeCounted(fact.data.outcome, counter), describeTaint(fact.data.taint ?? []));
    case 'message.received':
      return join(`from ${fact.data.from}`, excerpt(fact.data.text));
    case 'artifact.recorded':
      return join(
        fact.data.artifact.kind,
        fact.data.artifact.title ?? excerpt(fact.data.artifact.value),
        `${fact.data.artifact.bytes} bytes`,
      );
    case 'context.pruned':
      return `${formatPlural(fact.data.calls.length, 'old tool result')} removed`;
    case 'context.compacted':
      return join(
        `up to event ${fact.data.upTo}`,
        fact.data.usage ? `${formatCount(fact.data.usage.input)} tokens before` : '',
        fact.data.usage ? `a summary of ${formatCount(fact.data.usage.output)} tokens` : '',
        describeTaint(fact.data.taint ?? []),
        excerpt(fact.data.summary),
      );
    case 'check.started':
      return join(`round ${fact.data.round}`, check);
    case 'check.finished':
      return join(`round ${fact.data.round}`, check, fact.data.status, excerpt(fact.data.output));
    case 'step.started':
      return join(`${fact.data.step}. ${fact.data.kind}`, excerpt(fact.data.name), fact.data.at);
    case 'step.finished':
      return join(`${fact.data.step}.`, describeStep(fact.data));
    case 'flow.returned':
      return excerpt(fact.data.value === undefined ? 'no value' : JSON.stringify(fact.data.value));
    case 'cancel.asked':
      return join(`by ${fact.data.by}`, fact.data.reason);
    case 'approval.asked':
      return join(describeCall(fact.data.tool, fact.data.arguments), `until ${fact.data.expiresAt}`);
    case 'approval.answered':
      return join(fact.data.allowed ? 'allowed' : 'refused', `by ${fact.data.by}`);
    case 'run.paused':
      return join(fact.data.reason, fact.data.resumeAt === null ? '' : `until ${fact.data.resumeAt}`);
    case 'run.resumed':
      return `by ${fact.data.by}${fact.data.takeover ? ', after the process that drove it died' : ''}`;
    case 'run.ended':
      return describeCounted(fact.data.outcome, counter);
  }
}

function describeRetry({ again, fallback, next }: FactData['model.failed']): string {
  if (next === 'compact') return 'compacting the conversation, then retrying';
  if (fallback !== null) return `continuing with ${fallback}`;
  return again ? 'retrying' : '';
}

/** Why a run changed to a cheaper model. */
export function describeShortage({ of, neededUsd, leftUsd }: NonNullable<FactData['model.asked']['instead']>): string {
  const left = leftUsd === null ? 'the budget has too little left' : `the budget has ${formatCost(leftUsd)} left`;
  return `${left}, and a call of ${of} needs about ${formatCost(neededUsd)}, besides a reserve for a last answer`;
}

function describeCheck({ agent, command }: FactData['check.started']): string {
  return join(agent === undefined ? '' : `review by ${agent}`, excerpt(command));
}

function describeStep({ status, value, error }: FactData['step.finished']): string {
  if (status === 'unknown') return 'cut off, result unknown';
  if (error) return excerpt(`failed: ${error.message}`);
  return value === undefined ? 'ok' : excerpt(`ok: ${JSON.stringify(value)}`);
}

const callStatus: Record<FactData['tool.finished']['status'], string> = {
  ok: 'ok',
  error: 'failed',
  denied: 'denied',
  timeout: 'timed out',
  cancelled: 'cancelled',
  unknown: 'cut off, result unknown',
};

/** With the calls that did not work: a run can be completed in spite of them. */
function describeCounted(outcome: RecordedOutcome, counter: TreeCounter): string {
  return join(describeOutcome(outcome, counter.count(outcome.runId)), describeProblems(counter.problems(outcome.runId)));
}

/** The few facts that belong in the log of a build; null for the others. */
export function createProgressDescriber(): (fact: Fact) => string | null {
  const describe = createFactDescriber();
  /** Calls whose denial was printed with the request. */
  const denied = new Set<string>();
  return (fact) => {
    const text = describe(fact);
    const id = shortId(fact.runId);
    switch (fact.type) {
      case 'run.started':
        return `${id} started · ${text}`;
      case 'tool.asked':
        if (fact.data.rejected === 'denied') denied.add(`${fact.runId} ${callKey(fact.data)}`);
        return `${id} tool ${text}`;
      case 'tool.finished':
        if (denied.delete(`${fact.runId} ${callKey(fact.data)}`)) return null;
        return fact.data.status === 'ok' ? null : `${id} tool ${text}`;
      case 'check.finished':
        return `${id} check ${text}`;
      case 'step.started':
        return fact.data.kind === 'log' ? `${id} ${sanitizeLine(fact.data.name)}` : `${id} step ${text}`;
      case 'step.finished':
        return fact.data.status === 'ok' ? null : `${id} step ${text}`;
      case 'child.created':
        return `${id} child ${text}`;
      case 'model.failed':
        return `${id} model ${text}`;
      case 'context.compacted':
        return `${id} compacted · ${text}`;
      case 'context.pruned':
        return `${id} pruned · ${text}`;
      case 'message.received':
        return `${id} message ${text}`;
      case 'cancel.asked':
        return `${id} cancel ${text}`;
      case 'approval.asked':
        return `${id} approval ${text}`;
      case 'run.paused':
        return `${id} paused · ${text}${fact.data.resumeAt === null ? ` · continue with \`retinue resume ${id}\`` : ''}`;
      case 'run.ended':
        return `${id} ended · ${text}`;
      default:
        return null;
    }
  };
}

function describeTaint(taint: string[]): string {
  return taint.length === 0 ? '' : `taint ${taint.join(', ')}`;
}

/** `completed · 3 turns · 1.2k tokens · $0.02 · 12s`. `count` is that of its whole tree, like tokens and cost. */
export function describeOutcome(outcome: RecordedOutcome, count: TreeCount): string {
  const { tokens, costUsd, durationMs } = outcome;
  const usage = [describeTurns(count), `${formatCount(totalTokens(tokens))} tokens`, formatCost(costUsd), formatDuration(durationMs)];
  return join(formatStatus(outcome.status), (outcome.success && verifiedWord(outcome)) || '', ...usage, describeError(outcome));
}

export function describeError({ status, error, terminated, tokens }: RecordedOutcome): string {
  if (error === null) return '';
  const message = error.message.replace(/\b1 turns\b/, '1 turn');
  const wasTooSmall = terminated === 'max_tokens' && totalTokens(tokens) === 0;
  const advice = wasTooSmall ? '; its first call alone would need more' : '';
  return `${error.code === status ? '' : `${error.code}: `}${message}${advice}`;
}

/** An outcome with the id of its run, for lists of outcomes. */
export function formatOutcomeLine(outcome: RecordedOutcome, count: TreeCount, colour: boolean): string {
  return `${shortId(outcome.runId)} ${paint(colour, statusStyle[outcome.status], sanitizeLine(describeOutcome(outcome, count)))}`;
}

export function describeLimits(limits: Grant['limits']): string {
  const text = (name: LimitName, format: (value: number) => string, none: string) => {
    const value = limits[name]?.value ?? null;
    return value === null ? none : format(value);
  };
  return join(
    text('maxTurns', (n) => formatPlural(n, 'turn'), 'unlimited turns'),
    text('timeoutMs', formatDuration, 'no time limit'),
    text('maxTokens', (n) => `${groupThousands(n)} tokens`, 'unlimited tokens'),
    text('maxCostUsd', (n) => `$${n}`, 'unlimited cost'),
  );
}

type Rejection = NonNullable<FactData['tool.asked']['rejected']>;

const rejectionTexts: Record<Exclude<Rejection, 'denied'>, string> = {
  unknown: 'not executed: there is no such tool',
  malformed: 'not executed: its arguments are wrong',
  duplicate: 'not executed: another call has the same id',
  repeated: 'not executed: the same call was made too often',
  submit: '',
};

function describeRejection(rejected: Rejection, decision: FactData['tool.asked']['decision']): string {
  if (rejected !== 'denied') return rejectionTexts[rejected];
  if (decision.action === 'ask')
    return `denied: \`${decision.rule}\` of ${decision.owner} requires approval, and this run cannot ask for it; to be asked, add --ask TIME`;
  return decision.rule === null ? `denied: no rule of ${decision.owner} allows it` : `denied by \`${decision.rule}\` of ${decision.owner}`;
}

function describeAnswer(content: { type: string; text?: string; tool?: string }[]): string {
  const text = content.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join(' ');
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? [part.tool ?? ''] : []));
  return join(text.trim() === '' ? '' : excerpt(text), calls.length === 0 ? '' : `calls ${calls.join(', ')}`);
}

function excerpt(text: string): string {
  const line = sanitizeLine(text.slice(0, 2000));
  return line.length > 400 ? `${line.slice(0, 400)}…` : line;
}

function join(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

/** `toLocaleString` would take 20 ms to load. */
function groupThousands(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}
