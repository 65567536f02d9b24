// One process of the simulation: the ports that a runtime gets, all of which take their (virtual) time, fail, and stop in mid-air when the
// process is killed or stopped. A killed one never does anything again; a stopped one wakes up later and finds that it was taken over.
import { RetinueError } from '../../src/contract/error.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { HandClock } from '../../src/testing/hand-clock.ts';
import type { Chance } from './chance.ts';

export type Trouble = 'kill' | 'stop' | 'drain';

/** How often ports fail. */
export interface Weather {
  store: number;
  model: number;
  tool: number;
  host: number;
  /** The chance that an operation takes time at all, and how much. */
  slow: number;
  slowMs: number;
}

export const calm: Weather = { store: 0, model: 0, tool: 0, host: 0, slow: 0.3, slowMs: 20 };

export interface Life {
  weather: Weather;
  chance: Chance;
  clock: Clock;
  /** A place where something may happen: it takes its time, and may be the last that this process does. */
  point(): Promise<void>;
  fails(port: 'store' | 'model' | 'tool' | 'host'): boolean;
  /** Resolves when the process is killed, stopped, or told to drain. */
  over: Promise<Trouble>;
  /** Lets a stopped process go on. */
  wake(): void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface LifeOptions {
  clock: HandClock;
  chance: Chance;
  weather: Weather;
  /** What befalls it, and at which of its points. */
  fate: { kind: Trouble; at: number } | null;
}

export function createLife({ clock: hand, chance, weather, fate }: LifeOptions): Life {
  const over = Promise.withResolvers<Trouble>();
  let points = 0;
  let state: 'alive' | 'stopped' | 'dead' = 'alive';
  let held: (() => void)[] = [];

  /** Does it now, at the wake-up, or never. */
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

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
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
    if (fate && points === fate.at && state === 'alive') {
      if (fate.kind === 'kill') state = 'dead';
      if (fate.kind === 'stop') state = 'stopped';
      over.resolve(fate.kind);
    }
    if (state !== 'alive') await new Promise<void>((resolve) => when(resolve));
    // Time may pass, or none at all: then others still may come first.
    if (chance.hit(weather.slow)) await sleep(chance.int(0, weather.slowMs));
    else for (let turns = chance.int(0, 12); turns > 0; turns--) await null;
    if (state !== 'alive') await new Promise<void>((resolve) => when(resolve));
  }

  return {
    weather,
    chance,
    clock,
    point,
    fails: (port) => chance.hit(weather[port]),
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

export function busy(): RetinueError {
  return new RetinueError('store_busy', 'the database is locked', { retryable: true });
}
