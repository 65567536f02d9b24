import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRetinueError } from '../../src/contract/error.ts';
import { createScheduler, type Scheduler, type Slot } from '../../src/scheduling/scheduler.ts';

const never = new AbortController().signal;

interface Asked {
  number: number;
  tree: string;
  parent: string | null;
  limit: number;
  front: boolean;
  stop: AbortController;
  state: 'queued' | 'granted' | 'cancelled' | 'released';
  slot: Slot | null;
}

type Step =
  | { do: 'ask'; tree: number; parent: number; front: boolean }
  | { do: 'release'; which: number }
  | { do: 'cancel'; which: number }
  | { do: 'cancelAndRelease'; which: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('ask' as const), tree: fc.nat(4), parent: fc.nat(2), front: fc.boolean() }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancelAndRelease' as const), which: fc.nat() }) },
  ),
  { maxLength: 80, size: 'max' },
);

/** Drives a scheduler and records what was requested and in which order it was granted. */
function drive(scheduler: Scheduler, limits: number[]) {
  const asked: Asked[] = [];
  const grants: Asked[] = [];
  const of = (state: Asked['state']) => asked.filter((one) => one.state === state);
  const key = (one: Asked) => `${one.tree}/${one.parent}`;

  function ask(step: { tree: number; parent: number; front: boolean }): void {
    const tree = `t${step.tree}`;
    const parent = step.parent === 0 ? null : `${tree}p${step.parent}`;
    const stop = new AbortController();
    const limit = limits[step.parent % limits.length]!;
    const one: Asked = { number: asked.length, tree, parent, limit, front: step.front, stop, state: 'queued', slot: null };
    asked.push(one);
    void scheduler.acquire({ rootId: tree, parentId: parent, limit, front: step.front, signal: stop.signal }).then((slot) => {
      if (slot !== null) grants.push(one);
      one.slot = slot;
      one.state = slot === null ? 'cancelled' : 'granted';
    });
  }

  function release(one: Asked | undefined): void {
    one?.slot?.release();
    one?.slot?.release();
    if (one !== undefined) one.state = 'released';
  }

  async function take(step: Step): Promise<void> {
    const pick = (state: Asked['state'], which: number) => of(state)[which % Math.max(1, of(state).length)];
    if (step.do === 'ask') ask(step);
    if (step.do === 'release') release(pick('granted', step.which));
    if (step.do === 'cancel') pick('queued', step.which)?.stop.abort();
    if (step.do === 'cancelAndRelease') {
      // The release happens during the abort event: the slot must not go to an aborted request.
      const victim = pick('queued', step.which);
      const holder = pick('granted', step.which);
      victim?.stop.signal.addEventListener('abort', () => release(holder));
      victim?.stop.abort();
    }
    await settled();
  }

  /** Requests that could be granted if a slot were free. */
  const eligible = () =>
    of('queued').filter((one) => one.parent === null || of('granted').filter((other) => key(other) === key(one)).length < one.limit);

  return { asked, grants, of, key, take, release, eligible };
}

async function settled(): Promise<void> {
  await Promise.resolve();
  await Promise.resolve();
}

const cases = fc.record({
  steps,
  slots: fc.integer({ min: 1, max: 4 }),
  limits: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
});
const runs = { seed: 20_261, numRuns: 1_000 };

interface Seen extends ReturnType<typeof drive> {
  scheduler: Scheduler;
  slots: number;
  /** Grants since the last check. */
  fresh: Asked[];
}

/** Runs random steps and checks after each; `watcher` is created for each sequence. At the end nothing may be left. */
async function play(watcher: () => (seen: Seen) => void): Promise<void> {
  await fc.assert(
    fc.asyncProperty(cases, async ({ steps, slots, limits }) => {
      const scheduler = createScheduler({ slots, maxQueued: 10 });
      const state = drive(scheduler, limits);
      const watch = watcher();
      let looked = 0;
      const look = () => {
        watch({ ...state, scheduler, slots, fresh: state.grants.slice(looked) });
        looked = state.grants.length;
      };
      for (const step of steps) {
        await state.take(step);
        look();
      }
      for (const one of state.of('queued').filter((_, index) => index % 3 === 0)) one.stop.abort();
      await settled();
      while (state.of('granted').length > 0) {
        state.release(state.of('granted')[0]);
        await settled();
        look();
      }
      expect(state.of('queued')).toEqual([]);
      expect(scheduler.stats()).toEqual({ active: 0, queued: 0, trees: 0 });
    }),
    runs,
  );
}

