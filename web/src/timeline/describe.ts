// What segments, marks and runs say: labels of the legend, tooltips, tables and screen readers. Pure.
import { sanitizeLine } from '../../../src/text/terminal.ts';
import { formatCost, formatCount, formatDuration, formatPlural } from '../../../src/views/format.ts';
import type { ClosedSegment, Lane, MarkKind, ModelCall, PathStep, SegmentKind, ToolCall } from '../../../src/views/timeline.ts';

export const kindLabel: Record<SegmentKind, string> = {
  model: 'Model',
  tool: 'Tools',
  children: 'Waiting for children',
  approval: 'Waiting for approval',
  queued: 'Queued',
  paused: 'Paused',
  interrupted: 'Interrupted',
  idle: 'Idle',
};

export const kindExplanation: Record<SegmentKind, string> = {
  model: 'a request to the model, until its answer is complete',
  tool: 'at least one tool call or step of a flow is executing',
  children: 'the run only waits for runs that it delegated',
  approval: 'a call or question waits for an answer of a person, and no other call is executing',
  queued: 'created, but not started: waits for a free slot',
  paused: 'paused by somebody, or until the provider accepts requests again',
  interrupted: 'no process was running the tree',
  idle: 'between two steps: before a retry, for a rate limit or a free slot, or while a flow sleeps',
};

export const markLabel: Record<MarkKind, string> = {
  message: 'Message',
  failure: 'Failure',
  retry: 'Retry',
  denied: 'Denied call',
  cancel: 'Cancellation',
};

/** The legend shows kinds in this order. */
export const kindOrder: SegmentKind[] = ['model', 'tool', 'children', 'approval', 'queued', 'paused', 'interrupted', 'idle'];
export const markOrder: MarkKind[] = ['message', 'failure', 'retry', 'denied', 'cancel'];

/** What a segment is, in a few words: `Model, turn 3`, `bash npm test`. */
export function segmentTitle({ kind, model, calls, note }: ClosedSegment): string {
  if (kind === 'model' && model) return modelTitle(model);
  if (kind === 'tool') {
    const [first, ...more] = calls.filter((call) => !call.isWait);
    if (first) return more.length === 0 ? first.text : `${formatPlural(more.length + 1, 'tool call')}: ${summarizeTools([first, ...more])}`;
  }
  if (kind === 'approval') {
    const [asked] = calls;
    if (asked) return approvalTitle(asked);
  }
  return note === '' ? kindLabel[kind] : `${kindLabel[kind]}: ${note}`;
}

/** A flow asks a person; a call of a model needs approval. */
function approvalTitle({ tool, text }: ToolCall): string {
  return tool === 'ask' && text.startsWith('ask ')
    ? `Waiting for an answer: ${text.slice('ask '.length)}`
    : `Waiting for approval of ${text}`;
}

function modelTitle({ purpose, turn, attempt }: ModelCall): string {
  const what =
    purpose === 'turn'
      ? `Model, turn ${turn}`
      : purpose === 'wrap-up'
        ? 'Model, wrap-up'
        : purpose === 'compact'
          ? 'Model, compaction'
          : 'Model, summary';
  return attempt > 1 ? `${what}, attempt ${attempt}` : what;
}

/** `3 × grep, read` */
function summarizeTools(calls: ToolCall[]): string {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return [...counts].map(([tool, n]) => (n === 1 ? sanitizeLine(tool) : `${n} × ${sanitizeLine(tool)}`)).join(', ');
}

/** Lines below the title: what a model call used, or the single calls of a segment. */
export function segmentDetails({ kind, model, calls, from, to }: ClosedSegment): string[] {
  if (kind === 'model' && model) return modelDetails(model);
  if (calls.length === 0 || (kind === 'tool' && calls.length === 1 && calls[0]?.status === 'ok')) return [];
  return calls.map((call) => `${call.text} · ${describeCallTime(call, { from, to })}`);
}

function modelDetails({ model, tokens, costUsd, result }: ModelCall): string[] {
  const used =
    tokens &&
    [`${formatCount(tokens.input)} tokens in, ${formatCount(tokens.output)} out`, formatCost(costUsd)].filter((part) => part !== '');
  const state = { open: ['answering'], answered: [], failed: ['failed'], lost: ['stopped before the answer was complete'] }[result];
  return [sanitizeLine(model), ...(used ? [used.join(' · ')] : []), ...state];
}

function describeCallTime({ from, to, status, needsApproval }: ToolCall, segment: { from: number; to: number }): string {
  if (needsApproval) return 'waits for approval';
  const time = formatSpan((to ?? segment.to) - from);
  if (status === 'open') return `${time} so far`;
  return status === 'ok' ? time : `${time}, ${status}`;
}

/** What a bar shows, for screen readers: times by kind, marks, and its part of the critical path. */
export function describeBar({ marks }: Lane, sums: Record<SegmentKind, number>, onPath: number): string {
  const times = kindOrder.filter((kind) => sums[kind] > 0).map((kind) => `${kindLabel[kind].toLowerCase()} ${formatSpan(sums[kind])}`);
  const counts = markOrder.flatMap((kind) => {
    const count = marks.filter((mark) => mark.kind === kind).length;
    return count === 0 ? [] : [formatPlural(count, markLabel[kind].toLowerCase())];
  });
  return [...times, ...counts, ...(onPath > 0 ? [`${formatSpan(onPath)} on the critical path`] : [])].join(', ');
}

/** What a step of the critical path is. */
export function stepTitle({ segment, call, kind }: PathStep): string {
  if ((kind === 'tool' || kind === 'approval') && call) return kind === 'approval' ? approvalTitle(call) : call.text;
  return segmentTitle(segment);
}

/** Tenths of a second where they matter, so that neighbouring steps can be compared. */
export function formatSpan(ms: number): string {
  return ms >= 1_000 && ms < 10_000 ? `${(Math.floor(ms / 100) / 10).toFixed(1)}s` : formatDuration(ms);
}
