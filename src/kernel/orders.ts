// Orders from other processes to runs of this one. An order is consumed in the transaction that writes its fact; one whose run has ended
// here is taken away without a fact.
import { isRetinueError, type RetinueError } from '../contract/error.ts';
import type { Order } from '../contract/order.ts';
import { isLive } from '../contract/run.ts';
import type { Owner, Store } from '../ports/store.ts';
import type { Journal } from './journal.ts';
import type { LiveRun } from './live.ts';
import type { Steering } from './steer.ts';

export interface OrderDesk {
  store: Store;
  owner: Owner;
  journal: Journal;
  live(runId: string): LiveRun | null;
  /** Another process has taken over everything that this one drove. */
  lost(error: RetinueError): void;
  cancel(run: LiveRun, reason: string, by: string, consumed: string[]): Promise<void>;
  message: Steering['message'];
  answer: Steering['answer'];
  pause(run: LiveRun, reason: string, consumed: string[]): void;
  resume(run: LiveRun, by: string, consumed: string[]): void;
}

const from = 'the user';

export interface Heed {
  /** Looks now: orders may have waited for whoever takes a tree up. */
  look(): Promise<void>;
  /** Looks no more. Resolves when the look that is under way is done: what waited for a tree that ended at once is not left lying. */
  end(): Promise<void>;
}

/** Looks for orders whenever the store says that something may have come. */
export function heedOrders(desk: OrderDesk): Heed {
  let looking: Promise<void> | null = null;
  let again = false;

  function look(): Promise<void> {
    again = true;
    looking ??= heed();
    return looking;
  }

  async function heed(): Promise<void> {
    while (again) {
      again = false;
      await obeyAll();
    }
    looking = null;
  }

  async function obeyAll(): Promise<void> {
    try {
      const orders = refusalsFirst(await desk.store.orders(desk.owner));
      // One that cannot be obeyed (its tree is just being lost) must not hold up the others.
      for (const order of orders) await obey(order, desk).catch(() => {});
    } catch (error) {
      // Otherwise a store that cannot be read now is asked again at the next wake-up; the order stays where it is.
      if (isRetinueError(error) && error.code === 'fenced') desk.lost(error);
    }
  }

  const unwatch = desk.store.watch(() => void look());
  return {
    look,
    async end() {
      unwatch();
      await looking;
    },
  };
}

/** Of two answers to one question that came before anybody heard them, the refusal counts. */
function refusalsFirst(orders: Order[]): Order[] {
  return orders.toSorted((a, b) => Number(b.kind === 'refuse') - Number(a.kind === 'refuse'));
}

async function isOpen(runId: string, store: Store): Promise<boolean> {
  const row = await store.run(runId);
  return row !== null && isLive(row.status);
}

async function obey(order: Order, desk: OrderDesk): Promise<void> {
  const run = desk.live(order.runId);
  // Its tree is just being taken up, or could not be: the order waits for whoever does.
  if (run === null && (await isOpen(order.runId, desk.store))) return;
  // A client takes no steps: there is nothing to hold back and nobody to tell.
  if (run && !run.admitted && order.kind !== 'cancel') return desk.store.dropOrders(desk.owner, [order.id]);
  const open = run !== null && !desk.journal.state(run.id).ended;
  if (open && order.kind === 'cancel') return desk.cancel(run, order.text, from, [order.id]);
  if (open && !run.closing && order.kind === 'message') return desk.message(run, { text: order.text, from, rules: order.rules }, order.id);
  if (open && order.call && (order.kind === 'approve' || order.kind === 'refuse')) {
    const { call, text: reason } = order;
    const answer = { allowed: order.kind === 'approve', by: from, always: call.always, reason };
    if (await desk.answer(run, call, answer, order.id)) return;
  }
  // Consumed with the fact that the run writes when it comes to it.
  if (open && order.kind === 'pause' && !run.hold?.isRecorded) return desk.pause(run, order.text, [order.id]);
  if (open && order.kind === 'resume' && run.hold?.isRecorded) return desk.resume(run, from, [order.id]);
  if (open && order.kind === 'resume' && run.hold) {
    // Nothing is written of the pause yet: both are over without a fact.
    const both = [...run.hold.consumed, order.id];
    desk.resume(run, from, []);
    return desk.store.dropOrders(desk.owner, both);
  }
  await desk.store.dropOrders(desk.owner, [order.id]);
}
