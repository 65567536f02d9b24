// Reaches runs of any process: those of this one directly, others by an order in the database and the fact that it causes.
import type { FactType, StoredFact } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import type { RunRow } from '../contract/run.ts';
import type { RunHandle, Runtime } from '../kernel/runtime.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Store } from '../ports/store.ts';
import { msToIso } from '../text/instant.ts';
import { watchChanges } from './follow.ts';
import type { Listeners } from './listeners.ts';

/** How often a command that waits for another process checks that it is still alive. */
const ownerCheckMs = 1000;

export interface ReachDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  listeners: Listeners;
  /** The runtime of this process, if it drives anything. */
  running(): Promise<Runtime> | null;
}

export type Reach = ReturnType<typeof createReach>;

export function createReach({ store, clock, ids, listeners, running }: ReachDeps) {
  async function findLive(runId: string): Promise<RunHandle | null> {
    return (await running())?.findLiveRun(runId) ?? null;
  }

  async function isDriven({ rootId }: Pick<RunRow, 'rootId'>): Promise<boolean> {
    return (await store.holders([rootId])).get(rootId)?.alive === true;
  }

  /** Stores an order and returns its id. */
  async function sendOrder(
    row: RunRow,
    order: Pick<Order, 'kind' | 'text'> & Partial<Pick<Order, 'by' | 'rules' | 'call'>>,
  ): Promise<string> {
    const id = ids.orderId();
    await store.order({ id, runId: row.runId, rootId: row.rootId, by: 'the user', ...order, at: msToIso(clock.now()) });
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
      for await (const _ of watchChanges({ store, listeners }, stop.signal)) {
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

  /** Waits for a fact of the run that is newer than `row`. `ended`: the run ended without one. `undriven`: no process drives the run any more. */
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

  return { findLive, isDriven, sendOrder, waitWhileDriven, waitForFact };
}
