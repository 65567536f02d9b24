// The list of keys.
import type { View } from './deps.ts';
import { joinParts, wrapStyled } from './line.ts';

const keys: [title: string, [keys: string, meaning: string][]][] = [
  [
    'Move',
    [
      ['↑ ↓ or k j', 'previous, next run or line'],
      ['PgUp PgDn', 'a page up, down'],
      ['Home End or g G', 'first, last run or line; End follows new text'],
      ['← → or Space', 'fold, unfold'],
      ['Enter', 'open the run'],
      ['n p', 'next, previous run with the same parent'],
      ['u', 'the parent'],
      ['Tab or 1 2 3 4', 'conversation, calls with diffs, log, outcome of an open run'],
      ['/', 'show only runs that contain a text (name, agent, task, status, id)'],
      ['e', 'show or hide trees that ended earlier'],
    ],
  ],
  [
    'Steer',
    [
      ['a', 'read the call that waits for approval; then a: approve, A: always in this run, r: refuse, R: refuse with a reason'],
      ['r', 'the same, to refuse'],
      ['m', 'send a message to the run'],
      ['P', 'pause the run and its children, or continue them'],
      ['c', 'cancel the run and its children'],
      ['C', 'cancel the whole tree'],
    ],
  ],
  [
    'Leave',
    [
      ['Esc or q', 'back, or leave the screen'],
      ['Ctrl-C', 'leave the screen; runs of other processes go on'],
      ['Ctrl-Z', 'suspend the screen; `fg` continues it'],
    ],
  ],
];

export function helpLines(view: View): string[] {
  const left = 18;
  return keys.flatMap(([title, list]) => [
    joinParts([[title, 'bold']], view),
    ...list.flatMap(([names, meaning]) => {
      const [first = '', ...more] = wrapStyled(meaning, { ...view, columns: Math.max(10, view.columns - left) });
      return [
        joinParts([[`  ${names.padEnd(left - 2)}`, 'cyan'], [first]], view),
        ...more.map((line) => joinParts([[' '.repeat(left)], [line]], view)),
      ];
    }),
    '',
  ]);
}
