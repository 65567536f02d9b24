// Which process drives which tree: one lease (a row of `owners`) per registered process, kept alive by heartbeats. Each tree names its owner.
//
// 1. Only the owner that a tree names, with the fence that it got with the tree, may write to it. It is checked inside the append's own transaction.
// 2. Taking a tree changes the name and raises the fence. The other trees of the previous owner stay its own, and can be taken one by one while it is silent.
// 3. An owner without a row holds nothing: releasing a lease deletes the row, however many trees name the owner.
// 4. All times are the database's. A process of the same machine that has ended is dead at once; about others only the heartbeat tells.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Claim, Holder, Owner } from '../../ports/store.ts';
import { hasEndedHere } from '../process-identity.ts';
import { createUnregisteredError } from '../unregistered.ts';
import type { Connections } from './connections.ts';
import type { Jobs } from './jobs.ts';
import type { Liveness, OwnerRow } from './liveness.ts';
import { takeLocks, treeLock } from './locks.ts';
import type { Ownership, Ownerships } from './ownership.ts';
import type { RunTags } from './run-tags.ts';
import type { Query, Transaction } from './transaction.ts';

export interface Leases {
  open(queues?: string[]): Promise<Owner>;
  claim(owner: Owner, rootId: string): Promise<Claim>;
  release(owner: Owner): Promise<void>;
  releaseTree(owner: Owner, rootId: string): Promise<void>;
  findHolders(rootIds: string[]): Promise<Map<string, Holder | null>>;
  /** The ids of the owners that are registered by this store. */
  ids(): string[];
  /** The statement that renews all leases of this store; null if it has none. */
  heartbeat(): Query | null;
  /** Whether any process may be driving runs. */
  isAnyAlive(): Promise<boolean>;
}

export interface LeaseDeps {
  connections: Connections;
  ownerships: Ownerships;
  tags: RunTags;
  jobs: Jobs;
  liveness: Liveness;
  /** The channel on which owners are woken. */
  wakeChannel: string;
  name?: string | undefined;
}

/** A tree with its owner. `id`: null if the owner has no row. */
type TreeRow = Omit<OwnerRow, 'id'> & { owner: string | null; id: string | null };

/** `ownership`: null if the tree was not taken. */
interface ClaimResult {
  claim: Claim;
  ownership: Ownership | null;
}

/** A crashed process of another machine leaves its row behind. It is removed after this long, if it drives nothing. */
const keepSilent = '1 day';

