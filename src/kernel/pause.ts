// Pausing a run: by order, or until a provider accepts calls again. A pause begins at the run's next step; its beginning and its end are facts.

import type { Draft } from '../contract/fact.ts';
import type { BudgetRefusal } from '../ports/budgets.ts';
import { isoToMs, msToIso } from '../text/instant.ts';
import { findOpenEffects } from './flow/state.ts';
import type { PendingPause, Run } from './run.ts';
import type { Services } from './services.ts';
import { currentCalls } from './state/state.ts';

/** Asks for a pause; it begins at the run's next step. `orders` are consumed with its fact. */
export function requestPause(
  run: Run,
  reason: string,
  { resumeAt = null, orders = [], budget }: { resumeAt?: string | null; orders?: string[]; budget?: string } = {},
): void {
  run.pauseRequest ??= { reason, resumeAt, ...(budget !== undefined && { budget }), orders: [] };
  const request = run.pauseRequest;
  for (const id of orders) if (!request.orders.includes(id)) request.orders.push(id);
  run.notify();
}

/** Ends a pause, or withdraws one that has not begun. Returns the orders of a withdrawn pause, which no fact will consume. */
export function resumeRun(run: Run, by: string, orders: string[] = []): string[] {
  const withdrawn = run.pauseRequest?.orders ?? [];
  run.pauseRequest = null;
  const { paused } = run.state;
  if (paused) void run.record([{ type: 'run.resumed', data: { by } }], { consumed: orders });
  run.continueDeadline();
  run.notify();
  if (paused?.budget !== undefined) resumeRunsOfBudget(run, paused.budget, by);
  return withdrawn;
}

/**
 * Pauses a run until its budget has a new period. The runs above it wait for it, so they are paused too, and their time stops. Without a period they wait
 * until a user resumes one of them.
 */
export function pauseForBudget(run: Run, { budget, resetMs }: BudgetRefusal, { clock }: Services): void {
  // A duration added to this process's clock: the clock of the store may differ.
  const resumeAt = resetMs === null ? null : msToIso(clock.now() + resetMs);
  const advice = `raise it with \`retinue budget set ${budget}\`, then resume the run`;
  const reason = `the budget ${budget} is used up; ${resumeAt === null ? advice : `its next period begins at ${resumeAt}`}`;
  for (let at: Run | null = run; at?.work; at = at.parent) {
    requestPause(at, reason, { resumeAt, budget });
    beginPause(at);
  }
}

/** The pause for a budget ends for all runs of the tree at once. */
function resumeRunsOfBudget(run: Run, budget: string, by: string): void {
  let root = run;
  while (root.parent) root = root.parent;
  for (const each of listRuns(root)) if (each.state.paused?.budget === budget) resumeRun(each, by);
}

function listRuns(run: Run): Run[] {
  return [run, ...[...run.children].flatMap(listRuns)];
}

/** Whether a pause was asked for or has begun. */
export function isPauseDue({ pauseRequest, state }: Run): boolean {
  return pauseRequest !== null || state.paused !== null;
}

/** Begins a pause that was asked for, and waits for its end. Returns at once if the run is not paused, or if it was stopped. */
export async function waitWhilePaused(run: Run, services: Services): Promise<void> {
  if (run.signal.aborted) return;
  beginPause(run);
  await waitForResume(run, services);
}

/** Waits, without a slot, for the end of a pause that has begun. */
export async function waitForResume(run: Run, { clock, deadlines }: Services): Promise<void> {
  const { paused } = run.state;
  if (!paused || run.signal.aborted) return;
  run.slot.release();
  const due = paused.resumeAt === null ? null : clock.monotonic() + isoToMs(paused.resumeAt) - clock.now();
  const endTimer = due === null ? () => {} : deadlines.at(due, () => void resumeRun(run, 'the end of the pause'));
  while (run.state.paused && !run.signal.aborted) await run.waitForChange();
  endTimer();
}

function beginPause(run: Run): void {
  const { pauseRequest } = run;
  if (!pauseRequest) return;
  const { reason, resumeAt, orders, budget } = pauseRequest;
  run.pauseRequest = null;
  if (run.state.paused) return;
  void run.record([pausedFact(run, { reason, resumeAt, budget })], { consumed: orders });
  if (budget !== undefined) run.suspendDeadline();
}

/** The beginning of a pause as a fact. It tells the process that continues the run which of its calls, or steps of a flow, have begun. */
export function pausedFact(run: Run, { reason, resumeAt, budget }: Omit<PendingPause, 'orders'>): Draft {
  const calls = currentCalls(run.state).filter((call) => !call.finished);
  const steps = findOpenEffects(run.state.flow);
  // An external agent makes its calls itself, so it is not known which have begun.
  const isKnown = calls.length + steps.length > 0 && !run.state.created.data.external;
  const begun = [
    ...calls.filter((call) => run.begun.has(call)).map(({ turn, index }) => ({ index, turn })),
    ...steps.filter((step) => run.begun.has(step)).map(({ step }) => ({ index: 0, turn: step })),
  ];
  return { type: 'run.paused', data: { ...(isKnown && { begun }), ...(budget !== undefined && { budget }), reason, resumeAt } };
}
