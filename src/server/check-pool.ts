// Checks of logs (verify and replay) read whole trees or the whole database, and every token may ask for them.
//
// 1. Requests for the same check share one pass: a request that comes during a pass gets its result.
// 2. A database has one pass at a time. Others wait; above a small number they are refused.
// 3. A pass ends when all of its clients have left.
import { HttpFailure } from './errors.ts';

export interface CheckPool {
  /** `database`: what has one pass at a time. Rejects with `too_many_requests`, and with the reason of the signal when it fires. */
  run<T>(database: object, key: string, check: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
}

interface Pass {
  result: Promise<unknown>;
  requests: number;
  stop: AbortController;
}

interface Queue {
  passes: Map<string, Pass>;
  /** Resolves when the last pass is over. */
  last: Promise<unknown>;
}

export function createCheckPool({ maxPasses = 4, maxRequests = 32 }: { maxPasses?: number; maxRequests?: number } = {}): CheckPool {
  const queues = new WeakMap<object, Queue>();

  function findQueue(database: object): Queue {
    const queue = queues.get(database) ?? { passes: new Map(), last: Promise.resolve() };
    queues.set(database, queue);
    return queue;
  }

  function openPass(queue: Queue, key: string, check: (signal: AbortSignal) => Promise<unknown>): Pass {
    const stop = new AbortController();
    const result = queue.last.then(() => {
      stop.signal.throwIfAborted();
      return check(stop.signal);
    });
    const pass = { result, requests: 0, stop };
    const end = () => void (queue.passes.get(key) === pass && queue.passes.delete(key));
    queue.last = result.then(end, end);
    queue.passes.set(key, pass);
    return pass;
  }

  return {
    run(database, key, check, signal) {
      const queue = findQueue(database);
      const { passes } = queue;
      const requests = [...passes.values()].reduce((sum, pass) => sum + pass.requests, 0);
      const isFull = requests >= maxRequests || (!passes.has(key) && passes.size >= maxPasses);
      if (isFull) return Promise.reject(new HttpFailure('too_many_requests', 'too many checks of logs are running; try again later'));
      const pass = passes.get(key) ?? openPass(queue, key, check);
      pass.requests++;
      return new Promise((resolve, reject) => {
        const leave = () => {
          signal.removeEventListener('abort', onAbort);
          // No request waits for the result any more. A new request for the same check needs a new pass.
          if (--pass.requests === 0 && passes.get(key) === pass) {
            passes.delete(key);
            pass.stop.abort();
          }
        };
        const onAbort = () => {
          leave();
          reject(signal.reason);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        pass.result.then(resolve as (value: unknown) => void, reject).finally(leave);
        if (signal.aborted) onAbort();
      });
    },
  };
}
