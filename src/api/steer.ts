// Steers runs of any process: cancel, pause, resume, message, answer. Runs of this process are steered directly; for others an order is stored, and
// the caller waits for the fact that it causes.
import type { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import { createFollowUpBrief, loadState } from '../kernel/recovery/history.ts';
import { endInterruptedRun } from '../kernel/recovery/interrupted.ts';
import { loadPinnedAgent } from '../kernel/recovery/pinned-agent.ts';
import type { BriefOptions, RunHandle, Runtime, RuntimeOptions } from '../kernel/runtime.ts';
import { loopVersionOf } from '../kernel/state/state.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { RunFolders } from '../ports/run-folders.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import { subtreeRows } from '../records/descendants.ts';
import { findRun } from '../records/find-run.ts';
import { createRootFollowUp } from '../records/fork.ts';
import { createAnswer } from './answer.ts';
import type { Api, Cancelled } from './api.ts';
import type { Listeners } from './listeners.ts';
import { parseMessage } from './message-text.ts';
import { findQuestion, listOpenQuestions } from './questions.ts';
import { createReach } from './reach.ts';
import { isFullyPaused, isPaused } from './tree-status.ts';

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
  checkRules: RuntimeOptions['settings']['checkRules'] | undefined;
}

type Steering = Pick<Api, 'pause' | 'release' | 'cancel' | 'message' | 'compact' | 'questions' | 'question' | 'answer'>;

