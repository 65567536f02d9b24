// The slot of one run. A run that only waits for children or approvals holds none (invariant 7), and gets one again before it continues.
import type { Scheduler, Slot, SlotRequest } from './scheduler.ts';

export interface SlotKeeper {
  /** Gets a slot unless the run has one; false if the run was stopped meanwhile. */
  ensure(): Promise<boolean>;
  release(): void;
  /** Sets the number of busy tool calls. */
  setBusyCalls(calls: number): void;
  /** One call has ended or only waits from now on. When no call is busy, the slot is released. */
  endBusyCall(): void;
  /** One call that waited is busy again. */
  beginBusyCall(): void;
}

/** A class, because its methods are then not made anew for each of thousands of waiting runs. */
class Keeper implements SlotKeeper {
  readonly #scheduler: Scheduler;
  readonly #request: Omit<SlotRequest, 'front'>;
  #slot: Slot | null = null;
  #acquiring: Promise<Slot | null> | null = null;
  #hadSlot = false;
  #busyCalls = 0;

  constructor(scheduler: Scheduler, request: Omit<SlotRequest, 'front'>) {
    this.#scheduler = scheduler;
    this.#request = request;
  }

  release(): void {
    this.#slot?.release();
    this.#slot = null;
  }

  async ensure(): Promise<boolean> {
    if (this.#slot) return true;
    this.#acquiring ??= this.#scheduler.acquire(this.#hadSlot ? { ...this.#request, front: true } : this.#request);
    this.#slot = await this.#acquiring;
    this.#acquiring = null;
    this.#hadSlot = true;
    return this.#slot !== null;
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

export function createSlotKeeper(scheduler: Scheduler, request: Omit<SlotRequest, 'front'>): SlotKeeper {
  return new Keeper(scheduler, request);
}
