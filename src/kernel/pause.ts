// Pausing a run: by order, or until a provider accepts calls again. A pause begins at the run's next step; its beginning and its end are facts.

import { isoToMs } from '../text/instant.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

/** Asks for a pause; it begins at the run's next step. `orders` are consumed with its fact. */
export function requestPause(
  run: Run,
  reason: string,
  { resumeAt = null, orders = [] }: { resumeAt?: string | null; orders?: string[] } = {},
): void {
  run.pauseRequest ??= { reason, resumeAt, orders: [] };
  const request = run.pauseRequest;
  for (const id of orders) if (!request.orders.includes(id)) request.orders.push(id);
  run.notify();
}

/** Ends a pause, or withdraws one that has not begun. Returns the orders of a withdrawn pause, which no fact will consume. */
export function resumeRun(run: Run, by: string, orders: string[] = []): string[] {
  const withdrawn = run.pauseRequest?.orders ?? [];
  run.pauseRequest = null;
  if (run.state.paused) void run.record([{ type: 'run.resumed', data: { by } }], { consumed: orders });
  run.notify();
  return withdrawn;
}

/** Waits, without a slot, while the run is paused. Returns at once if it is not, or if it was stopped. */
export async function waitWhilePaused(run: Run, { clock, deadlines }: Services): Promise<void> {
  if (run.signal.aborted) return;
  beginPause(run);
  const { paused } = run.state;
  if (!paused) return;
  run.slot.release();
  const due = paused.resumeAt === null ? null : clock.monotonic() + isoToMs(paused.resumeAt) - clock.now();
  const endTimer = due === null ? () => {} : deadlines.at(due, () => void resumeRun(run, 'the end of the pause'));
  while (run.state.paused && !run.signal.aborted) await run.waitForChange();
  endTimer();
}

function beginPause(run: Run): void {
  const { pauseRequest } = run;
  if (!pauseRequest) return;
  const { reason, resumeAt, orders } = pauseRequest;
  run.pauseRequest = null;
  if (!run.state.paused) void run.record([{ type: 'run.paused', data: { reason, resumeAt } }], { consumed: orders });
}
