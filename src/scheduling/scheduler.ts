// Slots: decides which runs may work now. It knows nothing about what runs do, has no timers and does not poll. A run that waits for children
// releases its slot and requests one again with `front`.
//
// Q1. At most `slots` slots are in use, and at most `limit` by the children of one parent. For roots only the first bound applies.
// Q2. No slot is lost: each is free or has exactly one holder. No slot is free while a request could use it.
// Q3. Children of one parent are served first come, first served; those that had a slot before (`front`) go before the others.
// Q4. Trees take turns, and within a tree its parents: each other tree is served at most once before a ready tree.
// Q5. A request whose signal has fired is never granted. A slot granted before that must be released by the caller.
// Q6. Every operation takes constant time, however much is queued. Trees with nothing active or queued use no memory.
import { RetinueError } from '../contract/error.ts';

export interface Slot {
  /** Calling it again has no effect. */
  release(): void;
}

export interface SlotRequest {
  rootId: string;
  parentId: string | null;
  /** Maximum number of slots for the children of this parent. */
  limit: number;
  /** The run had a slot before. Must not change while the request is queued. */
  readonly front?: boolean;
  signal: QueueSignal;
}

/** What a queue needs of a signal. */
export interface QueueSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: QueueListener, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: QueueListener): void;
}

export interface QueueListener {
  handleEvent(): void;
}

export interface QueuedRequest extends SlotRequest {
  /** Called once, perhaps before `request` returns. Null if the signal fired while the request was queued. */
  granted(slot: Slot | null): void;
}

export interface Scheduler {
  /** A limit below 1 is misuse and throws. */
  request(request: QueuedRequest): void;
  /** `request` with a promise, which never rejects. */
  acquire(request: SlotRequest): Promise<Slot | null>;
  /** False if the queue is full. Only admission checks this; `acquire` never refuses. */
  hasQueueCapacity(): boolean;
  stats(): { active: number; queued: number; trees: number };
  active(parentId: string | null, rootId: string): number;
}

interface Linked<T> {
  before: T | null;
  after: T | null;
}

/** A class, because its methods are then not made anew for each of thousands of requests. */
class Waiter implements Linked<Waiter>, QueueListener {
  readonly request: QueuedRequest;
  readonly parent: Parent;
  readonly #cancel: (waiter: Waiter) => void;
  isQueued = true;
  before: Waiter | null = null;
  after: Waiter | null = null;

  constructor(request: QueuedRequest, parent: Parent, cancel: (waiter: Waiter) => void) {
    this.request = request;
    this.parent = parent;
    this.#cancel = cancel;
  }

  handleEvent(): void {
    this.#cancel(this);
  }
}

interface Parent extends Linked<Parent> {
  id: string | null;
  tree: Tree;
  active: number;
  front: Chain<Waiter>;
  back: Chain<Waiter>;
  /** Whether it is in its tree's `ready` queue: its next request can be granted as soon as a slot is free. */
  ready: boolean;
}

interface Tree extends Linked<Tree> {
  id: string;
  parents: Map<string | null, Parent>;
  ready: Chain<Parent>;
}

export function createScheduler(options: { slots: number; maxQueued: number }): Scheduler {
  assertAtLeastOne('slots', options.slots);
  const trees = new Map<string, Tree>();
  /** Trees with a ready parent, in the order of their turns. */
  const ready = new Chain<Tree>();
  let active = 0;
  let queued = 0;

  function enqueue(request: QueuedRequest): void {
    if (request.parentId !== null) assertAtLeastOne('maxConcurrent', request.limit);
    if (request.signal.aborted) {
      request.granted(null);
      return;
    }
    const parent = findOrAddParent(request);
    const waiter = new Waiter(request, parent, cancel);
    (request.front ? parent.front : parent.back).add(waiter);
    queued++;
    refresh(parent);
    grantSlots();
    if (waiter.isQueued) request.signal.addEventListener('abort', waiter, { once: true });
  }

  function acquire(given: SlotRequest): Promise<Slot | null> {
    const { promise, resolve } = Promise.withResolvers<Slot | null>();
    enqueue({ ...given, granted: resolve });
    return promise;
  }

  function findOrAddParent({ rootId, parentId }: SlotRequest): Parent {
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

  /** Grants free slots. A waiter whose signal has fired gets null, even if its abort listener has not run yet (Q5). */
  function grantSlots(): void {
    while (active < options.slots && ready.first !== null) {
      const tree = ready.first;
      const parent = tree.ready.first!;
      const waiter = nextWaiter(parent)!;
      leaveQueue(waiter);
      const isStopped = waiter.request.signal.aborted;
      if (!isStopped) {
        active++;
        parent.active++;
        ready.toEnd(tree);
        tree.ready.toEnd(parent);
      }
      refresh(parent);
      waiter.request.granted(isStopped ? null : createSlot(parent));
    }
  }

  function createSlot(parent: Parent): Slot {
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        active--;
        parent.active--;
        refresh(parent);
        grantSlots();
      },
    };
  }

  function cancel(waiter: Waiter): void {
    leaveQueue(waiter);
    refresh(waiter.parent);
    waiter.request.granted(null);
    grantSlots();
  }

  function leaveQueue(waiter: Waiter): void {
    const { request, parent } = waiter;
    (request.front ? parent.front : parent.back).remove(waiter);
    waiter.isQueued = false;
    queued--;
    request.signal.removeEventListener('abort', waiter);
  }

  /** After every change of a parent: updates the ready queues, and forgets parents and trees that are empty. */
  function refresh(parent: Parent): void {
    const { tree } = parent;
    const waiter = nextWaiter(parent);
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
    request: enqueue,
    acquire,
    hasQueueCapacity: () => queued < options.maxQueued,
    stats: () => ({ active, queued, trees: trees.size }),
    active: (parentId, rootId) => trees.get(rootId)?.parents.get(parentId)?.active ?? 0,
  };
}

function nextWaiter(parent: Parent): Waiter | null {
  return parent.front.first ?? parent.back.first;
}

function assertAtLeastOne(name: string, value: number): void {
  if (!(value >= 1)) throw new RetinueError('invalid_limit', `${name} is ${value}, but must be at least 1: otherwise no run could start`);
}

/** A queue from which any item can be removed in constant time. An item is in at most one chain. */
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
