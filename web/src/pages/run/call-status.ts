import type { CallItem } from '../../../../src/views/conversation.ts';
import { isFlowQuestion } from '../../../../src/views/describe-question.ts';
import type { Tone } from '../../parts/status.tsx';

interface StatusView {
  text: string;
  tone: Tone;
  glyph: string;
}

const views: Record<CallItem['status'], StatusView> = {
  open: { text: 'running', tone: 'running', glyph: '●' },
  waiting: { text: 'waits for approval', tone: 'warning', glyph: '◐' },
  ok: { text: 'ok', tone: 'ok', glyph: '✓' },
  error: { text: 'failed', tone: 'error', glyph: '✗' },
  denied: { text: 'denied', tone: 'warning', glyph: '⊘' },
  timeout: { text: 'timed out', tone: 'error', glyph: '✗' },
  cancelled: { text: 'cancelled', tone: 'neutral', glyph: '⊘' },
  unknown: { text: 'cut off, result unknown', tone: 'warning', glyph: '?' },
};

export function statusOf(item: CallItem): StatusView {
  const view = views[item.status];
  return item.status === 'waiting' && isFlowQuestion(item) ? { ...view, text: 'waits for an answer' } : view;
}

type Rejection = NonNullable<CallItem['rejected']>;

const rejectionTexts: Record<Exclude<Rejection, 'denied'>, string> = {
  unknown: 'Not executed: there is no such tool.',
  malformed: 'Not executed: its arguments are wrong.',
  duplicate: 'Not executed: another call has the same id.',
  repeated: 'Not executed: the same call was made too often.',
  submit: 'Submits the result of the run.',
};

/** Why the call was allowed or not, as a sentence. */
export function describeDecision({ decision, rejected }: Pick<CallItem, 'decision' | 'rejected'>): string {
  if (rejected !== null && rejected !== 'denied') return rejectionTexts[rejected];
  // No rule decides about the steps of a flow.
  if (isFlowQuestion({ decision })) return '';
  const { action, rule, owner, about } = decision;
  const subject = about === undefined ? '' : ` for ${about}`;
  if (rule === null) return action === 'allow' ? `Allowed by ${owner}${subject}.` : `Denied: no rule of ${owner} allows it${subject}.`;
  const source = `the rule “${rule}” of ${owner}`;
  if (action === 'allow') return `Allowed by ${source}${subject}.`;
  if (action === 'deny') return `Denied by ${source}${subject}.`;
  return rejected === 'denied'
    ? `Denied: ${source} needs an approval${subject}, and nobody could give it.`
    : `Needs an approval by ${source}${subject}.`;
}
