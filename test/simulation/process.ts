// One simulated process. Its ports take virtual time, fail at random, and stop in the middle of an operation when the process is killed or stopped. A
// killed process never does anything again; a stopped one wakes up later, after another process has taken over.
import { RetinueError } from '../../src/contract/error.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { StopSignal } from '../../src/ports/stop.ts';
import type { HandClock } from '../../src/testing/hand-clock.ts';
import type { Random } from './random.ts';

export type Interruption = 'kill' | 'stop' | 'drain';

/** How often ports fail. */
export interface FailureRates {
  store: number;
  model: number;
  tool: number;
  host: number;
  /** The probability that an operation takes time, and the longest time. */
  slow: number;
  slowMs: number;
}

export const calmRates: FailureRates = { store: 0, model: 0, tool: 0, host: 0, slow: 0.3, slowMs: 20 };

export interface SimulatedProcess {
  rates: FailureRates;
  random: Random;
  clock: Clock;
  /** A point at which time may pass and the process may be interrupted. Every port operation passes through some. */
  point(): Promise<void>;
  fails(port: 'store' | 'model' | 'tool' | 'host'): boolean;
  /** Resolves when the process is killed, stopped or asked to drain. */
  over: Promise<Interruption>;
  /** Continues a stopped process. */
  wake(): void;
  sleep(ms: number, signal?: StopSignal): Promise<void>;
}

export interface SimulatedProcessOptions {
  clock: HandClock;
  random: Random;
  rates: FailureRates;
  /** How it is interrupted, and at which of its points. */
  interruption: { kind: Interruption; at: number } | null;
}

export function createSimulatedProcess({ clock: hand, random, rates, interruption }: SimulatedProcessOptions): SimulatedProcess {
  const over = Promise.withResolvers<Interruption>();
  let points = 0;
  let state: 'alive' | 'stopped' | 'dead' = 'alive';
  let held: (() => void)[] = [];

  /** Runs it now if the process is alive, after the wake-up if it is stopped, never if it is dead. */
  function when(run: () => void): void {
    if (state === 'alive') run();
    else if (state === 'stopped') held.push(run);
  }

  const clock: Clock = {
    now: hand.now,
    monotonic: hand.monotonic,
    at: (due, fire) => {
      let cancelled = false;
      const end = hand.at(due, () => when(() => !cancelled && fire()));
      return () => {
        cancelled = true;
        end();
      };
    },
    defer: (run) => hand.defer(() => when(run)),
  };

  function sleep(ms: number, signal?: StopSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        end();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const end = clock.at(clock.monotonic() + ms, done);
      signal?.addEventListener('abort', done, { once: true });
      if (signal?.aborted) done();
    });
  }

  async function point(): Promise<void> {
    points++;
    if (interruption && points === interruption.at && state === 'alive') {
      if (interruption.kind === 'kill') state = 'dead';
      if (interruption.kind === 'stop') state = 'stopped';
      over.resolve(interruption.kind);
    }
    if (state !== 'alive') await new Promise<void>((resolve) => when(resolve));
    // Even without time passing, other work may run first.
    if (random.hit(rates.slow)) await sleep(random.int(0, rates.slowMs));
    else for (let turns = random.int(0, 12); turns > 0; turns--) await null;
    if (state !== 'alive') await new Promise<void>((resolve) => when(resolve));
  }

  return {
    rates,
    random,
    clock,
    point,
    fails: (port) => random.hit(rates[port]),
    over: over.promise,
    wake() {
      if (state !== 'stopped') return;
      state = 'alive';
      const now = held;
      held = [];
      for (const run of now) run();
    },
    sleep,
  };
}

export function busyError(): RetinueError {
  return new RetinueError('store_busy', 'the database is locked', { retryable: true });
}
