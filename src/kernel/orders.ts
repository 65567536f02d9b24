// Steering live runs: cancel and message, directly or by order of another process. (Pausing and approvals have files of their own.) An order is
// consumed in the transaction that writes its fact; an order whose run has ended is dropped without a fact.
import { RetinueError } from '../contract/error.ts';
import type { Draft } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import { isLive } from '../contract/run-status.ts';
import type { Store } from '../ports/store.ts';
import { requestPause, resumeRun } from './pause.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { loopVersionOf, messageRuleset } from './state/state.ts';
import { answerApproval } from './tool-calls/approval.ts';

/** `orders`: those that asked for it. */
export interface CancelRequest {
  reason: string;
  by: string;
  orders?: string[];
}

/** Cancels a run and its descendants. Resolves when the request is in the journal. */
export async function cancelRun(run: Run, { reason, by, orders = [] }: CancelRequest, { redact }: Services): Promise<void> {
  if (run.state.phase.name === 'ended') return;
  const asked = { by: by.toWellFormed(), code: 'cancelled' as const, reason: redact(reason.toWellFormed(), false) };
  const durable = run.record([{ type: 'cancel.asked', data: asked }], { consumed: orders });
  run.stop({ code: 'cancelled', message: asked.reason });
  await durable;
}

export interface RunMessage {
  text: string;
  from: string;
  /** They narrow the run and its descendants from now on. */
  rules?: string[] | undefined;
  /** The order that it came with. */
  order?: string;
}

/** Sends a message, which also ends a pause. Secrets are removed first, because it becomes a fact (invariant 11). */
export async function sendMessage(run: Run, { text, from, rules = [], order }: RunMessage, { redact }: Services): Promise<void> {
  const sender = from.toWellFormed();
  // Throws for a rule that does not parse, before anything is written.
  if (rules.length > 0) messageRuleset(sender, rules);
  const withRules = rules.length === 0 ? text : `${text}\n(These rules also apply from now on: ${rules.join('; ')}.)`.trim();
  const data = {
    from: sender,
    ...(order === undefined ? {} : { order }),
    ...(rules.length === 0 ? {} : { rules }),
    text: redact(withRules.toWellFormed(), false),
  };
  const withdrawn = run.pauseRequest?.orders ?? [];
  run.pauseRequest = null;
  const drafts: Draft[] = [{ type: 'message.received', data }];
  if (run.state.paused) drafts.push({ type: 'run.resumed', data: { by: sender } });
  const durable = run.record(drafts, { consumed: order === undefined ? withdrawn : [order, ...withdrawn] });
  run.notify();
  await durable;
}

/**
 * Compacts the conversation of a run before its next turn, as soon as there is something to compact. `orders` are consumed with the first fact of
 * the compaction. False if conversations of the run are never compacted.
 */
export function requestCompaction(run: Run, orders: string[] = []): boolean {
  if (run.isClosing || loopVersionOf(run.state).compaction === undefined) return false;
  run.compactRequest ??= { orders: [] };
  const request = run.compactRequest;
  for (const id of orders) if (!request.orders.includes(id)) request.orders.push(id);
  return true;
}

export interface OrderWatcher {
  /** Looks for orders now: some may have waited for this process to take a tree. */
  check(): Promise<void>;
  /** Stops watching. Resolves when the check that is under way is done. */
  close(): Promise<void>;
}

