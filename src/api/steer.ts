// Steers runs of any process: cancel, pause, resume, message, answer. Runs of this process are steered directly; for others an order is stored, and
// the caller waits for the fact that it causes.
import type { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { FactType, StoredFact } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import { followUpBrief, loadState } from '../kernel/history.ts';
import { endInterruptedRun } from '../kernel/interrupted.ts';
import type { BriefOptions, RunHandle, Runtime } from '../kernel/runtime.ts';
import { loopVersionOf } from '../kernel/state.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { RunFolders } from '../ports/run-folders.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import { subtreeRows } from '../records/descendants.ts';
import { findRun } from '../records/find-run.ts';
import { followUpAsRoot } from '../records/fork.ts';
import { isoToMs, msToIso } from '../text/instant.ts';
import type { Api, Cancelled, Question } from './api.ts';
import { changes } from './follow.ts';
import type { Listeners } from './listeners.ts';
import { findQuestion, openQuestions } from './questions.ts';
import { isAtRest } from './tree-status.ts';

/** How often a command that waits for another process checks that it is still alive. */
const ownerCheckMs = 1000;
/** How long an approval waits to learn that newer rules deny the call. */
const denialWaitMs = 2000;

export interface SteerDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  listeners: Listeners;
  drive(): Promise<Runtime>;
  /** The runtime of this process, if it drives anything. */
  running(): Promise<Runtime> | null;
  checkouts: Checkouts | undefined;
  homes: RunFolders | undefined;
  redact: Redact;
}

type Steering = Pick<Api, 'pause' | 'release' | 'cancel' | 'message' | 'compact' | 'questions' | 'question' | 'answer'>;

