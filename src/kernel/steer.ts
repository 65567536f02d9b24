// What can be said to a live run from outside: stop, pause, go on, a message. Each becomes a fact; the orders that asked for it are consumed
// with that fact.
import type { Redact } from '../ports/secrets.ts';
import { alwaysFor, isUnanswered } from './calls.ts';
import { type Journal, msOf } from './journal.ts';
import type { LiveRun } from './live.ts';
import { callAt, messageRuleset } from './state.ts';

export interface Said {
  text: string;
  from: string;
  rules?: string[] | undefined;
}

/** A call that waits for a word, as whoever answers has seen it. */
export interface CallShown {
  turn: number;
  index: number;
  hash: string;
}

export interface Answer {
  allowed: boolean;
  by: string;
  /** Also for the same subjects from now on, in this run and below it. */
  always?: boolean | undefined;
  reason?: string | undefined;
}

export interface Steering {
  /** Resolves when it is in the journal. */
  cancel(run: LiveRun, reason: string, by: string, consumed?: string[]): Promise<void>;
  /** `order`: the one from another process that brought it. `rules`: narrow the run and those below it from now on. */
  message(run: LiveRun, said: Said, order?: string): Promise<void>;
  /** Whether the answer counts: the call still waits for it, and it is the one that was shown. */
  answer(run: LiveRun, call: CallShown, answer: Answer, order?: string): Promise<boolean>;
  /** Takes effect at the run's next step. */
  pause(run: LiveRun, reason: string, consumed?: string[]): void;
}

/** What people write is a fact like everything else: own secrets are taken out of it first (invariant 11). */
export function createSteering(journal: Journal, redact: Redact, now: () => number): Steering {
  const clean = (text: string) => redact(text.toWellFormed(), false);
  return {
    async cancel(run, reason, by, consumed = []) {
      if (journal.state(run.id).ended) return;
      const asked = { by: by.toWellFormed(), code: 'cancelled' as const, reason: clean(reason) };
      const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'cancel.asked', data: asked }] }], { consumed });
      run.stop({ code: 'cancelled', message: asked.reason });
      await durable;
    },
    async message(run, { text, from, rules = [] }, order) {
      // A rule that does not read is refused before anything is written.
      const narrowing = rules.length === 0 ? [] : [messageRuleset(from.toWellFormed(), rules)];
      // Whoever is told something goes on with it; a pause that is not written yet is over before it began.
      const paused = run.hold && !run.hold.isRecorded ? run.hold.consumed : [];
      if (run.hold) letGo(run, from);
      const data = {
        from: from.toWellFormed(),
        ...(order === undefined ? {} : { order }),
        ...(rules.length === 0 ? {} : { rules }),
        text: clean(rules.length === 0 ? text : `${text}\n(From now on these rules hold as well: ${rules.join('; ')}.)`.trim()),
      };
      run.narrowed.push(...narrowing);
      const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'message.received', data }] }], {
        consumed: order === undefined ? paused : [order, ...paused],
      });
      run.notify();
      await durable;
    },
    async answer(run, { turn, index, hash }, { allowed, by, always = false, reason }, order) {
      const call = callAt(journal.state(run.id), { turn, index });
      if (!call || call.finished || !isUnanswered(call) || call.approval?.hash !== hash || run.signal.aborted) return false;
      // After its time it is refused, whoever comes first to say so.
      if (allowed && now() >= msOf(call.approval.expiresAt)) return false;
      const said = {
        ...(allowed && always ? { always } : {}),
        by: by.toWellFormed(),
        hash,
        index,
        ...(order === undefined ? {} : { order }),
        turn,
      };
      const data = { allowed, ...said, ...(reason === undefined || reason === '' ? {} : { reason: clean(reason) }) };
      const consumed = order === undefined ? [] : [order];
      const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'approval.answered', data }] }], { consumed });
      if (allowed && always) run.always.push(alwaysFor(call, data.by));
      run.notify();
      await durable;
      return true;
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
