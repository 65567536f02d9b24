// The conversation of one run as a reader sees it, folded from its facts: what it was asked, what it answered, its calls with their results.
import { completeOutcome } from '../contract/complete-outcome.ts';
import type { Delta } from '../contract/delta.ts';
import type { Fact, FactData } from '../contract/fact.ts';
import type { CallItem, Conversation, NoteItem } from './conversation-items.ts';
import { answerQuestion, applyStep, checkKey, endDelegation } from './conversation-steps.ts';
import { callKey } from './describe-call.ts';
import { formatCount } from './format.ts';
import { createSummaryTracker } from './summary-tracker.ts';

export type { AnswerItem, CallItem, Conversation, ConversationItem, EndItem, NoteItem } from './conversation-items.ts';

export function createConversation(): Conversation {
  return { items: [], streaming: null, isCompacting: false, askedAt: null, turn: 0, calls: new Map(), summaries: createSummaryTracker() };
}

/** A streamed answer is kept up to this length; the recorded one replaces it. */
const maxStreamed = 200_000;

/** Events of other runs than the one shown must not be passed. Changes the conversation in place. */
export function applyToConversation(conversation: Conversation, event: Fact | Delta): void {
  if (event.type === 'delta') addDelta(conversation, event);
  else addFact(conversation, event);
}

function addDelta(conversation: Conversation, { turn, kind, text }: Delta): void {
  if (kind === 'tool' || conversation.askedAt === null || turn < conversation.turn) return;
  conversation.streaming ??= { turn, text: '', reasoning: '' };
  const field = kind === 'text' ? 'text' : 'reasoning';
  if (conversation.streaming[field].length < maxStreamed) conversation.streaming[field] += text;
}

function addFact(conversation: Conversation, fact: Fact): void {
  const { seq, at } = fact;
  const note = (kind: NoteItem['kind'], text: string, from = '') => conversation.items.push({ kind, seq, at, from, text });
  const unused = conversation.summaries.add(fact);
  if (unused !== '') note('context', unused);
  switch (fact.type) {
    case 'run.started':
      if (fact.data.first !== null) note('prompt', fact.data.first);
      return;
    case 'model.asked':
      Object.assign(conversation, { askedAt: at, turn: fact.data.turn, streaming: null, isCompacting: fact.data.purpose === 'compact' });
      return;
    case 'model.answered':
      if (conversation.isCompacting) Object.assign(conversation, { askedAt: null, isCompacting: false });
      else addAnswer(conversation, fact);
      return;
    case 'model.failed':
      Object.assign(conversation, { askedAt: null, streaming: null });
      note(
        'failure',
        `${conversation.isCompacting ? 'compaction: ' : ''}${fact.data.error.code}: ${fact.data.error.message}${fact.data.again ? ' (retrying)' : ''}`,
      );
      return;
    case 'model.nudged':
      note('nudge', fact.data.text, fact.data.reason);
      return;
    case 'tool.asked':
      addCall(conversation, fact);
      return;
    case 'tool.finished':
      updateCall(conversation, fact.data, {
        status: fact.data.status,
        output: fact.data.output,
        truncated: fact.data.truncated,
        taint: fact.data.taint,
        endedAt: at,
      });
      return;
    case 'approval.asked':
      updateCall(conversation, fact.data, { status: 'waiting' });
      return;
    case 'approval.answered':
      if (!answerQuestion(conversation, fact.data, at)) updateCall(conversation, fact.data, { status: 'open' });
      return;
    case 'step.started':
    case 'step.finished':
    case 'check.started':
    case 'check.finished':
      applyStep(conversation, fact);
      return;
    case 'artifact.recorded':
      conversation.calls.get(callKey(fact.data))?.artifacts.push(fact.data.artifact);
      return;
    case 'child.created':
      addChild(conversation, fact.data, (text) => note('child', text));
      return;
    case 'child.ended':
      for (const call of conversation.calls.values())
        for (const child of call.children)
          if (child.id === fact.data.childId) {
            child.outcome = completeOutcome(fact.data.outcome);
            endDelegation(call, fact.data, at);
          }
      return;
    case 'message.received':
      note('message', fact.data.text, fact.data.from);
      return;
    case 'context.pruned':
      note('context', `${fact.data.calls.length} old tool results are no longer sent to the model`);
      return;
    case 'context.compacted':
      conversation.items.push({
        ...{ kind: 'context', seq, at, from: '', text: fact.data.summary },
        compaction: { before: fact.data.usage?.input ?? null, after: null },
      });
      return;
    case 'cancel.asked':
      note('cancel', fact.data.reason, fact.data.by);
      return;
    case 'run.paused':
      note('pause', fact.data.reason);
      return;
    case 'run.resumed':
      note('resume', '', fact.data.by);
      return;
    case 'run.ended':
      conversation.items.push({ kind: 'end', seq, at, outcome: completeOutcome(fact.data.outcome) });
      Object.assign(conversation, { askedAt: null, streaming: null });
      return;
    case 'run.created':
      return;
  }
}

function addAnswer(conversation: Conversation, { seq, at, data }: Extract<Fact, { type: 'model.answered' }>): void {
  const { askedAt, items } = conversation;
  const index = items.findLastIndex((item) => item.kind === 'answer' || (item.kind === 'context' && item.compaction !== undefined));
  const last = items[index];
  // A new object, so that whoever has shown the item shows it again.
  if (last?.kind === 'context' && last.compaction)
    items[index] = { ...last, compaction: { before: last.compaction.before, after: data.usage.input } };
  const join = (type: 'text' | 'reasoning') => data.content.flatMap((part) => (part.type === type ? [part.text] : [])).join('\n\n');
  conversation.items.push({
    kind: 'answer',
    seq,
    at,
    turn: data.turn,
    text: join('text'),
    reasoning: join('reasoning'),
    usage: data.usage,
    costUsd: data.costUsd,
    ms: askedAt === null ? 0 : Date.parse(at) - Date.parse(askedAt),
  });
  Object.assign(conversation, { askedAt: null, streaming: null });
}

function addCall(conversation: Conversation, { seq, at, data }: Extract<Fact, { type: 'tool.asked' }>): void {
  const { tool, arguments: input, decision, rejected } = data;
  const call = callKey(data);
  const item: CallItem = {
    kind: 'call',
    ...{ seq, at, call, tool, arguments: input, decision, rejected },
    status: 'open',
    output: '',
    truncated: null,
    taint: [],
    artifacts: [],
    children: [],
    endedAt: null,
  };
  conversation.calls.set(call, item);
  conversation.items.push(item);
}

function updateCall(conversation: Conversation, data: { turn: number; index: number }, change: Partial<CallItem>): void {
  const item = conversation.calls.get(callKey(data));
  if (item) Object.assign(item, change);
}

/** A child of a client has no call; a reviewer belongs to its check. */
function addChild(
  conversation: Conversation,
  { call, check, childId, label, agent }: FactData['child.created'],
  note: (text: string) => void,
): void {
  const key = check ? checkKey(check) : call && callKey(call);
  const item = key === null ? undefined : conversation.calls.get(key);
  if (item) item.children.push({ id: childId, label, agent, outcome: null });
  else note([childId.slice(0, 8), agent ?? '', label ?? ''].filter((part) => part !== '').join(' · '));
}

/** `2.2k → 852 tokens`; empty for anything but a compaction. */
export function describeCompaction({ compaction }: NoteItem): string {
  if (!compaction || compaction.before === null) return '';
  const { before, after } = compaction;
  return after === null ? `${formatCount(before)} tokens before` : `${formatCount(before)} → ${formatCount(after)} tokens`;
}
