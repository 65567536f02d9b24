/**
 * Slots: which run goes on now and which is next. It knows nothing of what a run does, keeps no time and polls nothing;
 * a run that waits for its children gives its slot back and asks again with `front`.
 *
 *  1. At most `slots` slots are out, and of one parent's children at most its limit. Roots (no parent) know only the first bound.
 *  2. No slot is lost: each is with exactly one holder or free. A slot is never free while somebody could use it.
 *  3. First come, first served among the children of one parent; those that had a slot before (`front`) go before the others.
 *  4. Trees take turns, and in a tree its parents: a tree that could go on is passed over by each other tree at most once.
 *  5. A request whose signal has fired is never granted. A slot granted before that is the caller's to release.
 *  6. Each step costs the same however much is queued; of trees with nothing active or queued nothing is kept.
 */
import { RetinueError } from '../contract/error.ts';

export interface Slot {
  /** Gives the slot back; again: nothing. */
  release(): void;
}

export interface SlotRequest {
  rootId: string;
  parentId: string | null;
  /** Children of that parent at once. */
  limit: number;
  /** A run that had a slot and wants to go on. */
  front?: boolean;
  signal: AbortSignal;
}

export interface Scheduler {
  /** Null: the signal fired while the request was queued. Never rejects; a limit below 1 is misuse and throws. */
  acquire(request: SlotRequest): Promise<Slot | null>;
  /** False when as many are queued as may be. Admission asks; `acquire` itself turns nobody away. */
  room(): boolean;
  stats(): { active: number; queued: number; trees: number };
  active(parentId: string | null, rootId: string): number;
}

interface Linked<T> {
  before: T | null;
  after: T | null;
}

interface Waiter extends Linked<Waiter> {
  request: SlotRequest;
  parent: Parent;
  queued: boolean;
  resolve(slot: Slot | null): void;
  cancel(): void;
}

interface Parent extends Linked<Parent> {
  id: string | null;
  tree: Tree;
  active: number;
  front: Chain<Waiter>;
  back: Chain<Waiter>;
  /** Whether it is in its tree's `ready`: its next request could be granted, were a slot free. */
  ready: boolean;
}

interface Tree extends Linked<Tree> {
  id: string;
  parents: Map<string | null, Parent>;
  ready: Chain<Parent>;
}

export function createScheduler(options: { slots: number; maxQueued: number }): Scheduler {
  atLeastOne('slots', options.slots);
  const trees = new Map<string, Tree>();
  /** Trees with a parent that is ready, in the order of their turns. */
  const ready = new Chain<Tree>();
  let active = 0;
  let queued = 0;

  function acquire(request: SlotRequest): Promise<Slot | null> {
    if (request.parentId !== null) atLeastOne('maxConcurrent', request.limit);
    if (request.signal.aborted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<Slot | null>();
    const parent = parentOf(request);
    const waiter: Waiter = { request, parent, queued: true, resolve, cancel: () => cancel(waiter), before: null, after: null };
    (request.front ? parent.front : parent.back).add(waiter);
    queued++;
    refresh(parent);
    pump();
    if (waiter.queued) request.signal.addEventListener('abort', waiter.cancel, { once: true });
    return promise;
  }

  function parentOf({ rootId, parentId }: SlotRequest): Parent {
    let tree = trees.get(rootId);
    if (tree === undefined) {
      tree = { id: rootId, parents: new Map(), ready: new Chain(), before: null, after: null };
      trees.set(rootId, tree);
    }
    let parent = tree.parents.get(parentId);
    if (parent === undefined) {
      parent = { id: parentId, tree, active: 0, front: new Chain(), back: new Chain(), ready: false, before: null, after: null };
      tree.parents.set(parentId, parent);
    }
    return parent;
  }

  /** Gives out free slots. A waiter whose signal has fired but whose listener has not run yet is passed over (invariant 5). */
  function pump(): void {
    while (active < options.slots && ready.first !== null) {
      const tree = ready.first;
      const parent = tree.ready.first!;
      const waiter = next(parent)!;
      leaveQueue(waiter);
      const stopped = waiter.request.signal.aborted;
      if (!stopped) {
        active++;
        parent.active++;
        ready.toEnd(tree);
        tree.ready.toEnd(parent);
      }
      refresh(parent);
      waiter.resolve(stopped ? null : slotOf(parent));
    }
  }

  function slotOf(parent: Parent): Slot {
    let held = true;
    return {
      release() {
        if (!held) return;
        held = false;
        active--;
        parent.active--;
        refresh(parent);
        pump();
      },
    };
  }

  function cancel(waiter: Waiter): void {
    leaveQueue(waiter);
    refresh(waiter.parent);
    waiter.resolve(null);
    pump();
  }

  function leaveQueue(waiter: Waiter): void {
    const { request, parent } = waiter;
    (request.front ? parent.front : parent.back).remove(waiter);
    waiter.queued = false;
    queued--;
    request.signal.removeEventListener('abort', waiter.cancel);
  }

  /** After every change of a parent: into or out of the queues of those that are ready; forgotten when it is empty. */
  function refresh(parent: Parent): void {
    const { tree } = parent;
    const waiter = next(parent);
    const treeWasReady = tree.ready.first !== null;
    const isReady = waiter !== null && (parent.id === null || parent.active < waiter.request.limit);
    if (isReady && !parent.ready) tree.ready.add(parent);
    if (!isReady && parent.ready) tree.ready.remove(parent);
    parent.ready = isReady;
    const treeIsReady = tree.ready.first !== null;
    if (treeIsReady && !treeWasReady) ready.add(tree);
    if (!treeIsReady && treeWasReady) ready.remove(tree);
    if (waiter !== null || parent.active > 0) return;
    tree.parents.delete(parent.id);
    if (tree.parents.size === 0) trees.delete(tree.id);
  }

  return {
    acquire,
    room: () => queued < options.maxQueued,
    stats: () => ({ active, queued, trees: trees.size }),
    active: (parentId, rootId) => trees.get(rootId)?.parents.get(parentId)?.active ?? 0,
  };
}

function next(parent: Parent): Waiter | null {
  return parent.front.first ?? parent.back.first;
}

function atLeastOne(name: string, value: number): void {
  if (!(value >= 1)) throw new RetinueError('invalid_limit', `${name} must be 1 or more, not ${value}: nothing would ever start`);
}

/** A queue from which any item can be taken in one step. An item is in at most one chain. */
class Chain<T extends Linked<T>> {
  first: T | null = null;
  #last: T | null = null;

  add(item: T): void {
    item.before = this.#last;
    if (this.#last === null) this.first = item;
    else this.#last.after = item;
    this.#last = item;
  }

  remove(item: T): void {
    if (item.before === null) this.first = item.after;
    else item.before.after = item.after;
    if (item.after === null) this.#last = item.before;
    else item.after.before = item.before;
    item.before = null;
    item.after = null;
  }

  toEnd(item: T): void {
    this.remove(item);
    this.add(item);
  }
}
