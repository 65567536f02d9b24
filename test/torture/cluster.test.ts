// The short form of `npm run torture -- --cluster`: every kind of fault once. It runs dist/, which the global setup builds.
import { describe, expect, it } from 'vitest';
import { tortureCluster } from './cluster.ts';
import { printTorturedCluster } from './print.ts';

describe('three workers on a PostgreSQL server', () => {
  it('lose no outcome, repeat no effect and leave nothing stuck, whatever happens to them', { timeout: 600_000 }, async () => {
    const result = await tortureCluster({ seed: 1, trees: 12, faults: 10, maxDelayMs: 1_200, maxPeaceMs: 4_000 });
    expect(result.failed, printTorturedCluster(result)).toEqual([]);
    expect(result).toMatchObject({ trees: 12, runs: 108 });
    expect(result.takeovers).toBeGreaterThan(0);
    expect([...result.faults.keys()]).toEqual(expect.arrayContaining(['kill', 'crash', 'term', 'stop', 'cut', 'part', 'restart']));
  });
});
