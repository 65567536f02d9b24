// How a client ends: by itself, because it is gone, or in another process after that. Its children end or are paused, as its contract says.
import type { Outcome } from '../contract/outcome.ts';
import type { DialectSetup } from '../ports/dialect.ts';
import { pausedBy } from './execute.ts';
import { completed } from './fold.ts';
import { endingOf, type LiveRun, type StopCause } from './live.ts';
import { type RunGround, settleRun, suspendRun } from './run.ts';

export interface ClientEndGround {
  setup: DialectSetup;
  ground: RunGround;
}

const message = 'the client that delegated it went away';

/** Ends a client, or pauses it with what it delegated. Rejects where it was paused, or the journal is lost. */
export async function endClient(run: LiveRun, { gone }: { gone: boolean }, { setup, ground }: ClientEndGround): Promise<Outcome> {
  if (gone && !setup.endsWithClient && run.children.size > 0) run.stop({ code: 'paused', message });
  const below: { below?: StopCause } = gone ? { below: { code: 'client_gone', message } } : {};
  const ending = run.signal.aborted ? endingOf(run.signal.reason as StopCause) : completed;
  if (pausedBy(run) === null) await settleRun(run, ending, { ...ground, ...below });
  else await suspendRun(run, pausedBy(run) as string, ground);
  return run.ended;
}

/** A client of an earlier process, with nobody behind it: what its contract lets go on does so, and then it has ended. Never rejects. */
export async function endWithChildren(run: LiveRun, given: ClientEndGround): Promise<void> {
  if (given.setup.endsWithClient) for (const child of run.children) child.stop({ code: 'client_gone', message });
  await Promise.allSettled([...run.children].map((child) => child.ended));
  await endClient(run, { gone: false }, given).catch(() => {});
}
