// Which process drives which tree: one lease (a row of `owners`) per registered process, kept alive by heartbeats. Each tree names its owner.
//
// 1. Only the owner that a tree names may write to it. It is checked inside the append's own transaction.
// 2. Taking a tree changes the name. The other trees of the previous owner stay its own, and can be taken one by one while it is silent.
// 3. An owner without a row holds nothing: releasing a lease deletes the row, however many trees name the owner.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Claim, Holder, Owner } from '../../ports/store.ts';
import { getOwnIdentity, hasEnded, type ProcessIdentity } from '../process-identity.ts';
import { createUnregisteredError } from '../unregistered.ts';
import type { Timing } from './options.ts';
import type { RunTags } from './run-tags.ts';
import type { Statements, Tables } from './tables.ts';
import type { Writer } from './writer.ts';

type OwnerRow = Tables['owners'];

export interface Leases {
  open(socketName: string | null): Promise<Owner>;
  claim(owner: Owner, rootId: string): Promise<Claim>;
  releaseTree(owner: Owner, rootId: string): Promise<void>;
  release(owner: Owner): Promise<void>;
  /** Whether a claim on this owner's trees would be refused. */
  isHeld(owner: OwnerRow): boolean;
  findHolders(rootIds: string[]): Promise<Map<string, Holder | null>>;
  /** Releases the leases of this store, in one attempt. */
  close(): void;
}

/** Far below the number of values that SQLite can bind. */
const rootsPerQuery = 500;

export interface LeaseDeps {
  db: DatabaseSync;
  statements: Statements;
  writer: Writer;
  tags: RunTags;
  now: () => number;
  timing: Timing;
}

export function createLeases({ db, statements, writer, tags, now, timing }: LeaseDeps): Leases {
  const self: ProcessIdentity = getOwnIdentity();
  const heartbeatTimers = new Map<string, NodeJS.Timeout>();
  const unreleased = new Set<string>();
  const insertOwner = db.prepare('INSERT INTO owners (id, pid, started, boot, space, beat, socket) VALUES (?, ?, ?, ?, ?, ?, ?)');
  const updateHeartbeat = db.prepare('UPDATE owners SET beat = ? WHERE id = ?');
  const deleteOwner = db.prepare('DELETE FROM owners WHERE id = ?');
  const selectOwners = db.prepare('SELECT * FROM owners');
  const selectOwner = db.prepare('SELECT * FROM owners WHERE id = ?');
  const selectTree = db.prepare('SELECT owner FROM trees WHERE root = ?');
  const takeTree = db.prepare('INSERT INTO trees (root, owner) VALUES (?, ?) ON CONFLICT (root) DO UPDATE SET owner = excluded.owner');
  const freeTree = db.prepare('UPDATE trees SET owner = NULL WHERE root = ? AND owner = ?');
  const selectLiveRun = db.prepare('SELECT 1 FROM runs JOIN trees ON trees.n = runs.tree WHERE runs.live = 1 AND trees.owner = ? LIMIT 1');

  const isHeld = createLeaseCheck(now, timing, self);

  /** Also removes the rows of dead owners that drive nothing. */
  async function open(socketName: string | null): Promise<Owner> {
    const owner = { id: randomBytes(8).toString('hex') };
    await writer.write(() => {
      for (const other of selectOwners.all() as unknown as OwnerRow[]) {
        if (hasEnded(other, self) && selectLiveRun.get(other.id) === undefined) deleteOwner.run(other.id);
      }
      insertOwner.run(owner.id, self.pid, self.started, self.boot, self.space, Math.floor(now()), socketName);
    });
    scheduleHeartbeat(owner, timing.heartbeat);
    return owner;
  }

  function scheduleHeartbeat(owner: Owner, delayMs: number): void {
    heartbeatTimers.set(owner.id, setTimeout(() => scheduleHeartbeat(owner, sendHeartbeat(owner)), delayMs).unref());
  }

  /** Returns the delay until the next heartbeat. Tried once, not queued: the next heartbeat replaces a failed one. */
  function sendHeartbeat(owner: Owner): number {
    try {
      writer.tryNow(() => updateHeartbeat.run(Math.floor(now()), owner.id));
      return timing.heartbeat;
    } catch {
      return timing.heartbeat / 10;
    }
  }

  function claim(owner: Owner, rootId: string): Promise<Claim> {
    return writer.write(() => {
      if (selectOwner.get(owner.id) === undefined) throw createUnregisteredError();
      const holderId = selectTree.get(rootId)?.owner as string | null | undefined;
      if (holderId === owner.id) return { ok: true, previous: null };
      const holder = holderId ? (selectOwner.get(holderId) as OwnerRow | undefined) : undefined;
      if (holder !== undefined && isHeld(holder)) return { ok: false, owner: holder.id, pid: holder.pid };
      tags.claimTree(rootId);
      takeTree.run(rootId, owner.id);
      return { ok: true, previous: holder?.id ?? null };
    });
  }

  async function releaseTree(owner: Owner, rootId: string): Promise<void> {
    await writer.write(() => freeTree.run(rootId, owner.id));
  }

  async function release(owner: Owner): Promise<void> {
    stopHeartbeat(owner.id);
    // If the row cannot be deleted, `close` tries again; without heartbeats the lease expires.
    unreleased.add(owner.id);
    await writer.write(() => deleteOwner.run(owner.id));
    unreleased.delete(owner.id);
  }

  function stopHeartbeat(id: string): void {
    clearTimeout(heartbeatTimers.get(id));
    heartbeatTimers.delete(id);
  }

  function close(): void {
    const ids = [...heartbeatTimers.keys(), ...unreleased];
    for (const id of ids) stopHeartbeat(id);
    try {
      if (ids.length > 0) writer.tryNow(() => ids.map((id) => deleteOwner.run(id)));
    } catch {
      // Another process is writing. Without heartbeats the leases expire.
    }
  }

  return { open, claim, releaseTree, release, isHeld, findHolders: createHolderQuery(statements, isHeld), close };
}

/** Whether a claim on an owner's trees would be refused. */
export function createLeaseCheck(now: () => number, timing: Timing, self: ProcessIdentity = getOwnIdentity()): Leases['isHeld'] {
  return (owner) => {
    // A heartbeat in the future comes from before the machine was restarted.
    if (Math.abs(now() - owner.beat) > timing.silence) return false;
    return !hasEnded(owner, self);
  };
}

const selectHolders =
  'SELECT owners.*, root FROM trees JOIN owners ON owners.id = trees.owner WHERE root IN (SELECT value FROM json_each(?))';

/** Finds the processes that own trees. Only reads. */
export function createHolderQuery(statements: Statements, isHeld: Leases['isHeld']): Leases['findHolders'] {
  return async (rootIds) => {
    const holders = new Map<string, Holder | null>(rootIds.map((rootId) => [rootId, null]));
    const aliveById = new Map<string, boolean>();
    for (let start = 0; start < rootIds.length; start += rootsPerQuery) {
      const roots = JSON.stringify(rootIds.slice(start, start + rootsPerQuery));
      for (const row of statements(selectHolders).all(roots)) {
        const owner = row as unknown as Tables['owners'] & { root: string };
        if (!aliveById.has(owner.id)) aliveById.set(owner.id, isHeld(owner));
        holders.set(owner.root, { owner: owner.id, pid: owner.pid, alive: aliveById.get(owner.id) === true });
      }
    }
    return holders;
  };
}
