// The tool calls of a run in full: arguments, results and diffs.
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { argumentsToText } from '../../views/argument-text.ts';
import type { CallItem, Conversation } from '../../views/conversation.ts';
import { isFlowQuestion } from '../../views/describe-question.ts';
import { formatDuration } from '../../views/format.ts';
import { approvalGlyph } from '../../views/run-row.ts';
import type { Style } from '../../views/style.ts';
import type { View } from './deps.ts';
import { diffLines, outputWithoutDiff } from './diff-lines.ts';
import { joinParts, wrapStyled } from './line.ts';
import { describeSources } from './run-figures.ts';

const statusTexts: Record<CallItem['status'], string> = {
  open: 'running',
  waiting: 'needs approval: press a',
  ok: 'ok',
  error: 'failed',
  denied: 'denied',
  timeout: 'timed out',
  cancelled: 'cancelled',
  unknown: 'cut off, result unknown',
};
const styles: Record<CallItem['status'], Style> = {
  open: 'cyan',
  waiting: 'yellow',
  ok: 'green',
  error: 'red',
  denied: 'yellow',
  timeout: 'red',
  cancelled: 'dim',
  unknown: 'yellow',
};
const glyphs: Record<CallItem['status'], string> = {
  open: '●',
  waiting: approvalGlyph,
  ok: '✓',
  error: '✗',
  denied: '⊘',
  timeout: '✗',
  cancelled: '⊘',
  unknown: '?',
};

export function callStyle({ status }: CallItem): Style {
  return styles[status];
}

export function callGlyph({ status }: CallItem): string {
  return glyphs[status];
}

export function callStatusText(item: CallItem): string {
  const isSubmit = item.rejected === 'submit';
  if (item.status === 'waiting' && isFlowQuestion(item)) return 'needs an answer: press a';
  return isSubmit ? '' : statusTexts[item.status];
}

/** Call it again and again with the same conversation: unchanged calls are not rendered twice. */
export function createCallRenderer(versionOf: (item: CallItem) => string): (conversation: Conversation, view: View) => string[] {
  const cache = new WeakMap<CallItem, { key: string; lines: string[] }>();
  return (conversation, view) => {
    const calls = [...conversation.calls.values()];
    if (calls.length === 0) return wrapStyled('No tool was called yet.', view, { style: 'dim' });
    return calls.flatMap((item) => {
      const key = `${view.columns} ${view.colour} ${versionOf(item)}`;
      const cached = cache.get(item);
      if (cached?.key === key) return cached.lines;
      const lines = renderCall(item, view);
      cache.set(item, { key, lines });
      return lines;
    });
  };
}

function renderCall(item: CallItem, view: View): string[] {
  const output = sanitizeText(outputWithoutDiff(item).trimEnd());
  const took = item.endedAt === null ? '' : formatDuration(Date.parse(item.endedAt) - Date.parse(item.at));
  const facts = [callStatusText(item), `turn ${item.call.split('.')[0]}`, took, describeSources(item.taint)];
  return [
    joinParts(
      [
        [`${callGlyph(item)} `, callStyle(item)],
        [sanitizeLine(item.tool), 'bold'],
        [`  ${facts.filter((each) => each !== '').join(' · ')}`, callStyle(item)],
      ],
      view,
    ),
    ...wrapStyled(argumentsToText(item.arguments), view, { indent: 4 }),
    ...(output === '' ? [] : [joinParts([['  result', 'dim']], view), ...wrapStyled(output, view, { indent: 4 })]),
    ...(item.truncated === null ? [] : wrapStyled('The model got a shortened result.', view, { indent: 2, style: 'dim' })),
    ...item.artifacts.flatMap(({ kind, title = '', value }) =>
      kind === 'diff'
        ? diffLines(title, value, { indent: 2, view })
        : [joinParts([[`  ${kind} `, 'dim'], [sanitizeLine(title || value)]], view)],
    ),
    '',
  ];
}
