// A run's hold on a slot. A run that only waits for children holds none (invariant 7); it takes one again before it goes on.
import type { Scheduler, Slot, SlotRequest } from './scheduler.ts';

export interface SlotKeeper {
  /** Takes a slot where none is held; false when the run was stopped meanwhile. */
  ensure(): Promise<boolean>;
  release(): void;
  /** So many tool calls are at work now. */
  work(calls: number): void;
  /** One of them is done, or only waits from here on. When none is left at work, the slot is given back. */
  idle(): void;
  /** One that waited is at work again. */
  busy(): void;
}

export function createSlotKeeper(scheduler: Scheduler, request: Omit<SlotRequest, 'front'>): SlotKeeper {
  let slot: Slot | null = null;
  let coming: Promise<Slot | null> | null = null;
  let had = false;
  let atWork = 0;
  function release(): void {
    slot?.release();
    slot = null;
  }
  return {
    release,
    async ensure() {
      if (slot) return true;
      coming ??= scheduler.acquire({ ...request, front: had });
      slot = await coming;
      coming = null;
      had = true;
      return slot !== null;
    },
    work(calls) {
      atWork = calls;
    },
    idle() {
      atWork--;
      if (atWork <= 0) release();
    },
    busy() {
      atWork++;
    },
  };
}
