// The slot of one run. A run that only waits for children or approvals holds none (invariant 7), and gets one again before it continues.
import type { StopSignal } from '../ports/stop.ts';
import type { QueuedRequest, QueueListener, QueueSignal, Scheduler, Slot } from './scheduler.ts';

export interface SlotKeeper {
  /** Calls `start` when the run has its first slot, or was stopped before. What a run does takes no memory until then. */
  begin(start: () => void): void;
  readonly isHeld: boolean;
  /** Gets a slot unless the run has one; false if the run was stopped meanwhile. */
  ensure(): Promise<boolean>;
  release(): void;
  /** To be called when the run is stopped: it waits no longer. */
  stop(): void;
  /** Sets the number of busy tool calls. */
  setBusyCalls(calls: number): void;
  /** One call has ended or only waits from now on. When no call is busy, the slot is released. */
  endBusyCall(): void;
  /** One call that waited is busy again. */
  beginBusyCall(): void;
}

export interface SlotOptions {
  rootId: string;
  parentId: string | null;
  /** Maximum number of slots for the children of this parent. */
  limit: number;
  signal: StopSignal;
}

/** One object for the keeper, its first request and the signal of its requests: thousands of runs may wait. */
class Keeper implements SlotKeeper, QueuedRequest, QueueSignal {
  readonly rootId: string;
  readonly parentId: string | null;
  readonly limit: number;
  front = false;
  readonly #scheduler: Scheduler;
  readonly #signal: StopSignal;
  #slot: Slot | null = null;
  #start: (() => void) | null = null;
  #acquiring: Promise<Slot | null> | null = null;
  #listener: QueueListener | null = null;
  #busyCalls = 0;

  constructor(scheduler: Scheduler, { rootId, parentId, limit, signal }: SlotOptions) {
    this.rootId = rootId;
    this.parentId = parentId;
    this.limit = limit;
    this.#scheduler = scheduler;
    this.#signal = signal;
  }

  begin(start: () => void): void {
    this.#start = start;
    try {
      this.#scheduler.request(this);
    } catch {
      // A limit that allows no slot. The run begins and gets the error from `ensure`, so that it ends with it.
      this.granted(null);
    }
  }

  granted(slot: Slot | null): void {
    this.#slot = slot;
    this.front = true;
    // Not before the scheduler is done.
    if (this.#start) queueMicrotask(this.#start);
    this.#start = null;
  }

  get isHeld(): boolean {
    return this.#slot !== null;
  }

  async ensure(): Promise<boolean> {
    if (this.#slot) return true;
    const { rootId, parentId, limit, front } = this;
    this.#acquiring ??= this.#scheduler.acquire({ rootId, parentId, limit, front, signal: this });
    this.#slot = await this.#acquiring;
    this.#acquiring = null;
    this.front = true;
    return this.#slot !== null;
  }

  release(): void {
    this.#slot?.release();
    this.#slot = null;
  }

  get signal(): QueueSignal {
    return this;
  }

  get aborted(): boolean {
    return this.#signal.aborted;
  }

  /** A run has one request at a time. */
  addEventListener(_: 'abort', listener: QueueListener): void {
    this.#listener = listener;
  }

  removeEventListener(): void {
    this.#listener = null;
  }

  stop(): void {
    this.#listener?.handleEvent();
  }

  setBusyCalls(calls: number): void {
    this.#busyCalls = calls;
  }

  endBusyCall(): void {
    this.#busyCalls--;
    if (this.#busyCalls <= 0) this.release();
  }

  beginBusyCall(): void {
    this.#busyCalls++;
  }
}

export function createSlotKeeper(scheduler: Scheduler, options: SlotOptions): SlotKeeper {
  return new Keeper(scheduler, options);
}
