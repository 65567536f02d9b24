// The conversation of a run as lines: prompt, answers, calls with their results, and what else happened.

import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import {
  type AnswerItem,
  type CallItem,
  type Conversation,
  type ConversationItem,
  describeCompaction,
  type NoteItem,
} from '../../views/conversation.ts';
import { describeCall } from '../../views/describe-call.ts';
import { formatCost, formatCount, formatDuration, formatShare, formatStatus, shortId, statusGlyph } from '../../views/format.ts';
import { type Style, statusStyle } from '../../views/style.ts';
import { callGlyph, callStatusText, callStyle } from './call-lines.ts';
import type { View } from './deps.ts';
import { diffLines, outputWithoutDiff } from './diff-lines.ts';
import { joinParts, limitLines, wrapStyled } from './line.ts';

const indent = 2;
/** Of a result in the conversation; the tab with the calls has all of it. */
const maxResultLines = 4;
const maxDiffLines = 16;

/** Call it again and again with the same conversation: unchanged items are not rendered twice. */
export function createConversationRenderer(): (conversation: Conversation, view: View) => string[] {
  const cache = new WeakMap<ConversationItem, { key: string; lines: string[] }>();
  return (conversation, view) => {
    const lines = conversation.items.flatMap((item) => {
      const key = `${view.columns} ${view.colour} ${item.kind === 'call' ? callVersion(item) : ''}`;
      const cached = cache.get(item);
      if (cached?.key === key) return cached.lines;
      const rendered = renderItem(item, view);
      cache.set(item, { key, lines: rendered });
      return rendered;
    });
    return [...lines, ...streamingLines(conversation, view)];
  };
}

/** Changes whenever something of a call that is shown changes. */
export function callVersion({ status, output, artifacts, children }: CallItem): string {
  return `${status} ${output.length} ${artifacts.length} ${children.map(({ outcome }) => outcome?.status ?? '').join()}`;
}

function renderItem(item: ConversationItem, view: View): string[] {
  switch (item.kind) {
    case 'answer':
      return answerLines(item, view);
    case 'call':
      return callLines(item, view);
    case 'end': {
      const { outcome } = item;
      const text = formatStatus(outcome.status);
      const head = joinParts(
        [[`${statusGlyph[outcome.status]} ${text[0]?.toUpperCase()}${text.slice(1)}`, statusStyle[outcome.status]]],
        view,
      );
      const error = outcome.error === null ? [] : wrapStyled(sanitizeText(outcome.error.message), view, { indent, style: 'red' });
      return [head, ...error, ''];
    }
    default:
      return noteLines(item, view);
  }
}

function answerLines(item: AnswerItem, view: View): string[] {
  const tokens = `${formatCount(item.usage.input + item.usage.output)} tokens`;
  const cached = item.usage.cached > 0 ? `${formatShare(item.usage.cached, item.usage.input)} cached` : '';
  const figures = [tokens, cached, formatCost(item.costUsd), formatDuration(item.ms)].filter((each) => each !== '').join(' · ');
  return [
    joinParts(
      [
        [`Turn ${item.turn}`, 'bold'],
        [`  ${figures}`, 'dim'],
      ],
      view,
    ),
    ...textLines(item.reasoning, view, 'dim'),
    ...textLines(item.text, view, null),
    // Its calls follow directly if it says nothing else.
    ...(item.reasoning.trim() + item.text.trim() === '' ? [] : ['']),
  ];
}

function streamingLines({ streaming, askedAt, turn }: Conversation, view: View): string[] {
  if (askedAt === null) return [];
  const elapsed = formatDuration(Math.floor(Math.max(0, view.now - Date.parse(askedAt)) / 1000) * 1000);
  const head = joinParts(
    [
      [`Turn ${streaming?.turn ?? turn}`, 'bold'],
      [`  ${(streaming?.text ?? '') === '' ? 'thinking' : 'writing'} · ${elapsed}`, 'cyan'],
    ],
    view,
  );
  if (streaming === null) return [head];
  return [head, ...textLines(streaming.reasoning, view, 'dim'), ...textLines(streaming.text, view, null)];
}

function textLines(text: string, view: View, style: Style | null): string[] {
  return text.trim() === '' ? [] : wrapStyled(sanitizeText(text.trim()), view, { indent, style });
}

function callLines(item: CallItem, view: View): string[] {
  const head = joinParts(
    [
      ['  '],
      [`${callGlyph(item)} `, callStyle(item)],
      [describeCall(item.tool, item.arguments)],
      [`  ${callStatusText(item)}`, callStyle(item)],
    ],
    view,
  );
  return [head, ...resultExcerpt(item, view), ...changeLines(item, view), ...childLines(item, view), ''];
}

function resultExcerpt(item: CallItem, view: View): string[] {
  const text = sanitizeText(outputWithoutDiff(item).slice(0, 4000).trimEnd());
  if (text === '' || item.children.length > 0) return [];
  const failed = item.status === 'error' || item.status === 'denied' || item.status === 'timeout';
  const lines = wrapStyled(text, view, { indent: 6, style: failed ? callStyle(item) : 'dim' });
  return limitLines(lines, failed ? 2 * maxResultLines : maxResultLines, view, 6);
}

function changeLines({ artifacts }: CallItem, view: View): string[] {
  return artifacts
    .filter(({ kind }) => kind === 'diff')
    .flatMap(({ title, value }) => limitLines(diffLines(title ?? '', value, { indent: 6, view }), maxDiffLines, view, 6));
}

function childLines({ children }: CallItem, view: View): string[] {
  return children.map(({ id, label, agent, outcome }) => {
    const status = outcome?.status ?? 'running';
    return joinParts(
      [
        ['      ↳ '],
        [`${statusGlyph[status]} `, statusStyle[status]],
        [sanitizeLine(label ?? agent ?? '')],
        [`  ${shortId(id)} ${formatStatus(status)}`, 'dim'],
      ],
      view,
    );
  });
}

const noteTitles: Record<NoteItem['kind'], string> = {
  prompt: 'Prompt',
  message: 'Message',
  nudge: 'Reminder',
  failure: 'Model call failed',
  pause: 'Paused',
  resume: 'Resumed',
  cancel: 'Cancellation requested',
  child: 'Delegated',
  context: 'Context shortened',
  log: 'Log',
};
const noteStyles: Partial<Record<NoteItem['kind'], Style>> = { failure: 'red', cancel: 'yellow', pause: 'yellow', message: 'cyan' };

function noteLines(item: NoteItem, view: View): string[] {
  const { kind, from, text, compaction } = item;
  const figures = describeCompaction(item);
  const head = joinParts(
    [
      [compaction ? 'Conversation compacted' : noteTitles[kind], noteStyles[kind] ?? 'bold'],
      [from === '' ? '' : `  from ${sanitizeLine(from)}`, 'dim'],
      [figures === '' ? '' : `  ${figures}`, 'dim'],
    ],
    view,
  );
  return [head, ...textLines(text, view, null), ''];
}