export function createSteer({ store, clock, ids, listeners, drive, running, checkouts, homes, redact, checkRules }: SteerDeps): Steering {
  const reach = createReach({ store, clock, ids, listeners, running });
  const { findLive, isDriven, sendOrder, waitWhileDriven, waitForFact } = reach;
  const answer = createAnswer({ store, clock, listeners, reach });

  /** The live rows of a run and its descendants. */
  async function openRows({ runId, rootId }: RunRow): Promise<RunRow[]> {
    return subtreeRows(await store.runs({ rootId, live: true }), runId);
  }

  async function requestPause(row: RunRow, reason: string): Promise<void> {
    const own = await findLive(row.runId);
    if (own) own.pause(reason);
    else await sendOrder(row, { kind: 'pause', text: reason });
  }

  /** A run that waits for its children pauses when they do, so the whole subtree is asked. Children that are created meanwhile are asked too. */
  async function pauseTree(id: string, reason: string): Promise<{ runId: string; result: 'paused' | 'already' }> {
    const row = await findRun(id, store);
    refuseClient(row, 'pause');
    const { runId } = row;
    const asked = new Set<string>();
    if (!isLive(row.status) || isFullyPaused(row, await openRows(row)) || !(await isDriven(row))) return { runId, result: 'already' };
    const hasPaused = await waitWhileDriven(row, async () => {
      const open = await openRows(row);
      for (const each of open.filter((other) => other.status !== 'paused' && !asked.has(other.runId))) {
        asked.add(each.runId);
        await requestPause(each, reason);
      }
      const current = open.find((other) => other.runId === runId);
      return current === undefined ? false : isFullyPaused(current, open) ? true : null;
    });
    return { runId, result: hasPaused ? 'paused' : 'already' };
  }

  /** Ends the pauses of a run and its descendants, and withdraws those that have not begun. */
  async function releaseTree(id: string): Promise<boolean> {
    const row = await findRun(id, store);
    const open = await openRows(row);
    if (!isLive(row.status)) return false;
    const wasPaused = isPaused(row, open);
    for (const each of open) {
      const own = await findLive(each.runId);
      if (own) own.resume('the user');
      else await sendOrder(each, { kind: 'resume', text: '' });
    }
    if (!wasPaused) return false;
    const isReleased = await waitWhileDriven(row, async () => {
      const now = await openRows(row);
      const current = now.find((other) => other.runId === row.runId);
      return current === undefined || !isPaused(current, now) ? true : null;
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
    await sendOrder(row, { kind: 'cancel', text: reason });
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
        ? createFollowUpBrief(await loadState(row.runId, store), text)
        : await createRootFollowUp(row.runId, { task: text }, store);
    return rules.length === 0 ? brief : { ...brief, rules: [...(brief.rules ?? []), ...rules] };
  }

  /** The run may be of another process, with tools that this one does not have. */
  async function checkMessageRules({ runId }: RunRow, rules: string[]): Promise<void> {
    if (!checkRules || rules.length === 0) return;
    const { created } = await loadState(runId, store);
    const agent = await loadPinnedAgent(created, store);
    checkRules(rules, 'the message', [...created.data.grant.tools, ...(agent?.childTools ?? [])]);
  }

  async function startFollowUp(row: RunRow, text: string, options: { rules: string[] } & Pick<BriefOptions, 'trace'>): Promise<RunHandle> {
    const { rules, ...more } = options;
    const dialect = await dialectOf(row.runId, store);
    return (await drive()).start(await createFollowUp(row, text, rules), { ...more, dialect });
  }

  return {
    pause: (runs, reason) => Promise.all(runs.map((id) => pauseTree(id, reason))),
    cancel: (runs, reason) => Promise.all(runs.map((id) => cancelOne(id, reason))),
    release: releaseTree,
    async message(id, given, { rules = [], followUp = true, ...more } = {}) {
      const row = await findRun(id, store);
      refuseClient(row, 'send messages to');
      refuseFlow(row, 'reads no messages: send them to');
      const text = parseMessage(given, { rules, isFollowUp: followUp && !isLive(row.status) });
      if (!isLive(row.status)) {
        if (!followUp) throw new RetinueError('parent_ended', `run ${row.runId} has ended; a follow-up would start a new run`);
        await checkMessageRules(row, rules);
        return { kind: 'continued', handle: await startFollowUp(row, text, { rules, ...more }) };
      }
      // A run that waits for paused children would not read the message. They are released after it was sent: they could end at once, and the
      // run with them.
      const releaseChildren = async () => {
        const open = await openRows(row);
        if (open.length > 1 && isPaused(row, open)) await releaseTree(row.runId);
      };
      const own = await findLive(row.runId);
      if (own) {
        await own.send(text, 'the user', rules);
        await releaseChildren();
        return { kind: 'sent' };
      }
      await checkMessageRules(row, rules);
      // A worker takes the tree and gives it the message.
      if (!(await isDriven(row)) && (await store.queue?.isOf(row.rootId))) {
        await sendOrder(row, { kind: 'message', text, ...(rules.length > 0 && { rules }) });
        await releaseChildren();
        return { kind: 'sent' };
      }
      if (!(await isDriven(row)))
        throw new RetinueError(
          'parent_ended',
          `run ${row.runId} was interrupted, so it cannot get the message; resume it first with \`retinue resume ${row.runId}\``,
        );
      const orderId = await sendOrder(row, { kind: 'message', text, ...(rules.length > 0 && { rules }) });
      await releaseChildren();
      const isMessage = (fact: StoredFact) => fact.type === 'message.received' && fact.data.order === orderId;
      const result = await waitForFact(row, 'message.received', isMessage);
      if (result === 'recorded') return { kind: 'sent' };
      // The order stays stored and is applied once, by the process that continues the tree. Withdrawing it here could race with that process.
      if (result === 'undriven') return { kind: 'kept' };
      throw new RetinueError('parent_ended', `run ${row.runId} ended before it got the message; send it again as a follow-up`);
    },
    async compact(id) {
      const row = await findRun(id, store);
      const { runId } = row;
      refuseClient(row, 'compact');
      refuseFlow(row, 'has no conversation: compact');
      if (!isLive(row.status)) throw new RetinueError('parent_ended', `run ${runId} has ended, so its conversation is not needed any more`);
      const own = await findLive(runId);
      if (own ? !own.compact() : loopVersionOf(await loadState(runId, store)).compaction === undefined)
        throw new RetinueError(
          'usage',
          `the conversation of run ${runId} cannot be compacted: it is ending, or an older Retinue started it`,
        );
      if (own) return { runId, result: 'asked' };
      await sendOrder(row, { kind: 'compact', text: '' });
      return { runId, result: (await isDriven(row)) ? 'asked' : 'kept' };
    },
    questions: () => listOpenQuestions(store),
    question: (id) => findQuestion(id, store),
    answer: async (id, given) => answer(await findQuestion(id, store), given),
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

function refuseFlow(row: RunRow, why: string): void {
  if (row.kind === 'flow') throw new RetinueError('usage', `run ${row.runId} is a flow, which ${why} the runs that it delegated`);
}
