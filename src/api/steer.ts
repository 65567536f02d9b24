// Steers runs of any process: cancel, pause, resume, message, answer. Runs of this process are steered directly; for others an order is stored, and
// the caller waits for the fact that it causes.
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

type Steering = Pick<Api, 'pause' | 'release' | 'cancel' | 'message' | 'questions' | 'answer'>;

export function createSteer({ store, clock, ids, listeners, drive, running }: SteerDeps): Steering {
  async function findLive(runId: string): Promise<RunHandle | null> {
    return (await running())?.live(runId) ?? null;
  }

  async function isDriven({ rootId }: Pick<RunRow, 'rootId'>): Promise<boolean> {
    return (await store.holders([rootId])).get(rootId)?.alive === true;
  }

  /** Stores an order and returns its id. */
  async function sendOrder(
    row: RunRow,
    kind: Order['kind'],
    text: string,
    more: Partial<Pick<Order, 'by' | 'rules' | 'call'>> = {},
  ): Promise<string> {
    const id = ids.orderId();
    await store.order({ id, runId: row.runId, rootId: row.rootId, kind, by: 'the user', text, ...more, at: msToIso(clock.now()) });
    return id;
  }

  /**
   * Waits for a fact of the run that is newer than `row`. `ended`: the run ended without one. `undriven`: the process that should apply the order no
   * longer drives the run; a dead process sends no signal, so this is checked once a second.
   */
  async function waitForFact(
    { runId, rootId, lastSeq }: RunRow,
    type: FactType,
    isWanted: (fact: StoredFact) => boolean = () => true,
  ): Promise<'recorded' | 'ended' | 'undriven'> {
    const stop = new AbortController();
    let endTimer = () => {};
    const scheduleCheck = () => {
      endTimer = clock.at(clock.monotonic() + ownerCheckMs, () => void checkOwner().catch(() => stop.abort()));
    };
    const checkOwner = async () => {
      if (!(await isDriven({ rootId }))) stop.abort();
      else if (!stop.signal.aborted) scheduleCheck();
    };
    scheduleCheck();
    try {
      let after: string | undefined;
      for await (const _ of changes({ store, listeners }, stop.signal, (fact) => fact.runId === runId)) {
        const facts = await store.facts({ runId, types: [type, 'run.ended'], ...(after === undefined ? {} : { after }) });
        after = facts.at(-1)?.position ?? after;
        const newer = facts.filter((fact) => fact.seq > lastSeq);
        if (newer.some((fact) => fact.type === type && isWanted(fact))) return 'recorded';
        if (newer.some((fact) => fact.type === 'run.ended')) return 'ended';
      }
      return 'undriven';
    } finally {
      stop.abort();
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
    else await sendOrder(row, 'pause', reason);
    return { runId, result: (await waitForFact(row, 'run.paused')) === 'recorded' ? 'paused' : 'already' };
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
    await sendOrder(row, 'cancel', reason);
    if ((await waitForFact(row, 'cancel.asked')) !== 'undriven') return { runId, result: 'asked' };
    return (await endHere(row, reason)) ? { runId, result: 'ended' } : cancelOne(id, reason);
  }

  /** Ends a run that no process drives. False if a living process owns its tree. */
  async function endHere(row: RunRow, reason: string): Promise<boolean> {
    const runtime = await running();
    const owner = runtime ? runtime.owner : await store.open();
    try {
      return await endInterruptedRun(row, { reason, by: 'the user', code: 'cancelled' }, { store, owner, clock });
    } finally {
      if (!runtime) await store.release(owner);
    }
  }

  /** A follow-up to a child gets no more rights or budget than the child had. */
  async function createFollowUp(row: RunRow, text: string, rules: string[]): Promise<Brief> {
    const brief =
      row.parentId === null
        ? followUpBrief(await loadState(row.runId, store), text)
        : await followUpAsRoot(row.runId, { task: text }, store);
    return rules.length === 0 ? brief : { ...brief, rules: [...(brief.rules ?? []), ...rules] };
  }

  async function answerOne(question: Question, answer: Parameters<Api['answer']>[1]): ReturnType<Api['answer']> {
    const { runId, turn, index, hash } = question;
    const { allowed, always = false, reason = '', by = 'the user' } = answer;
    if (clock.now() >= isoToMs(question.expiresAt)) return { question, result: 'late' };
    const own = await findLive(runId);
    if (own) return { question, result: (await own.answer({ turn, index, hash }, { allowed, by, always, reason })) ? 'answered' : 'late' };
    const row = await findRun(runId, store);
    const orderId = await sendOrder(row, allowed ? 'approve' : 'refuse', reason, { by, call: { turn, index, hash, always } });
    // The order stays for the process that resumes the run.
    if (!(await isDriven(row))) return { question, result: 'kept' };
    /** The order that the recorded answer came with; another answer may have been first. */
    let answeredBy: string | undefined;
    const isAnswer = (fact: StoredFact) => {
      if (fact.type !== 'approval.answered' || fact.data.turn !== turn || fact.data.index !== index) return false;
      answeredBy = fact.data.order;
      return true;
    };
    const result = await waitForFact(row, 'approval.answered', isAnswer);
    if (result === 'undriven') return { question, result: 'kept' };
    return { question, result: result === 'recorded' && answeredBy === orderId ? 'answered' : 'late' };
  }

  return {
    pause: (runs, reason) => Promise.all(runs.map((id) => pauseOne(id, reason))),
    cancel: (runs, reason) => Promise.all(runs.map((id) => cancelOne(id, reason))),
    async release(id) {
      const row = await findRun(id, store);
      const own = await findLive(row.runId);
      if (own) own.resume('the user');
      else await sendOrder(row, 'resume', '');
      // A pause that has not begun is withdrawn without a fact.
      if (row.status !== 'paused') return false;
      return (await waitForFact(row, 'run.resumed')) === 'recorded';
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
      const orderId = await sendOrder(row, 'message', text, rules.length === 0 ? {} : { rules });
      const isMessage = (fact: StoredFact) => fact.type === 'message.received' && fact.data.order === orderId;
      const result = await waitForFact(row, 'message.received', isMessage);
      if (result === 'recorded') return { kind: 'sent' };
      if (result === 'undriven') throw new RetinueError('parent_ended', `run ${row.runId} was interrupted before it got the message`);
      throw new RetinueError('parent_ended', `run ${row.runId} ended before it got the message; send it again as a follow-up`);
    },
    questions: () => openQuestions(store),
    answer: async (id, answer) => answerOne(await findQuestion(id, store), answer),
  };
}

function refuseClient(row: RunRow, what: string): void {
  if (row.kind === 'client')
    throw new RetinueError('usage', `run ${row.runId} is a client, which takes no turns: ${what} the runs that it delegated`);
}
