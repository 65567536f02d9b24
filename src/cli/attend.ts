import type { Api, RunHandle } from '../api/api.ts';
import { isRetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import { createAsker } from './asker.ts';
import { clean, cleanJson, cleanLine } from './clean.ts';
import { ended } from './describe.ts';
import { exitCodes } from './errors.ts';
import { paint, shortId, statusStyle } from './format.ts';
import type { Io, Stop } from './io.ts';
import { outcomeJson, printJson } from './json.ts';
import { type Progress, progressFor } from './progress.ts';

export interface Manner {
  json: boolean;
  stream: boolean;
  plain: boolean;
  /** A request to leave cancels the tree too: for a run that nobody would go on with. */
  endsWithProcess?: boolean;
}

/**
 * Starts a run, shows it until it has ended, prints its outcome and gives the exit code; null where `start` started none.
 * Ctrl-C cancels the tree; a request to leave pauses it for another process, unless it ends with this one. A second one leaves at once.
 */
export async function attend(io: Io, api: Api, manner: Manner & { start(): Promise<RunHandle | null> }): Promise<number | null> {
  const progress = progressFor(io, manner);
  let handle: RunHandle | null = null;
  let stopped: Stop | null = null;
  let endWait = () => {};
  const stop = (why: Stop) => {
    endWait();
    if (why === 'terminate') endWait = leaveInTime(io);
    if (why !== 'terminate' || manner.endsWithProcess) return handle && cancel(handle, why, progress);
    void api.drain(leavingText).catch(() => {});
  };
  const release = io.onInterrupt((why) => {
    if (stopped !== null && why !== 'closed') io.exitNow(leftBy(why));
    if (stopped === null && why === 'interrupt') progress.note('retinue: cancelling; Ctrl-C again leaves at once\n');
    const first = stopped === null;
    stopped ??= why;
    if (first) stop(why);
  });
  const asker = createAsker(io, api, progress);
  const unwatch = api.watch(both(progress.event, asker.event));
  let outcome: Outcome | null = null;
  try {
    handle = await manner.start();
    if (handle === null) return null;
    if (stopped !== null) stop(stopped);
    outcome = await unlessPaused(handle.outcome);
  } finally {
    endWait();
    unwatch();
    asker.end();
    // Somebody who wants to leave can still say so once more, to the very end.
    if (stopped === null) release();
    progress.end(outcome);
  }
  if (outcome === null) {
    io.err(`retinue: run ${shortId((handle as RunHandle).id)} is paused; \`retinue resume\` goes on with it\n`);
    return leftBy('terminate');
  }
  print(io, outcome, manner);
  return codeFor(outcome, stopped);
}

export function both<T>(first: (value: T) => void, second: (value: T) => void): (value: T) => void {
  return (value) => {
    first(value);
    second(value);
  };
}

function codeFor({ status }: Outcome, stopped: Stop | null): number {
  if (stopped === 'interrupt' || (stopped === 'terminate' && status === 'cancelled')) return leftBy(stopped);
  return exitCodes[status];
}

export const leavingText = 'the process that drove it was told to leave';
/** As long as a process may take to leave. */
const leaveMs = 10_000;

/** What is not done by then is left as it is: its facts are there. */
export function leaveInTime(io: Io): () => void {
  return io.every(leaveMs, () => io.exitNow(leftBy('terminate')));
}

/** As shells tell of a process that a signal ended. */
export function leftBy(why: Stop): number {
  return why === 'terminate' ? 143 : 130;
}

/** The outcome; null where the run was paused instead. */
export async function unlessPaused(outcome: Promise<Outcome>): Promise<Outcome | null> {
  try {
    return await outcome;
  } catch (error) {
    if (isRetinueError(error) && error.code === 'paused') return null;
    throw error;
  }
}

const cancelTexts: Record<Stop, string> = { interrupt: 'interrupted', terminate: leavingText, closed: 'output closed' };

function cancel(handle: RunHandle, why: Stop, progress: Progress): void {
  handle.cancel(cancelTexts[why]).catch((error: unknown) => {
    progress.note(`retinue: could not cancel: ${cleanLine(String((error as Error)?.message ?? error))}\n`);
  });
}

function print(io: Io, outcome: Outcome, { json, stream }: Manner): void {
  if (json) printJson(io, outcomeJson(outcome));
  else if (!stream) io.out(resultText(outcome));
  const line = `${cleanLine(ended(outcome))} · run ${shortId(outcome.runId)}`;
  io.err(`${paint(io.colour.err, statusStyle[outcome.status], line)} · retinue show ${shortId(outcome.runId)}\n`);
}

/** What a person wants to read, or a pipe to get: the data where a form was asked for, else the summary. */
export function resultText(outcome: Outcome): string {
  if (outcome.data !== undefined) return `${cleanJson(outcome.data, 2)}\n`;
  const text = clean(outcome.summary);
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