export function createSteer({ store, clock, ids, listeners, drive, running, checkouts, homes, redact }: SteerDeps): Steering {
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
   * Calls `check` now and after each change of the tree until it returns a value. Null: the process that should apply an order no longer drives the
   * tree and had not applied it; a dead process sends no signal, so this is checked once a second.
   */
  async function waitWhileDriven<T>({ rootId }: RunRow, check: () => Promise<T | null>): Promise<T | null> {
    if (!(await isDriven({ rootId }))) return check();
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
      for await (const _ of changes({ store, listeners }, stop.signal)) {
        const result = await check();
        if (result !== null) return result;
      }
      // The process may have applied the order just before it exited.
      return await check();
    } finally {
      stop.abort();
      endTimer();
    }
  }

  /** Waits for a fact of the run that is newer than `row`. `ended`: the run ended without one. `undriven`: nobody drives the run any more. */
  async function waitForFact(
    row: RunRow,
    type: FactType,
    isWanted: (fact: StoredFact) => boolean = () => true,
  ): Promise<'recorded' | 'ended' | 'undriven'> {
    const { runId, lastSeq } = row;
    let after: string | undefined;
    const result = await waitWhileDriven(row, async () => {
      const facts = await store.facts({ runId, types: [type, 'run.ended'], ...(after === undefined ? {} : { after }) });
      after = facts.at(-1)?.position ?? after;
      const newer = facts.filter((fact) => fact.seq > lastSeq);
      if (newer.some((fact) => fact.type === type && isWanted(fact))) return 'recorded' as const;
      return newer.some((fact) => fact.type === 'run.ended') ? ('ended' as const) : null;
    });
    return result ?? 'undriven';
  }

  /** The live rows of a run and its descendants. */
  async function openRows({ runId, rootId }: RunRow): Promise<RunRow[]> {
    return subtreeRows(await store.runs({ rootId, live: true }), runId);
  }

  async function requestPause(row: RunRow, reason: string): Promise<void> {
    const own = await findLive(row.runId);
    if (own) own.pause(reason);
    else await sendOrder(row, 'pause', reason);
  }

  /** A run that waits for its children pauses when they do, so the whole subtree is asked. Children that are created meanwhile are asked too. */
  async function pauseTree(id: string, reason: string): Promise<{ runId: string; result: 'paused' | 'already' }> {
    const row = await findRun(id, store);
    refuseClient(row, 'pause');
    const { runId } = row;
    const asked = new Set<string>();
    if (!isLive(row.status) || isAtRest(row, await openRows(row)) || !(await isDriven(row))) return { runId, result: 'already' };
    const isPaused = await waitWhileDriven(row, async () => {
      const open = await openRows(row);
      for (const each of open.filter((other) => other.status !== 'paused' && !asked.has(other.runId))) {
        asked.add(each.runId);
        await requestPause(each, reason);
      }
      const current = open.find((other) => other.runId === runId);
      return current === undefined ? false : isAtRest(current, open) ? true : null;
    });
    return { runId, result: isPaused ? 'paused' : 'already' };
  }

  /** Ends the pauses of a run and its descendants, and withdraws those that have not begun. */
  async function releaseTree(id: string): Promise<boolean> {
    const row = await findRun(id, store);
    const open = await openRows(row);
    if (!isLive(row.status)) return false;
    const wasPaused = isAtRest(row, open);
    for (const each of open) {
      const own = await findLive(each.runId);
      if (own) own.resume('the user');
      else await sendOrder(each, 'resume', '');
    }
    if (!wasPaused) return false;
    const isReleased = await waitWhileDriven(row, async () => {
      const now = await openRows(row);
      const current = now.find((other) => other.runId === row.runId);
      return current === undefined || !isAtRest(current, now) ? true : null;
    });
    return isReleased === true;
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

  /**
   * Ends a run that no process drives. False if a living process owns its tree. A separate lease lets any process continue the rest of the tree.
   */
  async function endHere(row: RunRow, reason: string): Promise<boolean> {
    const owner = await store.open();
    try {
      return await endInterruptedRun(row, { reason, by: 'the user', code: 'cancelled' }, { store, owner, clock, checkouts, homes, redact });
    } finally {
      await store.release(owner);
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

  async function startFollowUp(row: RunRow, text: string, options: { rules: string[] } & Pick<BriefOptions, 'trace'>): Promise<RunHandle> {
    const { rules, ...more } = options;
    const dialect = await dialectOf(row.runId, store);
    return (await drive()).start(await createFollowUp(row, text, rules), { ...more, dialect });
  }

  async function answerOne(question: Question, answer: Parameters<Api['answer']>[1]): ReturnType<Api['answer']> {
    const { runId, turn, index, hash } = question;
    const { allowed, always = false, reason = '', by = 'the user' } = answer;
    if (clock.now() >= isoToMs(question.expiresAt)) return { question, result: 'late' };
    const own = await findLive(runId);
    if (own) return { question, result: (await own.answer({ turn, index, hash }, { allowed, by, always, reason })) ? 'answered' : 'late' };
    const row = await findRun(runId, store);
    const orderId = await sendOrder(row, allowed ? 'approve' : 'refuse', reason, { by, call: { turn, index, hash, always } });
    /** The order that the recorded answer came with; another answer may have been first. */
    let answeredBy: string | undefined;
    const isAnswer = (fact: StoredFact) => {
      if (fact.type !== 'approval.answered' || fact.data.turn !== turn || fact.data.index !== index) return false;
      answeredBy = fact.data.order;
      return true;
    };
    const result = await waitForFact(row, 'approval.answered', isAnswer);
    // The order stays for the process that resumes the run.
    if (result === 'undriven') return { question, result: 'kept' };
    if (result === 'ended' || answeredBy !== orderId) return { question, result: 'late' };
    const denial = allowed ? await findDenial(question) : null;
    return { question, result: 'answered', ...(denial === null ? {} : { denial }) };
  }

  /**
   * The denial of an approved call, if the run got narrowing rules after it asked. Null if no rule came, or if nothing is known within `denialWaitMs`.
   */
  async function findDenial({ runId, turn, index }: Question): Promise<string | null> {
    const isThisCall = (data: { turn: number; index: number }) => data.turn === turn && data.index === index;
    const facts = await store.facts({ runId, types: ['approval.asked', 'message.received'] });
    const asked = facts.findIndex((fact) => fact.type === 'approval.asked' && isThisCall(fact.data));
    if (!facts.slice(asked).some((fact) => fact.type === 'message.received' && fact.data.rules?.length)) return null;
    const stop = new AbortController();
    const endTimer = clock.at(clock.monotonic() + denialWaitMs, () => stop.abort());
    try {
      for await (const _ of changes({ store, listeners }, stop.signal)) {
        const results = await store.facts({ runId, types: ['tool.finished'] });
        const result = results.find((fact) => fact.type === 'tool.finished' && isThisCall(fact.data));
        if (result?.type === 'tool.finished') return result.data.status === 'denied' ? result.data.output : null;
      }
      return null;
    } finally {
      endTimer();
    }
  }

  return {
    pause: (runs, reason) => Promise.all(runs.map((id) => pauseTree(id, reason))),
    cancel: (runs, reason) => Promise.all(runs.map((id) => cancelOne(id, reason))),
    release: releaseTree,
    async message(id, text, { rules = [], followUp = true, ...more } = {}) {
      const row = await findRun(id, store);
      refuseClient(row, 'send messages to');
      if (row.kind === 'flow')
        throw new RetinueError('usage', `run ${row.runId} is a flow, which reads no messages: send them to the runs that it delegated`);
      if (!isLive(row.status)) {
        if (!followUp) throw new RetinueError('parent_ended', `run ${row.runId} has ended; a follow-up would start a new run`);
        return { kind: 'continued', handle: await startFollowUp(row, text, { rules, ...more }) };
      }
      // A run that waits for paused children would not read the message. They are released after it was sent: they could end at once, and the
      // run with them.
      const releaseChildren = async () => {
        const open = await openRows(row);
        if (open.length > 1 && isAtRest(row, open)) await releaseTree(row.runId);
      };
      const own = await findLive(row.runId);
      if (own) {
        await own.send(text, 'the user', rules);
        await releaseChildren();
        return { kind: 'sent' };
      }
      // A worker takes the tree and gives it the message.
      if (!(await isDriven(row)) && (await store.queue?.isOf(row.rootId))) {
        await sendOrder(row, 'message', text, rules.length === 0 ? {} : { rules });
        await releaseChildren();
        return { kind: 'sent' };
      }
      if (!(await isDriven(row)))
        throw new RetinueError(
          'parent_ended',
          `run ${row.runId} was interrupted, so it cannot get the message; resume it first with \`retinue resume ${row.runId}\``,
        );
      const orderId = await sendOrder(row, 'message', text, rules.length === 0 ? {} : { rules });
      await releaseChildren();
      const isMessage = (fact: StoredFact) => fact.type === 'message.received' && fact.data.order === orderId;
      const result = await waitForFact(row, 'message.received', isMessage);
      if (result === 'recorded') return { kind: 'sent' };
      if (result === 'undriven') throw new RetinueError('parent_ended', `run ${row.runId} was interrupted before it got the message`);
      throw new RetinueError('parent_ended', `run ${row.runId} ended before it got the message; send it again as a follow-up`);
    },
    async compact(id) {
      const row = await findRun(id, store);
      const { runId } = row;
      refuseClient(row, 'compact');
      if (!isLive(row.status)) throw new RetinueError('parent_ended', `run ${runId} has ended, so its conversation is not needed any more`);
      const own = await findLive(runId);
      if (own ? !own.compact() : loopVersionOf(await loadState(runId, store)).compaction === undefined)
        throw new RetinueError(
          'usage',
          `the conversation of run ${runId} cannot be compacted: it is ending, or an older Retinue started it`,
        );
      if (own) return { runId, result: 'asked' };
      await sendOrder(row, 'compact', '');
      return { runId, result: (await isDriven(row)) ? 'asked' : 'kept' };
    },
    questions: () => openQuestions(store),
    question: (id) => findQuestion(id, store),
    answer: async (id, answer) => answerOne(await findQuestion(id, store), answer),
  };
}

/** The dialect of a run's tree: what continues it needs the same. */
export async function dialectOf(runId: string, store: Store): Promise<string> {
  return (await loadState(runId, store)).created.data.dialect;
}

function refuseClient(row: RunRow, what: string): void {
  if (row.kind === 'client')
    throw new RetinueError('usage', `run ${row.runId} is a client, which takes no turns: ${what} the runs that it delegated`);
}
