// Starts a run, shows its progress, asks its questions and prints its outcome: the common part of `run`, `fork`, `message` and others.
import type { Api, RemoteServer, RunHandle } from '../../api/api.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine, sanitizeText, stringifySafely } from '../../text/terminal.ts';
import { describeOutcome } from '../../views/describe-fact.ts';
import { describeDeadline, shortId } from '../../views/format.ts';
import { outcomeToJson } from '../../views/json.ts';
import { paint, statusStyle } from '../../views/style.ts';
import type { TreeCount } from '../../views/tree-counter.ts';
import type { OutputMode } from '../args/settings-flags.ts';
import { exitCodes } from '../errors.ts';
import type { Io, Stop } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { createProgress } from '../progress/progress.ts';
import { createQuestionPrompt } from './question-prompt.ts';
import { reportConnection } from './server.ts';
import { cancelRun, handleStops, outcomeUnlessPaused, pauseForExit, stopExitCode } from './stop-signals.ts';

export interface RunToEndOptions extends OutputMode {
  /** Null if there is no run to wait for. */
  start(): Promise<RunHandle | null>;
  /** SIGTERM cancels the run instead of pausing it: the caller expects an outcome and would not resume it. */
  endsWithProcess?: boolean;
  /** Ctrl-C pauses the tree too, and says how it is continued. */
  pausesOnInterrupt?: boolean;
  /** The caller prints the result. */
  isQuiet?: boolean;
}

/** The exit code; null if `start` gave no run. Ctrl-C cancels the tree, SIGTERM pauses it for another process. */
export async function runToEnd(io: Io, api: Api, options: RunToEndOptions): Promise<number | null> {
  const progress = createProgress(io, options);
  let handle: RunHandle | null = null;
  const stop = (why: Stop) => {
    if ((why === 'terminate' && !options.endsWithProcess) || options.pausesOnInterrupt) pauseForExit(api);
    else if (handle) cancelRun(handle, why, progress);
  };
  const stops = handleStops(io, progress, stop, options.pausesOnInterrupt ? 'pausing' : 'cancelling');
  const unwatch = api.watch(progress.handleEvent);
  const questions = createQuestionPrompt(io, api, progress);
  const endReports = reportConnection(api.server, progress.print);
  let outcome: Outcome | null = null;
  try {
    handle = await options.start();
    if (handle === null) return null;
    const requested = stops.requested();
    if (requested !== null) stop(requested);
    outcome = await outcomeUnlessPaused(handle.outcome);
  } finally {
    unwatch();
    endReports();
    questions.close();
    stops.end();
    progress.end(outcome);
  }
  if (outcome === null) {
    io.err(`retinue: ${leftMessage(api, handle.id, progress.deadline(handle.id), io.now())}\n`);
    return stopExitCode(stops.requested() ?? 'terminate');
  }
  if (options.isQuiet) return exitCodes[outcome.status];
  printOutcome(io, outcome, { ...options, server: api.server, count: progress.count(outcome.runId) });
  return exitCodeFor(outcome, stops.requested());
}

/** For a run that this process leaves to another one, or to its server. */
export function leftMessage({ server }: Pick<Api, 'server'>, runId: string, deadline: string | null, now: number): string {
  if (server)
    return `run ${shortId(runId)} continues on the server; \`retinue wait ${shortId(runId)} --server ${server.url}\` shows it again`;
  const limit = deadline === null ? '' : `; ${describeDeadline(deadline, now)}`;
  return `run ${shortId(runId)} is paused with its children; continue it with \`retinue resume ${shortId(runId)}\`${limit}`;
}

function exitCodeFor({ status }: Outcome, requested: Stop | null): number {
  if (requested === 'interrupt' || (requested === 'terminate' && status === 'cancelled')) return stopExitCode(requested);
  return exitCodes[status];
}

interface PrintOptions extends OutputMode {
  count: TreeCount;
  server: RemoteServer | undefined;
}

function printOutcome(io: Io, outcome: Outcome, { json, stream, count, server }: PrintOptions): void {
  if (json) printJson(io, outcomeToJson(outcome));
  else if (!stream) io.out(outcomeToText(outcome));
  const line = `${sanitizeLine(describeOutcome(outcome, count))} · run ${shortId(outcome.runId)}`;
  const details = `retinue show ${shortId(outcome.runId)}${server === undefined ? '' : ` --server ${server.url}`}`;
  io.err(`${paint(io.colour.err, statusStyle[outcome.status], line)} · details: ${details}\n`);
}

/** The data if the brief had an output schema, otherwise the summary. */
export function outcomeToText(outcome: Outcome): string {
  if (outcome.data !== undefined) return `${stringifySafely(outcome.data, 2)}\n`;
  const text = sanitizeText(outcome.summary);
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
