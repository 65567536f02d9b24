// What this process knows about the trees that it owns: the fence of each, and the orders that were consumed.
//
// 1. A record belongs to one ownership. Claiming the tree again makes a new one, so a call that began under an earlier ownership is told apart, even
//    if the owner is the same.
// 2. Calls that change a tree run one after another, in the order in which they were made: an append that overtook an earlier one would leave a gap.
import type { Owner } from '../../ports/store.ts';
import type { ConsumedIds } from '../run-heads.ts';

export interface Ownership {
  /** Of the tree in the database; null before the first append or claim. */
  fence: number | null;
  /** The orders that were consumed, by run, whatever somebody removes from the table. */
  consumed: ConsumedIds;
}

export interface Ownerships {
  /** The current record; a new one if this process has not written to the tree yet. */
  get(owner: Owner, rootId: string): Ownership;
  /** Whether no claim has replaced the record since. */
  isCurrent(owner: Owner, rootId: string, ownership: Ownership): boolean;
  set(owner: Owner, rootId: string, ownership: Ownership): void;
  /** The tree has ended or was lost, so its fence is not needed any more. A record with consumed orders is kept. */
  forget(owner: Owner, rootId: string): void;
  /** The trees of all owners that have not ended, as far as they are known. */
  list(): { ownerId: string; rootId: string }[];
  /** Forgets everything about an owner. */
  remove(owner: Owner): void;
  isConsumed(owner: Owner, rootId: string, orderId: string): boolean;
  /** Runs `work` after all earlier work on any of these trees. */
  inOrder<T>(rootIds: string[], work: () => Promise<T>): Promise<T>;
}

export function createOwnerships(): Ownerships {
  const records = new Map<string, Map<string, Ownership>>();
  const active = new Map<string, Set<string>>();
  const tails = new Map<string, Promise<unknown>>();

  function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
    const found = map.get(key) ?? create();
    map.set(key, found);
    return found;
  }

  const recordsOf = (owner: Owner) => getOrCreate(records, owner.id, () => new Map<string, Ownership>());
  const activeOf = (owner: Owner) => getOrCreate(active, owner.id, () => new Set<string>());

  return {
    get(owner, rootId) {
      return getOrCreate(recordsOf(owner), rootId, () => ({ fence: null, consumed: new Map() }));
    },
    isCurrent(owner, rootId, ownership) {
      const current = records.get(owner.id)?.get(rootId);
      return current === undefined || current === ownership;
    },
    set(owner, rootId, ownership) {
      recordsOf(owner).set(rootId, ownership);
      activeOf(owner).add(rootId);
    },
    forget(owner, rootId) {
      active.get(owner.id)?.delete(rootId);
      const known = records.get(owner.id);
      if (known?.get(rootId)?.consumed.size === 0) known.delete(rootId);
    },
    list: () => [...active].flatMap(([ownerId, rootIds]) => [...rootIds].map((rootId) => ({ ownerId, rootId }))),
    remove(owner) {
      records.delete(owner.id);
      active.delete(owner.id);
    },
    isConsumed(owner, rootId, orderId) {
      return [...(records.get(owner.id)?.get(rootId)?.consumed.values() ?? [])].some((ids) => ids.has(orderId));
    },
    inOrder(rootIds, work) {
      const waiting = [...new Set(rootIds)];
      const earlier = waiting.flatMap((rootId) => tails.get(rootId) ?? []);
      // Nothing to wait for is the rule; then the work begins at once.
      const result = earlier.length === 0 ? work() : Promise.all(earlier).then(work);
      const settled = result.then(
        () => {},
        () => {},
      );
      for (const rootId of waiting) tails.set(rootId, settled);
      void settled.then(() => {
        for (const rootId of waiting) if (tails.get(rootId) === settled) tails.delete(rootId);
      });
      return result;
    },
  };
}
