// The real kernel in a simulation where everything fails: as many seeds as needed for 2,300 runs. For more: `npm run simulate -- --runs N`.
import { describe, expect, it, vi } from 'vitest';
import { printSimulated, simulateMany } from './many.ts';
import { simulate } from './simulate.ts';
import { simulateWorkers } from './workers.ts';

describe('the simulation', () => {
  it('ends every run of every tree and keeps the invariants', { timeout: 300_000 }, async () => {
    const result = await simulateMany({ from: 1, runs: 2300 });
    expect(result.failed, printSimulated(result)).toEqual([]);
    expect(result.runs).toBeGreaterThanOrEqual(2300);
    expect(result.crashes).toBeGreaterThan(200);
    expect(result.compactions).toBeGreaterThan(20);
    expect(result.flows).toBeGreaterThan(40);
    expect(result.reviews).toBeGreaterThan(40);
    expect(result.answers).toBeGreaterThan(2);
    expect(Object.keys(result.statuses).sort()).toEqual(['cancelled', 'completed', 'exhausted', 'failed', 'timed_out']);
  });

  it('gives the same result for the same seed', { timeout: 60_000 }, async () => {
    const journal = async () => {
      const lines: string[] = [];
      await simulate(7, (line) => void lines.push(line));
      return lines;
    };
    expect(await journal()).toEqual(await journal());
  });

  it('uses neither the clock nor the random numbers of this machine', async () => {
    const asked = [vi.spyOn(performance, 'now'), vi.spyOn(Date, 'now'), vi.spyOn(Math, 'random'), vi.spyOn(globalThis, 'setTimeout')];
    await simulate(7);
    expect(asked.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0, 0]);
    vi.restoreAllMocks();
  });
});

describe('the simulation of workers', () => {
  it('ends every queued tree and keeps the invariants', { timeout: 300_000 }, async () => {
    const result = await simulateMany({ kind: 'workers', from: 1, runs: 1000 });
    expect(result.failed, printSimulated(result)).toEqual([]);
    expect(result.runs).toBeGreaterThanOrEqual(1000);
    expect(result.crashes).toBeGreaterThan(300);
  });

  it('gives the same result for the same seed', { timeout: 60_000 }, async () => {
    const journal = async () => {
      const lines: string[] = [];
      await simulateWorkers(7, (line) => void lines.push(line));
      return lines;
    };
    expect(await journal()).toEqual(await journal());
  });
});
