// What one row of a tree of runs says, for the live display of `run`, the terminal screen and the dashboard. Pure: no clock, no terminal.
import { isLive } from '../contract/run-status.ts';
import type { LiveRun } from '../contract/view.ts';
import { trustWord, verifiedWord } from '../text/verified.ts';
import { formatDuration, formatStatus, type ShownStatus, shortId, statusGlyph } from './format.ts';
import type { LiveState } from './live-state.ts';
import { type Style, statusStyle } from './style.ts';
import { describeProblems, type TreeCount } from './tree-counter.ts';

/** Whole seconds while it runs, so that the text does not change at every repaint. */
export function elapsedTime(run: LiveRun, now: number): string {
  if (run.startedAt === null) return '';
  if (run.endedAt !== null) return formatDuration(run.endedAt - run.startedAt);
  const seconds = Math.floor(Math.max(0, now - run.startedAt) / 1000);
  return seconds === 0 ? '0s' : formatDuration(seconds * 1000);
}

/** `3/40`; empty for a client or a flow, which have no turns. */
export function formatTurn({ turn, maxTurns, kind }: LiveRun): string {
  if (kind !== 'agent') return '';
  return maxTurns === null ? (turn === 0 ? '' : String(turn)) : `${turn}/${maxTurns}`;
}

/** Less than a tenth of its time is left. */
export function isLate({ startedAt, endedAt, deadline }: LiveRun, now: number): boolean {
  return startedAt !== null && endedAt === null && deadline !== null && now > deadline - (deadline - startedAt) / 10;
}

/** `howToContinue`: what the reader does to continue a paused run. */
export function describeActivity(run: LiveRun, state: LiveState, howToContinue: string): string {
  if (!isLive(run.status)) {
    const status = [endText(run), problemsText(run)].filter((part) => part !== '').join(', ');
    return run.activity === '' ? status : `${status}: ${run.activity}`;
  }
  if (run.activity === 'cancelling') return run.activity;
  if (run.status === 'paused') return describePause(run, howToContinue);
  if (isHeldByChildren(run, state)) return `its children are paused; ${howToContinue}`;
  const first = run.tools[0]?.text;
  if (first !== undefined && run.questions === 0) {
    const open = countOpenChildren(run, state);
    const more = run.tools.length > 1 ? ` (+${run.tools.length - 1})` : '';
    return open > 0 ? `${first}${more}, ${open === 1 ? '1 child' : `${open} children`} open` : first + more;
  }
  if (run.activity !== '') return run.activity;
  const queue = queuePosition(run, state);
  if (queue !== null) return `queued, ${queue.position} of ${queue.of}`;
  return run.status === 'running' && run.kind !== 'flow' ? 'thinking' : run.status;
}

/** What the user types to continue a run from a shell. */
export function resumeCommandHint(run: LiveRun): string {
  return `continue with retinue resume ${shortId(run.id)}`;
}

function describePause({ activity, resumesItself }: LiveRun, howToContinue: string): string {
  const reason = activity === '' ? 'paused' : `paused: ${activity}`;
  return resumesItself ? reason : `${reason}; ${howToContinue}`;
}

/** It waits for children, and every open one is paused. */
function isHeldByChildren(run: LiveRun, state: LiveState): boolean {
  const open = run.children.map((id) => state.runs.get(id) as LiveRun).filter(({ status }) => isLive(status));
  return run.status === 'running' && run.tools.length > 0 && open.length > 0 && open.every(({ status }) => status === 'paused');
}

export function displayStatus(run: LiveRun, state: LiveState): LiveRun['status'] {
  if (isHeldByChildren(run, state)) return 'paused';
  return run.status === 'running' && run.tools.length > 0 && countOpenChildren(run, state) > 0 ? 'waiting' : run.status;
}

/** A run that needs an approval, and a completed run with calls that did not work, differ from others also without colours. */
export function runGlyph(run: LiveRun, status: ShownStatus = run.status): string {
  if (needsApproval(run, status)) return approvalGlyph;
  return hasProblems(run) && status === 'completed' ? problemGlyph : statusGlyph[status];
}

export const approvalGlyph = '◆';
export const problemGlyph = '▲';

export function runStyle(run: LiveRun, status: ShownStatus = run.status): Style {
  return needsApproval(run, status) || (hasProblems(run) && status === 'completed') ? 'yellow' : statusStyle[status];
}

function needsApproval({ questions }: LiveRun, status: ShownStatus): boolean {
  return questions > 0 && status === 'waiting';
}

/** Null if a price is unknown. What has used no tokens has cost nothing. */
export function knownCost({ costUsd, tokens }: LiveRun): number | null {
  return costUsd ?? (tokens === 0 ? 0 : null);
}

/** `completed, verified`: how it ended, and what its acceptance checks say. */
export function endText({ status, verified = null }: LiveRun): string {
  const word = verifiedWord({ verified });
  return word === null ? formatStatus(status) : `${formatStatus(status)}, ${word}`;
}

/** Whether the success of an ended run was checked or is only claimed. Null where nothing is claimed or known. */
export function runTrust({ kind, agent, status, verified }: LiveRun): ReturnType<typeof trustWord> {
  if (verified === undefined) return null;
  return trustWord({ verified, success: status === 'completed', agent: kind === 'agent' ? agent : null });
}

/** What went wrong: calls of an agent, steps of a flow. */
export function problemsText({ kind, problems }: LiveRun): string {
  return describeProblems(problems, kind === 'flow' ? 'step' : 'call');
}

export function hasProblems({ problems: { failed, denied } }: LiveRun): boolean {
  return failed + denied > 0;
}

function countOpenChildren(run: LiveRun, state: LiveState): number {
  return run.children.filter((id) => isLive((state.runs.get(id) as LiveRun).status)).length;
}

/** Turns and runs of a run and its descendants. */
export function countTree(run: LiveRun, state: LiveState): TreeCount {
  const below = run.children.map((id) => countTree(state.runs.get(id) as LiveRun, state));
  return { runs: 1 + below.reduce((sum, each) => sum + each.runs, 0), turns: run.turn + below.reduce((sum, each) => sum + each.turns, 0) };
}

/** Live runs below a run, in the order of the tree. */
export function liveDescendants(run: LiveRun, state: LiveState): LiveRun[] {
  return run.children.flatMap((id) => {
    const child = state.runs.get(id) as LiveRun;
    return [...(isLive(child.status) ? [child] : []), ...liveDescendants(child, state)];
  });
}

/** The place of a queued run among the queued runs of its parent, from 1; null if it is not queued or has no parent. */
export function queuePosition(run: LiveRun, state: LiveState): { position: number; of: number } | null {
  const parent = run.parentId === null ? undefined : state.runs.get(run.parentId);
  if (run.status !== 'queued' || !parent) return null;
  const queued = parent.children.filter((id) => state.runs.get(id)?.status === 'queued');
  return { position: queued.indexOf(run.id) + 1, of: queued.length };
}

/** The label, or the first line of the task of a run without one. */
export function displayName(run: LiveRun): string {
  return run.task !== '' && (run.name === run.agent || run.name === run.kind) ? run.task : run.name;
}
