// The tool calls of a run in full: arguments, results and diffs.
import { formatArguments } from '../../text/invisible.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import type { CallItem, Conversation } from '../../views/conversation.ts';
import { formatDuration, formatPlural } from '../../views/format.ts';
import type { Style } from '../../views/style.ts';
import { wrapText } from '../../views/wrap.ts';
import type { View } from './deps.ts';
import { joinParts, wrapStyled } from './line.ts';

const statusTexts: Record<CallItem['status'], string> = {
  open: 'running',
  waiting: 'waits for approval (press a)',
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
  waiting: '◐',
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
  const took = item.endedAt === null ? '' : formatDuration(Date.parse(item.endedAt) - Date.parse(item.at));
  const taint = item.taint.length === 0 ? '' : `taint ${item.taint.join(', ')}`;
  const facts = [callStatusText(item), took, taint].filter((each) => each !== '').join(' · ');
  return [
    joinParts(
      [
        [`${callGlyph(item)} `, callStyle(item)],
        [`${item.call} ${sanitizeLine(item.tool)}`, 'bold'],
        [`  ${facts}`, callStyle(item)],
      ],
      view,
    ),
    ...wrapStyled(formatArguments(item.arguments), view, { indent: 4 }),
    ...(item.output === ''
      ? []
      : [joinParts([['  result', 'dim']], view), ...wrapStyled(sanitizeText(item.output.trimEnd()), view, { indent: 4 })]),
    ...(item.truncated === null ? [] : wrapStyled('The model got a shortened result.', view, { indent: 2, style: 'dim' })),
    ...item.artifacts.flatMap(({ kind, title = '', value }) =>
      kind === 'diff' ? diffLines(title, value, view) : [joinParts([[`  ${kind} `, 'dim'], [sanitizeLine(title || value)]], view)],
    ),
    '',
  ];
}

/** Added lines in green, removed ones in red. */
function diffLines(title: string, diff: string, view: View): string[] {
  const lines = sanitizeText(diff.trimEnd()).split('\n');
  const style = (line: string): Style | null =>
    line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : line.startsWith('@') ? 'cyan' : null;
  return [
    joinParts(
      [
        [`  changes ${sanitizeLine(title)}`, 'bold'],
        [`  ${formatPlural(lines.length, 'line')}`, 'dim'],
      ],
      view,
    ),
    ...lines.flatMap((line) =>
      wrapText(line, Math.max(1, view.columns - 4)).map((piece) => joinParts([['    '], [piece, style(line)]], view)),
    ),
  ];
}
