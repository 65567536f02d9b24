// A run that is held back: paused by somebody, or until a provider takes calls again.
import type { Draft } from '../contract/fact.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deadlines } from '../scheduling/deadlines.ts';
import type { SlotKeeper } from '../scheduling/slot.ts';
import { type Journal, msOf } from './journal.ts';
import type { Hold } from './live.ts';
import { type RunState, rootOf } from './state.ts';

export interface HoldEnv {
  state: RunState;
  journal: Journal;
  clock: Clock;
  deadlines: Deadlines;
  signal: AbortSignal;
  slot: SlotKeeper;
  /** What holds the run back, and letting it go on. */
  pause: {
    hold(): Hold | null;
    set(hold: Hold): void;
    release(by: string, consumed: string[]): void;
    released(): { by: string; consumed: string[] } | null;
  };
  /** Resolves when something has come into the inbox, or the signal has fired. */
  changed(): Promise<void>;
}

/** Waits while the run is held, without a slot. A pause and its end are facts. */
export async function heldBack(env: HoldEnv): Promise<void> {
  const { pause, state, signal, clock, deadlines } = env;
  const hold = pause.hold();
  if (!hold || signal.aborted) return;
  env.slot.release();
  const { reason, resumeAt, consumed } = hold;
  const record = (draft: Draft, orders: string[]) =>
    void env.journal.record(rootOf(state), [{ runId: state.runId, drafts: [draft] }], { consumed: orders }).catch(() => {});
  if (!hold.isRecorded) record({ type: 'run.paused', data: { reason, resumeAt } }, consumed);
  hold.isRecorded = true;
  const due = resumeAt === null ? null : clock.monotonic() + msOf(resumeAt) - clock.now();
  const endTimer = due === null ? () => {} : deadlines.at(due, () => pause.release('the time that was given', []));
  while (pause.hold() && !signal.aborted) await env.changed();
  endTimer();
  const released = pause.released();
  if (!signal.aborted && released) record({ type: 'run.resumed', data: { by: released.by } }, released.consumed);
}
