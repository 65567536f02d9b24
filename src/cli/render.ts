// Lines for a terminal from the state of a tree. Pure: the same state, size and time give the same lines.
import { isLive } from '../contract/run.ts';
import { cost, count, duration, glyph, paint, plural, type Style, statusStyle, statusWords } from './format.ts';
import type { LiveRun, LiveState } from './live-state.ts';
import { cut, pad, width } from './width.ts';

export interface View {
  columns: number;
  /** At most so many lines. */
  rows: number;
  now: number;
  colour: boolean;
}

const nameMax = 32;

export function render(state: LiveState, view: View): string[] {
  const all = inOrder(state);
  const shown = all.length <= view.rows ? all : chosen(all, Math.max(1, view.rows - 1));
  const left = Math.min(nameMax, Math.max(0, ...shown.map((run) => 2 * run.depth + 2 + width(run.name))));
  const lines = shown.map((run) => line(run, state, { ...view, left }));
  if (shown.length < all.length) lines.push(paint(view.colour, 'dim', cut(`… ${all.length - shown.length} more`, view.columns)));
  return lines;
}

/** Parents before their children, children in the order of their creation. */
function inOrder(state: LiveState): LiveRun[] {
  const runs: LiveRun[] = [];
  const open = state.roots.toReversed();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const run = state.runs.get(id) as LiveRun;
    runs.push(run);
    for (let i = run.children.length - 1; i >= 0; i--) open.push(run.children[i] as string);
  }
  return runs;
}

/** Where not all fit, roots stay, then what runs, then what waits for a slot, then what has ended. */
function chosen(all: LiveRun[], rows: number): LiveRun[] {
  const rank = (run: LiveRun) => (run.depth === 0 ? 0 : !isLive(run.status) ? 3 : run.status === 'queued' ? 2 : 1);
  const kept = new Set(all.toSorted((a, b) => rank(a) - rank(b)).slice(0, rows));
  return all.filter((run) => kept.has(run));
}

function line(run: LiveRun, state: LiveState, view: View & { left: number }): string {
  const name = `${'  '.repeat(run.depth)}${glyph[shownStatus(run, state)]} ${run.name}`;
  const facts = [
    run.turn > 0 ? `turn ${run.turn}` : '',
    elapsed(run, view.now),
    run.tokens > 0 ? `${count(run.tokens)} tokens` : '',
    cost(run.costUsd),
    [...run.taint].sort().join(', '),
  ].filter((part) => part !== '');
  const head = pad(cut(name, view.left), view.left);
  const tail = facts.join(' · ');
  const room = view.columns - width(head) - 2 - (tail === '' ? 0 : width(tail) + 2);
  const middle = room < 6 ? '' : cut(activity(run, state), room);
  // Where the terminal is narrow, what the run is at goes first, then the end of the line.
  const parts: [string, Style | null][] = [
    [head, statusStyle[run.status]],
    [middle === '' ? '' : `  ${middle}`, null],
    [tail === '' ? '' : `  ${tail}`, 'dim'],
  ];
  let left = view.columns;
  return parts
    .map(([text, style]) => {
      const kept = cut(text, left);
      left -= width(kept);
      return paint(view.colour, style, kept);
    })
    .join('');
}

/** Whole seconds while it runs, so that a line does not change at every repaint. */
function elapsed(run: LiveRun, now: number): string {
  if (run.startedAt === null) return '';
  if (run.endedAt !== null) return duration(run.endedAt - run.startedAt);
  const seconds = Math.floor(Math.max(0, now - run.startedAt) / 1000);
  return seconds === 0 ? '0s' : duration(seconds * 1000);
}

function activity(run: LiveRun, state: LiveState): string {
  if (!isLive(run.status)) return run.doing === '' ? statusWords(run.status) : `${statusWords(run.status)}: ${run.doing}`;
  if (run.doing === 'cancelling') return run.doing;
  const [first] = run.tools.values();
  if (first !== undefined) {
    const open = openChildren(run, state);
    const more = run.tools.size > 1 ? ` (+${run.tools.size - 1})` : '';
    return open > 0 ? `${first}${more}, ${open === 1 ? '1 child' : `${open} children`} open` : first + more;
  }
  if (run.doing !== '') return run.doing;
  return run.status === 'running' ? 'thinking' : run.status;
}

function shownStatus(run: LiveRun, state: LiveState): LiveRun['status'] {
  return run.status === 'running' && run.tools.size > 0 && openChildren(run, state) > 0 ? 'waiting' : run.status;
}

function openChildren(run: LiveRun, state: LiveState): number {
  return run.children.filter((id) => isLive((state.runs.get(id) as LiveRun).status)).length;
}

/** `3 turns · 1.2k tokens · $0.02 · 12s`: what an outcome took, for people. */
export function took(outcome: {
  turns: number;
  tokens: { input: number; output: number };
  costUsd: number | null;
  durationMs: number;
}): string {
  const tokens = outcome.tokens.input + outcome.tokens.output;
  return [plural(outcome.turns, 'turn'), `${count(tokens)} tokens`, cost(outcome.costUsd), duration(outcome.durationMs)]
    .filter((part) => part !== '')
    .join(' · ');
}
