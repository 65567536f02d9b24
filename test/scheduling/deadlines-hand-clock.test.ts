import { expect, test } from 'vitest';
import { createHandClock } from '../../src/testing/hand-clock.ts';

test('K1 and K2: timers fire in order, and promises settle before the next one', async () => {
  const clock = createHandClock({ now: 1_000 });
  const log: string[] = [];
  const chain = async (name: string) => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
    log.push(`${name} at ${clock.monotonic()}`);
  };
  clock.at(20, () => void chain('b'));
  clock.at(10, () => void chain('a'));
  clock.at(20, () => void chain('c'));
  clock.at(10, () => void clock.at(15, () => void chain('inner')));
  clock.at(21, () => log.push('not yet'));
  await clock.advance(20);
  expect(log).toEqual(['a at 10', 'inner at 15', 'b at 20', 'c at 20']);
  expect([clock.monotonic(), clock.now(), clock.pending()]).toEqual([20, 1_020, 1]);
});

test('K3: a timer that is due when it is set needs no advance and can be cancelled', async () => {
  const clock = createHandClock();
  const log: string[] = [];
  clock.at(0, () => log.push('now'));
  clock.at(-5, () => log.push('never'))();
  expect(log).toEqual([]);
  await Promise.resolve();
  expect([log, clock.pending()]).toEqual([['now'], 0]);
});

test('K4: a jump moves only the wall clock', async () => {
  const clock = createHandClock({ now: 5_000 });
  let fired = false;
  clock.at(100, () => {
    fired = true;
  });
  clock.jump(3_600_000);
  expect([clock.now(), clock.monotonic(), fired]).toEqual([3_605_000, 0, false]);
  clock.jump(-3_600_000);
  await clock.advance(100);
  expect([clock.now(), clock.monotonic(), fired]).toEqual([5_100, 100, true]);
});

test('deferred work runs in order, after queued work; what it defers runs later', async () => {
  const clock = createHandClock();
  const log: string[] = [];
  void Promise.resolve().then(() => log.push('queued'));
  clock.defer(() => {
    log.push('first');
    clock.defer(() => log.push('third'));
  });
  clock.defer(() => log.push('second'));
  expect(log).toEqual([]);
  await clock.advance(0);
  expect(log).toEqual(['queued', 'first', 'second', 'third']);
});

test('time does not go back, and errors of timers are reported', async () => {
  const clock = createHandClock();
  await expect(clock.advance(-1)).rejects.toThrow(RangeError);
  clock.at(1, () => {
    throw new Error('loud');
  });
  await expect(clock.advance(1)).rejects.toThrow('loud');
});
