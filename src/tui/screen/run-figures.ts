// What is known of one run in a few words: state, agent, model, turns, time, tokens, cost, problems.
import type { LiveRun } from '../../contract/view.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import {
  formatCost,
  formatCount,
  formatDuration,
  formatInstant,
  formatPlural,
  formatStatus,
  type ShownStatus,
} from '../../views/format.ts';
import type { LiveState } from '../../views/live-state.ts';
import { elapsedTime, formatTurn, problemsText, queuePosition } from '../../views/run-row.ts';

/** `7s/30m`, or `7s` after the end and without a limit. */
export function timeText(run: LiveRun, now: number): string {
  const elapsed = elapsedTime(run, now);
  const limit = limitText(run);
  return limit === '' ? elapsed : `${elapsed}/${limit}`;
}

/** The time limit of a run that is not over, without zeros: `30m`. */
export function limitText({ deadline, startedAt, endedAt }: LiveRun): string {
  if (deadline === null || startedAt === null || endedAt !== null) return '';
  return formatDuration(Math.ceil((deadline - startedAt) / 1000) * 1000).replace(/(?<=[hm])00[ms]$|(?<=d)00h$/, '');
}

/** Where text comes from that it has read. */
const sources: Record<string, string> = {
  web: 'text from the web',
  mcp: 'text from MCP servers',
  'untrusted-file': 'text from files',
  child: 'text from a child',
  memory: 'text from memories',
};

export function describeSources(taint: string[]): string {
  return taint
    .toSorted()
    .map((source) => sources[source] ?? sanitizeLine(source))
    .join(', ');
}

interface FiguresOptions {
  /** Left out where it is shown otherwise. */
  status?: ShownStatus;
  now: number;
  /** Shown below the activity, which has the problems and sources. */
  isBelowActivity?: boolean;
}

export function describeFigures(run: LiveRun, state: LiveState, { status, now, isBelowActivity = false }: FiguresOptions): string {
  const queue = queuePosition(run, state);
  const ownText = status === undefined ? '' : status === 'waiting' && run.questions > 0 ? waitingText(run) : formatStatus(status);
  const statusText = status === undefined || queue === null ? ownText : `queued, ${queue.position} of ${queue.of}`;
  const time = elapsedTime(run, now);
  const limit = limitText(run);
  return [
    statusText,
    sanitizeLine(run.agent ?? run.kind),
    sanitizeLine(run.model ?? ''),
    run.kind !== 'agent' || run.turn === 0 ? '' : `turn ${formatTurn(run)}`,
    limit === '' ? time : `${time} of ${limit}`,
    run.endedAt === null ? '' : `ended ${formatInstant(new Date(run.endedAt).toISOString(), now)}`,
    run.tokens > 0 ? `${formatCount(run.tokens)} tokens` : '',
    formatCost(run.costUsd),
    run.children.length === 0 ? '' : formatChildren(run, state),
    ...(isBelowActivity ? [] : [problemsText(run), describeSources(run.taint)]),
  ]
    .filter((each) => each !== '')
    .join(' · ');
}

function waitingText({ kind }: LiveRun): string {
  return kind === 'flow' ? 'waits for an answer' : 'needs approval';
}

/** Tokens and cost of a run include those of the runs below it. */
function formatChildren(run: LiveRun, state: LiveState): string {
  const count = (each: LiveRun): number => each.children.reduce((sum, id) => sum + 1 + count(state.runs.get(id) as LiveRun), 0);
  return `with ${formatPlural(count(run), 'run')} below`;
}
