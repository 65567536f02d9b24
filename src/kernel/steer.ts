// What can be said to a live run from outside: stop, pause, go on, a message. Each becomes a fact; the orders that asked for it are consumed
// with that fact.
import type { Redact } from '../ports/secrets.ts';
import type { Journal } from './journal.ts';
import type { LiveRun } from './live.ts';

export interface Steering {
  /** Resolves when it is in the journal. */
  cancel(run: LiveRun, reason: string, by: string, consumed?: string[]): Promise<void>;
  /** `order`: the one from another process that brought it. */
  message(run: LiveRun, text: string, from: string, order?: string): Promise<void>;
  /** Takes effect at the run's next step. */
  pause(run: LiveRun, reason: string, consumed?: string[]): void;
}

/** What people write is a fact like everything else: own secrets are taken out of it first (invariant 11). */
export function createSteering(journal: Journal, redact: Redact): Steering {
  const clean = (text: string) => redact(text.toWellFormed(), false);
  return {
    async cancel(run, reason, by, consumed = []) {
      if (journal.state(run.id).ended) return;
      const asked = { by: by.toWellFormed(), code: 'cancelled' as const, reason: clean(reason) };
      const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'cancel.asked', data: asked }] }], { consumed });
      run.stop({ code: 'cancelled', message: asked.reason });
      await durable;
    },
    async message(run, text, from, order) {
      // Whoever is told something goes on with it; a pause that is not written yet is over before it began.
      const paused = run.hold && !run.hold.isRecorded ? run.hold.consumed : [];
      if (run.hold) letGo(run, from);
      const data = { from: from.toWellFormed(), text: clean(text), ...(order === undefined ? {} : { order }) };
      const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'message.received', data }] }], {
        consumed: order === undefined ? paused : [order, ...paused],
      });
      run.notify();
      await durable;
    },
    pause(run, reason, consumed = []) {
      run.hold ??= { reason: clean(reason), resumeAt: null, consumed: [], isRecorded: false };
      for (const id of consumed) if (!run.hold.consumed.includes(id)) run.hold.consumed.push(id);
      run.notify();
    },
  };
}

/** Lets a run that is held go on. */
export function letGo(run: LiveRun, by: string, consumed: string[] = []): void {
  run.hold = null;
  run.released = { by, consumed };
  run.notify();
}
