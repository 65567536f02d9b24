// Who drives which tree. One row of `owners` per registered process; a tree names its owner.
//
// 1. Only the fence decides whether an owner may write: it is checked inside the append's own transaction.
// 2. Taking a tree from an owner raises that owner's fence and takes its heartbeat away (null): all its trees are free then,
//    and no later heartbeat, which must match the fence, brings it back.
// 3. An owner without a row holds nothing: releasing is deleting the row, however many trees name it.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import type { Claim, Owner } from '../../ports/store.ts';
import type { Timing } from './options.ts';
import { type Identity, isGone, ownIdentity } from './process-identity.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

type OwnerRow = Tables['owners'];

export interface Leases {
  open(socket: string | null): Promise<Owner>;
  claim(owner: Owner, rootId: string): Promise<Claim>;
  release(owner: Owner): Promise<void>;
  /** Whether a claim on this owner's trees would be refused. */
  isHeld(owner: OwnerRow): boolean;
  /** Releases whatever this store has registered, in one attempt. */
  close(): void;
}

export function createLeases(db: DatabaseSync, writer: Writer, options: { now: () => number; timing: Timing }): Leases {
  const { now, timing } = options;
  const self: Identity = ownIdentity();
  const beats = new Map<string, NodeJS.Timeout>();
  const add = db.prepare('INSERT INTO owners (id, pid, started, boot, space, fence, beat, socket) VALUES (?, ?, ?, ?, ?, 1, ?, ?)');
  const beat = db.prepare('UPDATE owners SET beat = ? WHERE id = ? AND fence = ? AND beat IS NOT NULL');
  const remove = db.prepare('DELETE FROM owners WHERE id = ?');
  const all = db.prepare('SELECT * FROM owners');
  const fence = db.prepare('UPDATE owners SET fence = fence + 1, beat = NULL WHERE id = ? AND beat IS NOT NULL');
  const ownerOf = db.prepare('SELECT * FROM owners WHERE id = ?');
  const treeOf = db.prepare('SELECT owner FROM trees WHERE root = ?');
  const take = db.prepare('INSERT INTO trees (root, owner) VALUES (?, ?) ON CONFLICT (root) DO UPDATE SET owner = excluded.owner');
  const drives = db.prepare('SELECT 1 FROM runs JOIN trees ON trees.n = runs.tree WHERE runs.live = 1 AND trees.owner = ? LIMIT 1');

  function isHeld(owner: OwnerRow): boolean {
    // A heartbeat of the future is one of an earlier start of the machine.
    if (owner.beat === null || Math.abs(now() - owner.beat) > timing.silence) return false;
    return !isGone(owner, self);
  }

  async function open(socket: string | null): Promise<Owner> {
    const owner = { id: randomBytes(8).toString('hex'), fence: 1 };
    await writer.write(() => {
      for (const other of all.all() as unknown as OwnerRow[]) {
        if ((other.beat === null || isGone(other, self)) && drives.get(other.id) === undefined) remove.run(other.id);
      }
      add.run(owner.id, self.pid, self.started, self.boot, self.space, Math.floor(now()), socket);
    });
    schedule(owner, timing.heartbeat);
    return owner;
  }

  function schedule(owner: Owner, delay: number): void {
    beats.set(owner.id, setTimeout(() => schedule(owner, sendBeat(owner)), delay).unref());
  }

  /** Tells after how long to send the next one. Nobody waits for a heartbeat, so it stands in no queue. */
  function sendBeat(owner: Owner): number {
    try {
      writer.once(() => beat.run(Math.floor(now()), owner.id, owner.fence));
      return timing.heartbeat;
    } catch {
      return timing.heartbeat / 10;
    }
  }

  function claim(owner: Owner, rootId: string): Promise<Claim> {
    return writer.write(() => {
      const mine = ownerOf.get(owner.id) as OwnerRow | undefined;
      if (mine?.fence !== owner.fence) throw new RetinueError('fenced', 'Another process has taken over what this one drove.');
      const holder = treeOf.get(rootId)?.owner as string | null | undefined;
      if (holder === owner.id) return { ok: true, previous: null };
      const previous = holder ? (ownerOf.get(holder) as OwnerRow | undefined) : undefined;
      if (previous !== undefined && isHeld(previous)) return { ok: false, owner: previous.id, pid: previous.pid };
      if (previous !== undefined) fence.run(previous.id);
      take.run(rootId, owner.id);
      return { ok: true, previous: previous?.id ?? null };
    });
  }

  async function release(owner: Owner): Promise<void> {
    forget(owner.id);
    await writer.write(() => remove.run(owner.id));
  }

  function forget(id: string): void {
    clearTimeout(beats.get(id));
    beats.delete(id);
  }

  function close(): void {
    const ids = [...beats.keys()];
    for (const id of ids) forget(id);
    try {
      if (ids.length > 0) writer.once(() => ids.map((id) => remove.run(id)));
    } catch {
      // Somebody else is writing: without heartbeats the leases end by themselves.
    }
  }

  return { open, claim, release, isHeld, close };
}
