import type { Api, Handle } from '../api/api.ts';
import type { Outcome } from '../contract/outcome.ts';
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
}

/**
 * Starts a run, shows it until it has ended, prints its outcome and gives the exit code; null where `start` started none.
 * Ctrl-C cancels the tree; a second one leaves at once.
 */
export async function attend(io: Io, api: Api, manner: Manner & { start(): Promise<Handle | null> }): Promise<number | null> {
  const progress = progressFor(io, manner);
  let handle: Handle | null = null;
  let stopped: Stop | null = null;
  const release = io.onInterrupt((why) => {
    if (stopped !== null && why === 'interrupt') io.exitNow(130);
    if (stopped === null && why === 'interrupt') progress.note('retinue: cancelling; Ctrl-C again leaves at once\n');
    const first = stopped === null;
    stopped ??= why;
    if (first && handle) cancel(handle, why, progress);
  });
  const unwatch = api.watch(progress.event);
  let outcome: Outcome | null = null;
  try {
    handle = await manner.start();
    if (handle === null) return null;
    if (stopped !== null) cancel(handle, stopped, progress);
    outcome = await handle.outcome;
  } finally {
    unwatch();
    release();
    progress.end(outcome);
  }
  print(io, outcome, manner);
  return stopped === 'interrupt' ? 130 : exitCodes[outcome.status];
}

function cancel(handle: Handle, why: Stop, progress: Progress): void {
  handle.cancel(why === 'interrupt' ? 'interrupted' : 'output closed').catch((error: unknown) => {
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