export function createLeases({ connections, ownerships, tags, jobs, liveness, wakeChannel, name }: LeaseDeps): Leases {
  const { schema: s } = connections;
  const { self, columns: ownerColumns, isSilent, isHeld } = liveness;
  const opened = new Set<string>();

  /** Also removes the rows of dead owners that drive nothing. */
  async function open(queues: string[] = []): Promise<Owner> {
    const owner = { id: randomBytes(8).toString('hex') };
    await connections.transact(async (transaction) => {
      const others = await transaction.query<OwnerRow & { isOld: boolean }>({
        text: `SELECT ${ownerColumns}, owners.beat < clock_timestamp() - interval '${keepSilent}' AS "isOld" FROM ${s}.owners`,
      });
      const dead = others.filter((other) => other.isOld || hasEndedHere(other, self)).map(({ id }) => id);
      if (dead.length > 0)
        transaction.send({
          text: `DELETE FROM ${s}.owners WHERE id = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM ${s}.trees JOIN ${s}.runs ON runs.tree = trees.n WHERE trees.owner = owners.id AND runs.live)`,
          values: [dead],
        });
      transaction.send({
        text: `INSERT INTO ${s}.owners (id, name, pid, started, boot, space, beat, queues, host) VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), $7, $8)
          ON CONFLICT (id) DO NOTHING`,
        values: [owner.id, name ?? `${hostname()}:${self.pid}`, self.pid, self.started, self.boot, self.space, queues, hostname()],
      });
    });
    opened.add(owner.id);
    return owner;
  }

  async function claim(owner: Owner, rootId: string): Promise<Claim> {
    return ownerships.inOrder([rootId], async () => {
      const queue = await jobs.findQueue(rootId);
      if (queue !== null) await jobs.prepare([queue]);
      let last: ClaimResult | null = null;
      const { claim, ownership } = await connections.transact(async (transaction, mayBeCommitted) => {
        takeLocks(transaction, [treeLock(s, rootId)]);
        const { isRegistered, tree } = await readTree(transaction, owner, rootId);
        if (!isRegistered) throw createUnregisteredError();
        // If the answer to an earlier attempt was lost, the tree may be ours by that attempt.
        if (tree?.owner === owner.id)
          return mayBeCommitted && last !== null ? last : { claim: { ok: true, previous: null } as const, ownership: null };
        const holder = tree?.id == null ? null : (tree as OwnerRow);
        if (holder !== null && isHeld(holder)) return { claim: { ok: false, owner: holder.id, pid: holder.pid } as const, ownership: null };
        const consumed = await tags.claimTree(transaction, rootId);
        const [taken] = await transaction.query<{ fence: number }>({
          text: `INSERT INTO ${s}.trees (n, root, owner, fence) VALUES (nextval('${s}.trees_n'), $1, $2, 1)
            ON CONFLICT (root) DO UPDATE SET owner = excluded.owner, fence = trees.fence + 1 RETURNING fence`,
          values: [rootId, owner.id],
        });
        if (queue !== null) await jobs.ensure(transaction, rootId);
        // The previous owner may wait and write nothing, so it is notified.
        if (holder !== null) transaction.send({ text: 'SELECT pg_notify($1, $2)', values: [wakeChannel, holder.id] });
        last = { claim: { ok: true, previous: holder?.id ?? null }, ownership: { fence: (taken as { fence: number }).fence, consumed } };
        return last;
      });
      if (ownership !== null) ownerships.set(owner, rootId, ownership);
      return claim;
    });
  }

  async function readTree(
    transaction: Transaction,
    owner: Owner,
    rootId: string,
  ): Promise<{ isRegistered: boolean; tree: TreeRow | null }> {
    const [registered, trees] = await Promise.all([
      transaction.query({ text: `SELECT 1 FROM ${s}.owners WHERE id = $1`, values: [owner.id] }),
      transaction.query<TreeRow>({
        text: `SELECT trees.owner, ${ownerColumns}, ${isSilent} AS "isSilent"
          FROM ${s}.trees LEFT JOIN ${s}.owners ON owners.id = trees.owner WHERE trees.root = $1`,
        values: [rootId],
      }),
    ]);
    return { isRegistered: registered.length > 0, tree: trees[0] ?? null };
  }

  async function release(owner: Owner): Promise<void> {
    // Without heartbeats the lease expires, should the row stay.
    opened.delete(owner.id);
    ownerships.remove(owner);
    await connections.query({ text: `DELETE FROM ${s}.owners WHERE id = $1`, values: [owner.id] });
  }

  /** The fence rises, so an append that was called before is refused even if the same process claims the tree again. */
  async function releaseTree(owner: Owner, rootId: string): Promise<void> {
    await ownerships.inOrder([rootId], async () => {
      ownerships.forget(owner, rootId);
      await connections.query({
        text: `UPDATE ${s}.trees SET owner = NULL, fence = fence + 1 WHERE root = $1 AND owner = $2`,
        values: [rootId, owner.id],
      });
    });
  }

  async function findHolders(rootIds: string[]): Promise<Map<string, Holder | null>> {
    const holders = new Map<string, Holder | null>(rootIds.map((rootId) => [rootId, null]));
    if (rootIds.length === 0) return holders;
    const found = await connections.query<OwnerRow & { root: string; name: string; isWorker: boolean }>({
      text: `SELECT trees.root, owners.name, cardinality(owners.queues) > 0 AS "isWorker", ${ownerColumns}, ${isSilent} AS "isSilent"
        FROM ${s}.trees JOIN ${s}.owners ON owners.id = trees.owner WHERE trees.root = ANY($1)`,
      values: [rootIds],
    });
    const aliveById = new Map<string, boolean>();
    for (const owner of found) {
      if (!aliveById.has(owner.id)) aliveById.set(owner.id, isHeld(owner));
      const { id, pid, root, name: worker, isWorker } = owner;
      holders.set(root, { owner: id, pid, alive: aliveById.get(id) === true, ...(isWorker && { worker }) });
    }
    return holders;
  }

  return {
    open,
    claim,
    release,
    releaseTree,
    findHolders,
    ids: () => [...opened],
    heartbeat: () =>
      opened.size === 0
        ? null
        : { name: 'heartbeat', text: `UPDATE ${s}.owners SET beat = clock_timestamp() WHERE id = ANY($1)`, values: [[...opened]] },
    async isAnyAlive() {
      const owners = await connections.query<OwnerRow>({ text: `SELECT ${ownerColumns}, ${isSilent} AS "isSilent" FROM ${s}.owners` });
      return owners.some(isHeld);
    },
  };
}
