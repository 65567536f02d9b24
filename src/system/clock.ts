// The clock and the random numbers of this machine, as the ports ask for them.
import { randomBytes } from 'node:crypto';
import { maxMs } from '../contract/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';

/** Its timers keep the process alive: a waiting run is unfinished work. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  at(due, fire) {
    if (Number.isNaN(due)) throw new TypeError('a timer needs a time that is a number');
    let timer: NodeJS.Timeout;
    // Node fires timers beyond its limit at once, and others up to a millisecond early: both are armed again.
    const arm = (): void => {
      const left = Math.ceil(due - performance.now());
      timer = setTimeout(() => (performance.now() < due ? arm() : fire()), Math.min(Math.max(left, 0), maxMs));
    };
    arm();
    return () => clearTimeout(timer);
  },
  defer: (run, delayMs) => void (delayMs === undefined ? setImmediate(run) : setTimeout(run, delayMs)),
};

/** Asking the system for random bytes costs more than the rest of an id, so it is asked for many at once. */
function createIdSource(): () => string {
  let pool = Buffer.alloc(0);
  let used = 0;
  return () => {
    if (used === pool.length) {
      pool = randomBytes(idBytes * idsPerPool);
      used = 0;
    }
    used += idBytes;
    return pool.toString('hex', used - idBytes, used);
  };
}

const idBytes = 8;
const idsPerPool = 128;
const hexId = createIdSource();

export const systemIds: Ids = { runId: hexId, orderId: hexId, key: () => randomBytes(32).toString('hex'), random: () => Math.random() };