describe('scheduler, random steps', () => {
  test('Q1: neither the slots nor a parent’s limit are exceeded', async () => {
    await play(() => ({ of, key, scheduler, slots }) => {
      const held = of('granted');
      expect(held.length).toBeLessThanOrEqual(slots);
      for (const one of held) {
        const together = held.filter((other) => key(other) === key(one)).length;
        expect(scheduler.active(one.parent, one.tree)).toBe(together);
        if (one.parent !== null) expect(together).toBeLessThanOrEqual(one.limit);
      }
    });
  });

  test('Q2: no slot is lost, none is free while a request could use it, and counts agree', async () => {
    await play(() => ({ of, eligible, scheduler, slots }) => {
      expect(scheduler.stats()).toMatchObject({ active: of('granted').length, queued: of('queued').length });
      expect(scheduler.hasQueueCapacity()).toBe(of('queued').length < 10);
      if (of('granted').length < slots) expect(eligible()).toEqual([]);
    });
  });

  test('Q3: first come, first served per parent, `front` requests first', async () => {
    await play(() => ({ of, key, fresh }) => {
      for (const granted of fresh) {
        for (const waiting of of('queued').filter((one) => key(one) === key(granted))) {
          const earlier = waiting.number < granted.number;
          if (waiting.front === granted.front) expect(earlier).toBe(false);
          if (waiting.front && earlier) expect(granted.front).toBe(true);
        }
      }
    });
  });

  test('Q4: each other tree is served at most once before a ready tree', async () => {
    await play(() =>
      turns(
        (one) => one.tree,
        () => 'all',
      ),
    );
  });

  test('Q4: within a tree, each other parent is served at most once before a ready parent', async () => {
    await play(() =>
      turns(
        (one) => `${one.tree}/${one.parent}`,
        (one) => one.tree,
      ),
    );
  });

  test('Q5: a request cancelled while queued is never granted', async () => {
    await play(() => ({ asked }) => {
      for (const one of asked) if (one.state === 'cancelled') expect([one.slot, one.stop.signal.aborted]).toEqual([null, true]);
      for (const one of asked) if (one.state === 'queued') expect(one.stop.signal.aborted).toBe(false);
    });
  });
});

/** Checks that no ready member of `peers` is overtaken twice by the same other one. */
function turns(name: (one: Asked) => string, peers: (one: Asked) => string): (seen: Seen) => void {
  const passed = new Map<string, { peers: string; by: string[] }>();
  return ({ fresh, eligible }) => {
    for (const granted of fresh) {
      passed.delete(name(granted));
      for (const entry of passed.values()) if (entry.peers === peers(granted)) entry.by.push(name(granted));
    }
    const could = eligible();
    const names = new Set(could.map(name));
    for (const waiting of passed.keys()) if (!names.has(waiting)) passed.delete(waiting);
    for (const one of could) if (!passed.has(name(one))) passed.set(name(one), { peers: peers(one), by: [] });
    for (const { by } of passed.values()) expect(new Set(by).size).toBe(by.length);
  };
}

describe('scheduler, by example', () => {
  const request = { rootId: 'r', limit: 2, signal: never };

  test('a free slot is granted synchronously', async () => {
    const scheduler = createScheduler({ slots: 1, maxQueued: 1 });
    let slot: Slot | null = null;
    void scheduler.acquire({ ...request, parentId: null }).then((got) => {
      slot = got;
    });
    expect(scheduler.stats()).toEqual({ active: 1, queued: 0, trees: 1 });
    await Promise.resolve();
    expect(slot).not.toBeNull();
  });

  test('the parents of one tree take turns', async () => {
    const scheduler = createScheduler({ slots: 1, maxQueued: 100 });
    const first = (await scheduler.acquire({ ...request, parentId: null }))!;
    const order: string[] = [];
    for (const parentId of ['a', 'a', 'a', 'b', 'b', 'c']) {
      void scheduler.acquire({ ...request, parentId }).then((slot) => {
        order.push(parentId);
        slot?.release();
      });
    }
    first.release();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  test('room is false while the queue is full', async () => {
    const scheduler = createScheduler({ slots: 1, maxQueued: 1 });
    const slot = (await scheduler.acquire({ ...request, parentId: null }))!;
    expect(scheduler.hasQueueCapacity()).toBe(true);
    const queued = scheduler.acquire({ ...request, rootId: 's', parentId: null });
    expect(scheduler.hasQueueCapacity()).toBe(false);
    slot.release();
    expect(scheduler.hasQueueCapacity()).toBe(true);
    (await queued)?.release();
  });

  test('limits below 1 are misuse', () => {
    const thrown = (run: () => unknown) => {
      try {
        return run();
      } catch (error) {
        return isRetinueError(error) ? error.code : error;
      }
    };
    expect(thrown(() => createScheduler({ slots: 0, maxQueued: 1 }))).toBe('invalid_limit');
    const scheduler = createScheduler({ slots: 1, maxQueued: 1 });
    for (const limit of [0, -1, Number.NaN]) {
      expect(thrown(() => scheduler.acquire({ ...request, parentId: 'p', limit }))).toBe('invalid_limit');
    }
    expect(scheduler.stats()).toEqual({ active: 0, queued: 0, trees: 0 });
  });
});
