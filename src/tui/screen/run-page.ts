// The page of one run: who it is, and one of four tabs.
import type { LiveRun } from '../../contract/view.ts';
import { type ShownStatus, shortId } from '../../views/format.ts';
import type { LiveState } from '../../views/live-state.ts';
import { displayName, runGlyph, runStyle } from '../../views/run-row.ts';
import { createCallRenderer } from './call-lines.ts';
import { callVersion, createConversationRenderer } from './conversation-lines.ts';
import type { View } from './deps.ts';
import { joinParts, type Part, wrapStyled } from './line.ts';
import { outcomeLines } from './outcome-lines.ts';
import { describeFigures } from './run-figures.ts';
import type { OpenRun } from './run-source.ts';

export const tabs = ['conversation', 'calls', 'log', 'outcome'] as const;
export type Tab = (typeof tabs)[number];

export function renderRunHead(
  run: LiveRun,
  state: LiveState,
  { status, tab, isTall, view }: { status: ShownStatus; tab: Tab; isTall: boolean; view: View },
): string[] {
  const path: string[] = [];
  for (let at: LiveRun | undefined = run; at; at = at.parentId === null ? undefined : state.runs.get(at.parentId))
    path.unshift(displayName(at));
  const ancestors = path.slice(0, -1).map((name) => `${name} › `);
  const figures = describeFigures(run, state, { status, now: view.now });
  const shown: Part[] = tabs.flatMap((name, i): Part[] => [
    [name === tab ? `[${i + 1} ${name}]` : ` ${i + 1} ${name} `, name === tab ? 'bold' : 'dim'],
    [' '],
  ]);
  return [
    joinParts(
      [
        [`${runGlyph(run, status)} `, runStyle(run, status)],
        [fitAncestors(ancestors, displayName(run), view.columns), 'dim'],
        [displayName(run), 'bold'],
        [`  ${shortId(run.id)}`, 'dim'],
      ],
      view,
    ),
    ...(isTall ? wrapStyled(figures, view, { indent: 2, style: 'dim' }) : [joinParts([[`  ${figures}`, 'dim']], view)]),
    joinParts(shown, view),
  ];
}

/** Names of ancestors, the nearest ones if not all fit beside the run's own name. */
function fitAncestors(ancestors: string[], own: string, columns: number): string {
  const room = columns - 12 - Math.min(own.length, 40);
  let text = '';
  for (const name of ancestors.toReversed()) {
    if (text.length + name.length > room) return text === '' ? '' : `… › ${text}`;
    text = name + text;
  }
  return text;
}

/** The lines of a tab, before scrolling. */
export function createRunBody(open: OpenRun): (tab: Tab, run: LiveRun | undefined, view: View) => string[] {
  const conversation = createConversationRenderer();
  const calls = createCallRenderer(callVersion);
  const cache = new Map<Tab, { key: string; lines: string[] }>();
  return (tab, run, view) => {
    if (open.state === 'loading') return wrapStyled('Loading…', view, { style: 'dim' });
    if (typeof open.state === 'object' && open.log.length === 0) return wrapStyled(open.state.error, view, { style: 'red' });
    // Only an open model request and a time limit change with the time alone.
    const isTimed = (tab === 'conversation' && open.conversation.askedAt !== null) || tab === 'outcome';
    const key = `${open.version} ${view.columns} ${view.colour} ${isTimed ? Math.floor(view.now / 1000) : ''}`;
    const cached = cache.get(tab);
    if (cached?.key === key) return cached.lines;
    const lines = renderTab();
    cache.set(tab, { key, lines });
    return lines;

    function renderTab(): string[] {
      if (tab === 'conversation') return conversation(open.conversation, view);
      if (tab === 'calls') return calls(open.conversation, view);
      if (tab === 'log') return logLines(open, view);
      const end = open.conversation.items.findLast((item) => item.kind === 'end');
      return outcomeLines(end?.kind === 'end' ? end.outcome : null, run, view);
    }
  };
}

function logLines({ log }: OpenRun, view: View): string[] {
  return log.flatMap(({ seq, at, type, text }) => {
    const head = `${String(seq).padStart(4)} ${at.slice(11, 19)} ${type.padEnd(18)} `;
    const [first = '', ...more] = wrapStyled(text, { ...view, columns: Math.max(20, view.columns - head.length) });
    return [joinParts([[head, 'dim'], [first]], view), ...more.map((line) => joinParts([[' '.repeat(head.length)], [line]], view))];
  });
}