/** Applies orders whenever the store reports a change. `onLost`: another process has taken over a tree; its orders are no longer ours. */
export function watchOrders(services: Services, onLost: (rootId: string, error: RetinueError) => void): OrderWatcher {
  const { store, owner, runs } = services;
  let checking: Promise<void> | null = null;
  let isDue = false;

  function check(): Promise<void> {
    isDue = true;
    checking ??= checkWhileDue();
    return checking;
  }

  async function checkWhileDue(): Promise<void> {
    while (isDue) {
      isDue = false;
      await applyAll();
    }
    checking = null;
  }

  async function applyAll(): Promise<void> {
    try {
      await findLostTrees();
      // An order that cannot be applied, because its tree is just being lost, must not block the others.
      for (const order of sortRefusalsFirst(await store.orders(owner))) await applyOrder(order, services).catch(() => {});
    } catch {
      // A failure of the store is retried at the next wake-up; the orders stay.
    }
  }

  /** A run that waits writes nothing, so it would not notice otherwise. */
  async function findLostTrees(): Promise<void> {
    const roots = [...runs.values()].filter(({ parent }) => parent === null);
    if (roots.length === 0) return;
    const holders = await store.holders(roots.map(({ id }) => id));
    for (const root of roots) {
      const holder = holders.get(root.id) ?? null;
      if (holder?.owner === owner.id || (holder === null && !(await isReleased(root.id)))) continue;
      // A root that was replaced meanwhile belongs to a tree that this process has claimed again.
      if (runs.get(root.id) !== root) continue;
      const by = holder === null ? 'another process' : `process ${holder.pid}`;
      onLost(root.id, new RetinueError('fenced', `tree ${root.id} was taken over by ${by}`));
    }
  }

  /** Whether another process took a tree and released it again. A tree that is just being created has an owner by the time of the second look. */
  async function isReleased(rootId: string): Promise<boolean> {
    if ((await store.run(rootId)) === null) return false;
    return ((await store.holders([rootId])).get(rootId)?.owner ?? null) !== owner.id;
  }

  const unwatch = store.watch(() => void check(), 'orders');
  return {
    check,
    async close() {
      unwatch();
      await checking;
    },
  };
}

/** If both an approval and a refusal of one question are waiting, the refusal counts. */
function sortRefusalsFirst(orders: Order[]): Order[] {
  return orders.toSorted((a, b) => Number(b.kind === 'refuse') - Number(a.kind === 'refuse'));
}

async function applyOrder(order: Order, services: Services): Promise<void> {
  const { store, owner, runs } = services;
  const run = runs.get(order.runId);
  // Its tree is just being resumed, or could not be: the order waits for the process that does it.
  if (!run && (await isOpen(order.runId, store))) return;
  if (run && run.state.phase.name !== 'ended' && (await applyToRun(order, run, services))) return;
  await store.dropOrders(owner, [order.id]);
}

async function isOpen(runId: string, store: Store): Promise<boolean> {
  const row = await store.run(runId);
  return row !== null && isLive(row.status);
}

/** False if the order has no effect on the run as it is now. */
async function applyToRun(order: Order, run: Run, services: Services): Promise<boolean> {
  const { id, kind, by, text, call } = order;
  // A client takes no steps, so it can only be cancelled. A flow reads no messages.
  if (!run.work && kind !== 'cancel' && (!run.program || kind === 'message')) return false;
  switch (kind) {
    case 'cancel':
      await cancelRun(run, { reason: text, by, orders: [id] }, services);
      return true;
    case 'message':
      if (run.isClosing) return false;
      await sendMessage(run, { text, from: by, rules: order.rules, order: id }, services);
      return true;
    case 'approve':
    case 'refuse': {
      const answer = { allowed: kind === 'approve', by, always: call?.always, reason: text };
      return call !== undefined && answerApproval(run, { call, answer, order: id }, services);
    }
    case 'compact':
      return requestCompaction(run, [id]);
    case 'pause':
      if (run.state.paused) return false;
      requestPause(run, services.redact(text.toWellFormed(), false), { orders: [id] });
      return true;
    case 'resume': {
      const wasPaused = run.state.paused !== null;
      const withdrawn = resumeRun(run, by, [id]);
      // A pause that had not begun ends without a fact, so its orders are dropped here.
      if (withdrawn.length > 0) await services.store.dropOrders(services.owner, withdrawn);
      return wasPaused;
    }
  }
}
