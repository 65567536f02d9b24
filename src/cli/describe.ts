// Facts in words, one line each: for `logs` and for progress where there is no terminal.
import type { Fact } from '../contract/fact.ts';
import type { Grant } from '../contract/grant.ts';
import type { LimitName } from '../contract/limits.ts';
import type { Outcome } from '../contract/outcome.ts';
import { cleanLine } from './clean.ts';
import { cost, count, duration, plural, shortId, statusWords } from './format.ts';
import { callText, placeOf } from './live-state.ts';
import { took } from './render.ts';

/** Turns facts into lines, in their order: what a call was is remembered until it has finished. */
export function createDescriber(): (fact: Fact) => string {
  const calls = new Map<string, string>();
  return (fact) => {
    const key = 'index' in fact.data ? `${fact.runId} ${placeOf(fact.data)}` : '';
    if (fact.type === 'tool.asked') calls.set(key, callText(fact.data.tool, fact.data.arguments));
    const text = describe(fact, calls.get(key) ?? 'tool');
    if (fact.type === 'tool.finished') calls.delete(key);
    return cleanLine(text);
  };
}

function describe(fact: Fact, call: string): string {
  switch (fact.type) {
    case 'run.created':
      return join(fact.data.agent ?? fact.data.kind, fact.data.brief.label ?? '', quote(fact.data.brief.task));
    case 'run.started':
      return join(fact.data.model ?? 'no model', fact.data.deadline === null ? '' : `until ${fact.data.deadline}`);
    case 'model.asked':
      return join(`turn ${fact.data.turn}`, fact.data.attempt > 1 ? `attempt ${fact.data.attempt}` : '', fact.data.cause ?? '');
    case 'model.answered':
      return join(`${count(fact.data.usage.input + fact.data.usage.output)} tokens`, cost(fact.data.costUsd), answer(fact.data.content));
    case 'model.failed':
      return join(`${fact.data.error.code}: ${fact.data.error.message}`, fact.data.again ? 'trying again' : '');
    case 'model.nudged':
      return join(fact.data.reason, quote(fact.data.text));
    case 'tool.asked':
      return join(call, fact.data.rejected === null ? '' : refusal(fact.data.rejected, fact.data.decision));
    case 'tool.finished':
      return join(call, fact.data.status, taintText(fact.data.taint), quote(fact.data.output));
    case 'child.created':
      return join(
        shortId(fact.data.childId),
        fact.data.agent ?? '',
        fact.data.label ?? '',
        fact.data.background ? 'in the background' : '',
      );
    case 'child.ended':
      return join(shortId(fact.data.childId), ended(fact.data.outcome), taintText(fact.data.taint ?? []));
    case 'message.received':
      return join(`from ${fact.data.from}`, quote(fact.data.text));
    case 'artifact.recorded':
      return join(
        fact.data.artifact.kind,
        fact.data.artifact.title ?? quote(fact.data.artifact.value),
        `${fact.data.artifact.bytes} bytes`,
      );
    case 'context.pruned':
      return `${plural(fact.data.calls.length, 'result')} of old calls`;
    case 'context.compacted':
      return join(`up to fact ${fact.data.upTo}`, quote(fact.data.summary));
    case 'cancel.asked':
      return join(`by ${fact.data.by}`, fact.data.reason);
    case 'approval.asked':
      return join(callText(fact.data.tool, fact.data.arguments), `until ${fact.data.expiresAt}`);
    case 'approval.answered':
      return join(fact.data.allowed ? 'allowed' : 'refused', `by ${fact.data.by}`);
    case 'run.paused':
      return join(fact.data.reason, fact.data.resumeAt === null ? '' : `until ${fact.data.resumeAt}`);
    case 'run.resumed':
      return `by ${fact.data.by}`;
    case 'run.ended':
      return ended(fact.data.outcome);
  }
}

/** The few facts that a log of a build should show, as lines; the others are null. */
export function createProgress(): (fact: Fact) => string | null {
  const words = createDescriber();
  return (fact) => {
    const text = words(fact);
    const id = shortId(fact.runId);
    switch (fact.type) {
      case 'run.started':
        return `${id} started · ${text}`;
      case 'tool.asked':
        return `${id} tool ${text}`;
      case 'tool.finished':
        return fact.data.status === 'ok' ? null : `${id} tool ${text}`;
      case 'child.created':
        return `${id} child ${text}`;
      case 'model.failed':
        return `${id} model ${text}`;
      case 'message.received':
        return `${id} message ${text}`;
      case 'cancel.asked':
        return `${id} cancel ${text}`;
      case 'approval.asked':
        return `${id} approval ${text}`;
      case 'run.paused':
        return `${id} paused · ${text}`;
      case 'run.ended':
        return `${id} ended · ${text}`;
      default:
        return null;
    }
  };
}

function taintText(taint: string[]): string {
  return taint.length === 0 ? '' : `taint ${taint.join(', ')}`;
}

export function ended(outcome: Outcome): string {
  const { status, error } = outcome;
  const why = error === null ? '' : error.code === status ? error.message : `${error.code}: ${error.message}`;
  return join(statusWords(status), took(outcome), why);
}

/** The limits of a tree, as they are printed at its start. */
export function limitsText(limits: Grant['limits']): string {
  const text = (name: LimitName, format: (value: number) => string, none: string) => {
    const value = limits[name]?.value ?? null;
    return value === null ? none : format(value);
  };
  return join(
    text('maxTurns', (n) => plural(n, 'turn'), 'any number of turns'),
    text('timeoutMs', duration, 'no deadline'),
    text('maxTokens', (n) => `${grouped(n)} tokens`, 'any number of tokens'),
    text('maxCostUsd', (n) => `$${n}`, 'no limit on cost'),
  );
}

function refusal(rejected: string, decision: { rule: string | null; owner: string }): string {
  if (rejected !== 'denied') return `not executed: ${rejected}`;
  return `denied by ${decision.rule === null ? 'the lack of a rule' : `\`${decision.rule}\``} of ${decision.owner}`;
}

function answer(content: { type: string; text?: string; tool?: string }[]): string {
  const text = content.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join(' ');
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? [part.tool ?? ''] : []));
  return join(text.trim() === '' ? '' : quote(text), calls.length === 0 ? '' : `calls ${calls.join(', ')}`);
}

function quote(text: string): string {
  const line = cleanLine(text.slice(0, 2000));
  return line.length > 400 ? `${line.slice(0, 400)}…` : line;
}

function join(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

/** With a comma between thousands; the machine's own means for that take 20 ms to load. */
function grouped(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}
