// What the keys do and what the marks mean.
import { statusGlyph } from '../../views/format.ts';
import { approvalGlyph, problemGlyph } from '../../views/run-row.ts';
import { padToWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { joinParts, wrapStyled } from './line.ts';

type Section = [title: string, entries: [left: string, meaning: string][]];

const sections: Section[] = [
  [
    'Move',
    [
      ['↑ ↓  or  k j', 'previous, next run or line'],
      ['PgUp PgDn', 'a page up, down'],
      ['Home End  or  g G', 'first, last; at its end, an open run follows new text'],
      ['← →  or  Space', 'fold and unfold the runs below a run'],
      ['Enter', 'open a run'],
      ['Tab  or  1 2 3 4', 'in an open run: conversation, calls with changes, log, outcome'],
      ['n p', 'next, previous run with the same parent'],
      ['u d', 'up to the parent, down to the first child'],
      ['/', 'show only runs with a text in name, agent, task, status, tool or id'],
      ['e', 'show or hide trees that ended before'],
    ],
  ],
  [
    'Steer',
    [
      ['a  or  r', 'read the call that needs approval; then'],
      ['', 'a approve · A approve the same call always in this run'],
      ['', 'r refuse · R refuse with a reason · Esc answer later'],
      ['m', 'send a message, which the run reads before its next turn'],
      ['P', 'pause a run and the runs below it, or continue them'],
      ['c', 'cancel a run and the runs below it'],
      ['C', 'cancel the whole tree'],
    ],
  ],
  [
    'Leave',
    [
      ['Esc', 'close what is open'],
      ['q', 'back to the tree; there: leave the screen'],
      ['Ctrl-C', 'leave the screen at once'],
      ['Ctrl-Z', 'suspend the screen; `fg` shows it again'],
      ['Ctrl-L', 'draw the screen again'],
      ['', 'Runs of other processes continue when you leave. Runs that you continued here with P pause.'],
    ],
  ],
  [
    'Marks',
    [
      [statusGlyph.running, 'running'],
      [statusGlyph.waiting, 'waiting for the runs below it'],
      [approvalGlyph, 'a call needs your approval'],
      [statusGlyph.queued, 'queued'],
      [statusGlyph.paused, 'paused'],
      [statusGlyph.interrupted, 'interrupted: its process is gone'],
      [statusGlyph.completed, 'completed'],
      [problemGlyph, 'completed, but calls failed or were denied'],
      [statusGlyph.failed, 'failed or timed out'],
      [statusGlyph.cancelled, 'cancelled'],
      [statusGlyph.exhausted, 'stopped at a limit of turns, tokens or money'],
      ['', 'Tokens and cost of a run include those of all runs below it.'],
    ],
  ],
];

const leftWidth = 20;

export function helpLines(view: View): string[] {
  return sections.flatMap(([title, entries]) => [
    joinParts([[title, 'bold']], view),
    ...entries.flatMap(([left, meaning]) => {
      const [first = '', ...more] = wrapStyled(meaning, { ...view, columns: Math.max(10, view.columns - leftWidth) });
      return [
        joinParts([[padToWidth(`  ${left}`, leftWidth), 'cyan'], [first]], view),
        ...more.map((line) => joinParts([[' '.repeat(leftWidth)], [line]], view)),
      ];
    }),
    '',
  ]);
}
