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

export function createSlotKeeper(scheduler: Scheduler, request: Omit<SlotRequest, 'front'>): SlotKeeper {
  let slot: Slot | null = null;
  let acquiring: Promise<Slot | null> | null = null;
  let hadSlot = false;
  let busyCalls = 0;
  function release(): void {
    slot?.release();
    slot = null;
  }
  return {
    release,
    async ensure() {
      if (slot) return true;
      acquiring ??= scheduler.acquire({ ...request, front: hadSlot });
      slot = await acquiring;
      acquiring = null;
      hadSlot = true;
      return slot !== null;
    },
    setBusyCalls(calls) {
      busyCalls = calls;
    },
    endBusyCall() {
      busyCalls--;
      if (busyCalls <= 0) release();
    },
    beginBusyCall() {
      busyCalls++;
    },
  };
}
