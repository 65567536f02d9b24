import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPace } from '../../src/scheduling/pace.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld } from '../support/world.ts';

/** A clock whose turns the test takes. */
function createTurns() {
  let deferred: (() => void)[] = [];
  return {
    clock: { ...createHandClock(), defer: (run: () => void) => void deferred.push(run) },
    take() {
      const turn = deferred;
      deferred = [];
      for (const run of turn) run();
    },
    isOver: () => deferred.length === 0,
  };
}

/** Resolves when all promise callbacks have run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a pace', () => {
  it('U1 and U2: lets a few pass in each turn, in order, and the first ones at once', async () => {
    const calls = fc.array(fc.oneof(fc.constant('turn' as const), fc.integer({ min: 1, max: 9 })), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(calls, fc.integer({ min: 1, max: 5 }), async (steps, perTurn) => {
        const turns = createTurns();
        const pace = createPace(turns.clock, perTurn);
        const passed: number[] = [];
        let called = 0;
        const takeTurn = async (calls: number) => {
          const before = passed.length;
          turns.take();
          await settle();
          for (let i = 0; i < calls; i++) {
            const n = called++;
            const wait = pace.pass();
            if (wait) void wait.then(() => passed.push(n));
            else passed.push(n);
          }
          await settle();
          expect(passed.length - before).toBe(Math.min(perTurn, called - before));
        };
        for (const step of steps) await takeTurn(step === 'turn' ? 0 : step);
        while (!turns.isOver()) await takeTurn(0);
        expect(passed).toEqual(Array.from({ length: called }, (_, n) => n));
      }),
    );
  });
});

describe('many children at once', () => {
  it('ask their models while others are still being admitted', async () => {
    await using world = await createWorld({
      clock: createHandClock(),
      script: { runs: [{ times: 'any', steps: [{ text: 'done' }] }] },
      limits: { maxConcurrent: 200 },
    });
    const client = await world.runtime.openClient({ limits: { maxConcurrent: 200 } });
    const runs = await Promise.all(Array.from({ length: 200 }, (_, n) => client.delegate({ task: `child ${n}` })));
    for (const { outcome } of runs) expect(await outcome).toMatchObject({ status: 'completed' });
    await client.close();
    const types = world.types();
    expect(types.indexOf('model.asked')).toBeLessThan(types.lastIndexOf('run.created'));
  });
});
