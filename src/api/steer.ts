// Steers runs of any process: cancel, pause, resume, message, answer. Runs of this process are steered directly; others get an order, and the fact that
// the order causes is waited for.
import type { Brief } from '../contract/brief.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact, FactType, StoredFact } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import { isLive, type RunRow } from '../contract/run.ts';
import { followUpBrief, loadState } from '../kernel/history.ts';
import { endInterruptedRun } from '../kernel/interrupted.ts';
import type { RunHandle, Runtime } from '../kernel/runtime.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from '../records/find-run.ts';
import { followUpAsRoot } from '../records/fork.ts';
import { isoToMs, msToIso } from '../text/instant.ts';
import type { Api, Cancelled, Question } from './api.ts';
import { changes } from './follow.ts';
import { findQuestion, openQuestions } from './questions.ts';

/** How often a command that waits for another process checks that it is still alive. */
const ownerCheckMs = 1000;

export interface SteerDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  listeners: Set<(event: Fact | Delta) => void>;
  drive(): Promise<Runtime>;
  /** The runtime of this process, if it drives anything. */
  running(): Promise<Runtime> | null;
}

type Steer = Pick<Api, 'pause' | 'release' | 'cancel' | 'message' | 'questions' | 'answer'>;

export function createSteer({ store, clock, ids, listeners, drive, running }: SteerDeps): Steer {
  async function findLive(runId: string): Promise<RunHandle | null> {
    return (await running())?.live(runId) ?? null;
  }

  async function isDriven({ rootId }: RunRow): Promise<boolean> {
    return (await store.holders([rootId])).get(rootId)?.alive === true;
  }

  async function order(row: RunRow, kind: Order['kind'], text: string, more: Pick<Order, 'rules' | 'call'> = {}): Promise<string> {
    const id = ids.orderId();
    await store.order({ id, runId: row.runId, rootId: row.rootId, kind, text, ...more, at: msToIso(clock.now()) });
    return id;
  }

  /**
   * Waits until the run has such a fact, newer than `row`. `ended`: it ended without one. `gone`: the process that should apply the order no longer drives
   * the run; a dead process sends no signal, so this is checked once a second.
   */
  async function untilFact(
    row: RunRow,
    type: FactType,
    isWanted: (fact: StoredFact) => boolean = () => true,
  ): Promise<'there' | 'ended' | 'gone'> {
    const look = new AbortController();
    let endTimer = () => {};
    const check = async () => {
      if (!(await isDriven(row))) look.abort();
      else if (!look.signal.aborted) endTimer = clock.at(clock.monotonic() + ownerCheckMs, () => void check().catch(() => look.abort()));
    };
    endTimer = clock.at(clock.monotonic() + ownerCheckMs, () => void check().catch(() => look.abort()));
    try {
      for await (const _ of changes({ store, listeners, signal: look.signal })) {
        const facts = (await store.facts({ runId: row.runId, types: [type, 'run.ended'] })).filter((fact) => fact.seq > row.lastSeq);
        if (facts.some((fact) => fact.type === type && isWanted(fact))) return 'there';
        if (facts.some((fact) => fact.type === 'run.ended')) return 'ended';
      }
      return 'gone';
    } finally {
      look.abort();
      endTimer();
    }
  }

  async function pauseOne(id: string, reason: string): Promise<{ runId: string; result: 'paused' | 'already' }> {
    const row = await findRun(id, store);
    refuseClient(row, 'pause');
    const { runId } = row;
    if (!isLive(row.status) || row.status === 'paused' || !(await isDriven(row))) return { runId, result: 'already' };
    const own = await findLive(runId);
    if (own) own.pause(reason);
    else await order(row, 'pause', reason);
    return { runId, result: (await untilFact(row, 'run.paused')) === 'there' ? 'paused' : 'already' };
  }

  async function cancelOne(id: string, reason: string): Promise<Cancelled> {
    const row = await findRun(id, store);
    const { runId } = row;
    if (!isLive(row.status)) return { runId, result: 'already' };
    const own = await findLive(runId);
    if (own) {
      await own.cancel(reason, 'the user');
      return { runId, result: 'asked' };
    }
    if (!(await isDriven(row)) && (await endHere(row, reason))) return { runId, result: 'ended' };
    await order(row, 'cancel', reason);
    if ((await untilFact(row, 'cancel.asked')) !== 'gone') return { runId, result: 'asked' };
    return (await endHere(row, reason)) ? { runId, result: 'ended' } : cancelOne(id, reason);
  }

  async function endHere(row: RunRow, reason: string): Promise<boolean> {
    const here = await running();
    const owner = here ? here.owner : await store.open();
    try {
      return await endInterruptedRun(row, { reason, by: 'the user', code: 'cancelled' }, { store, owner, clock });
    } finally {
      if (!here) await store.release(owner);
    }
  }

  /** A follow-up to a child gets no more rights or budget than the child had under its parents. */
  async function createFollowUp(row: RunRow, text: string, rules: string[]): Promise<Brief> {
    const brief =
      row.parentId === null
        ? followUpBrief(await loadState(row.runId, store), text)
        : await followUpAsRoot(row.runId, { task: text }, store);
    return rules.length === 0 ? brief : { ...brief, rules: [...(brief.rules ?? []), ...rules] };
  }

  async function answerOne(question: Question, given: Parameters<Api['answer']>[1]): ReturnType<Api['answer']> {
    const { runId, turn, index, hash } = question;
    const { allowed, always = false, reason = '', by = 'the user' } = given;
    if (clock.now() >= isoToMs(question.expiresAt)) return { question, result: 'late' };
    const own = await findLive(runId);
    if (own) return { question, result: (await own.answer({ turn, index, hash }, { allowed, by, always, reason })) ? 'answered' : 'late' };
    const row = await findRun(runId, store);
    const id = await order(row, allowed ? 'approve' : 'refuse', reason, { call: { turn, index, hash, always } });
    // The order stays for the process that resumes the run.
    if (!(await isDriven(row))) return { question, result: 'kept' };
    let answers: string | undefined;
    const isAnswer = (fact: StoredFact) => {
      const isIt = fact.type === 'approval.answered' && fact.data.turn === turn && fact.data.index === index;
      if (isIt) answers = fact.data.order;
      return isIt;
    };
    const heard = await untilFact(row, 'approval.answered', isAnswer);
    if (heard === 'gone') return { question, result: 'kept' };
    // Another answer may have been first.
    return { question, result: heard === 'there' && answers === id ? 'answered' : 'late' };
  }

  return {
    pause: (given, reason) => Promise.all(given.map((id) => pauseOne(id, reason))),
    cancel: (given, reason) => Promise.all(given.map((id) => cancelOne(id, reason))),
    async release(id) {
      const row = await findRun(id, store);
      const own = await findLive(row.runId);
      if (own) own.resume('the user');
      else await order(row, 'resume', '');
      // A pause that has not begun is withdrawn without a fact.
      if (row.status !== 'paused') return false;
      return (await untilFact(row, 'run.resumed')) === 'there';
    },
    async message(id, text, { rules = [] } = {}) {
      const row = await findRun(id, store);
      refuseClient(row, 'send messages to');
      if (!isLive(row.status)) return { kind: 'continued', handle: await (await drive()).start(await createFollowUp(row, text, rules)) };
      const own = await findLive(row.runId);
      if (own) {
        await own.send(text, 'the user', rules);
        return { kind: 'sent' };
      }
      if (!(await isDriven(row)))
        throw new RetinueError(
          'parent_ended',
          `run ${row.runId} was interrupted, so it cannot get the message; resume it first with \`retinue resume ${row.runId}\``,
        );
      const given = await order(row, 'message', text, rules.length === 0 ? {} : { rules });
      const isMessage = (fact: StoredFact) => fact.type === 'message.received' && fact.data.order === given;
      const heard = await untilFact(row, 'message.received', isMessage);
      if (heard === 'there') return { kind: 'sent' };
      if (heard === 'gone') throw new RetinueError('parent_ended', `run ${row.runId} was interrupted before it got the message`);
      throw new RetinueError('parent_ended', `run ${row.runId} ended before it got the message; send it again as a follow-up`);
    },
    questions: () => openQuestions(store),
    answer: async (id, given) => answerOne(await findQuestion(id, store), given),
  };
}

function refuseClient(row: RunRow, what: string): void {
  if (row.kind === 'client')
    throw new RetinueError('usage', `run ${row.runId} is a client, which takes no turns: ${what} the runs that it delegated`);
}
