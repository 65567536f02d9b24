// Appends units: two round trips, the first for the locks and the stored state, the second for all writes and the commit.
//
// 1. The locks of all trees come before anything that gives the transaction an id (locks.ts).
// 2. If the answer to the commit is lost, the next attempt gets the locks only after the lost transaction has ended, and then finds its facts or not.
import type { AppendResult, OrderAuthenticator, Owner, TreeAppend } from '../../ports/store.ts';
import { addConsumed } from '../run-heads.ts';
import { type AppendPlan, isLiveRow, planAppend } from './append-plan.ts';
import { readState } from './append-state.ts';
import { type NewBlob, sendWrites } from './append-write.ts';
import type { Connections } from './connections.ts';
import type { Jobs } from './jobs.ts';
import { blobLock, rootKeyLock, takeLocks, treeLock } from './locks.ts';
import type { Ownership, Ownerships } from './ownership.ts';
import type { Transaction } from './transaction.ts';

const maxKnownBlobs = 10_000;

export interface AppendDeps {
  connections: Connections;
  ownerships: Ownerships;
  authenticator: OrderAuthenticator | undefined;
  jobs: Jobs;
}

export type Append = (owner: Owner, units: TreeAppend[]) => Promise<AppendResult[]>;

export function createAppender({ connections, ownerships, authenticator, jobs }: AppendDeps): Append {
  const { schema: s } = connections;
  // Pairs of tree and blob that are certainly stored: a tree that is appended to has not ended, and only ended trees are erased.
  const knownBlobs = new Set<string>();

  return async (owner, units) => {
    if (units.length === 0) return [];
    const given = units.map(({ rootId }) => ownerships.get(owner, rootId));
    const rootIds = units.map(({ rootId }) => rootId);
    // Outside the transaction, because it may need another connection of the pool.
    await jobs.prepare(units.flatMap(({ job }) => job?.queue ?? []));
    return ownerships.inOrder(rootIds, async () => {
      let sent: AppendPlan | null = null;
      const plan = await connections.transact(async (transaction, mayBeCommitted) => {
        lockAll(transaction, units);
        const [stored, wasWritten] = await Promise.all([
          readState(transaction, s, units, owner),
          mayBeCommitted && sent !== null ? isWritten(transaction, sent) : false,
        ]);
        if (wasWritten) return sent as AppendPlan;
        const current = given.map((each, index) => (ownerships.isCurrent(owner, rootIds[index] as string, each) ? each : null));
        sent = planAppend(units, stored, { owner, ownerships: current, authenticator });
        sendWrites(transaction, s, sent, { ownerId: owner.id, blobs: listNewBlobs(sent) });
        for (const { root, job } of sent.newTrees) if (job !== null) await jobs.send(transaction, root, job);
        return sent;
      });
      remember(owner, units, { plan, given });
      return plan.results;
    });
  };

  function lockAll(transaction: Transaction, units: TreeAppend[]): void {
    const keys = new Set<string>();
    let hasBlobs = false;
    for (const { rootId, rows, blobs } of units) {
      keys.add(treeLock(s, rootId));
      hasBlobs ||= blobs.some(({ hash }) => !knownBlobs.has(`${rootId} ${hash}`));
      for (const { parentId, idempotencyKey } of rows)
        if (parentId === null && idempotencyKey !== null) keys.add(rootKeyLock(s, idempotencyKey));
    }
    takeLocks(transaction, keys, hasBlobs ? blobLock(s) : null);
  }

  /** Whether the transaction that was lost was committed. An append without facts changes nothing when it is repeated. */
  async function isWritten(transaction: Transaction, { facts, xid }: AppendPlan): Promise<boolean> {
    const first = facts[0];
    if (first === undefined) return false;
    const { runId, seq } = first.fact;
    const found = await transaction.query({
      text: `SELECT 1 FROM ${s}.facts JOIN ${s}.runs ON runs.n = facts.run WHERE runs.id = $1 AND facts.seq = $2 AND facts.xid = $3::xid8`,
      values: [runId, seq, xid],
    });
    return found.length > 0;
  }

  function listNewBlobs({ accepted }: AppendPlan): NewBlob[] {
    return accepted.flatMap(({ unit, tree }) =>
      unit.blobs.filter(({ hash }) => !knownBlobs.has(`${unit.rootId} ${hash}`)).map((blob) => ({ ...blob, tree })),
    );
  }

  /** After the commit. */
  function remember(owner: Owner, units: TreeAppend[], { plan, given }: { plan: AppendPlan; given: Ownership[] }): void {
    for (const { rootId, runId, id } of plan.consumed) addConsumed(ownerships.get(owner, rootId).consumed, { runId, id });
    const created = new Map(plan.newTrees.map(({ root, job }) => [root, job]));
    for (const [index, { rootId, rows, blobs }] of units.entries()) {
      if (plan.results[index]?.ok !== true) {
        if (plan.results[index]?.ok === false && plan.results[index].reason === 'fenced') forgetLost(owner, rootId, given[index]);
        continue;
      }
      for (const { hash } of blobs) rememberBlob(`${rootId} ${hash}`);
      // A tree with a job has no owner.
      if (created.get(rootId)) continue;
      const ownership = ownerships.get(owner, rootId);
      if (created.has(rootId)) ownership.fence = 1;
      ownerships.set(owner, rootId, ownership);
      const root = rows.findLast(({ runId }) => runId === rootId);
      if (root !== undefined && !isLiveRow(root)) ownerships.forget(owner, rootId);
    }
  }

  /** A refused unit of an earlier ownership says nothing about the current one. */
  function forgetLost(owner: Owner, rootId: string, ownership: Ownership | undefined): void {
    if (ownership !== undefined && ownerships.isCurrent(owner, rootId, ownership)) ownerships.forget(owner, rootId);
  }

  /** A set keeps the order of insertion, so its first entry is the oldest. */
  function rememberBlob(name: string): void {
    knownBlobs.delete(name);
    knownBlobs.add(name);
    if (knownBlobs.size > maxKnownBlobs) knownBlobs.delete(knownBlobs.values().next().value as string);
  }
}
