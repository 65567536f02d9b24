// The short form of `npm run torture`: 60 real kills, and one at each fact of a flow and a compaction. It runs dist/, which the global setup builds.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashPoints } from '../../src/ports/crash.ts';
import { createRandom } from '../simulation/random.ts';
import { armCrash } from './arm-crash.ts';
import { printTortured } from './print.ts';
import { torture, tortureFlowAt } from './torture.ts';
import { startTreeModel, type TreeModel } from './tree.ts';

describe('kill -9', () => {
  it('loses no outcome, repeats no effect and leaves no gap, 60 times', { timeout: 400_000 }, async () => {
    const result = await torture({ kills: 60, seed: 1 });
    expect(result.failed, printTortured(result)).toEqual([]);
    expect(result.kills).toBeGreaterThanOrEqual(60);
    expect(result.at.size).toBeGreaterThan(10);
  });
});

describe('kill -9 of a flow', { timeout: 120_000 }, () => {
  const points = crashPoints.filter((point) => / (step|flow|context|check)\.| model\.nudged/.test(point));
  let model: TreeModel;
  beforeAll(async () => {
    model = await startTreeModel(createRandom(1));
  });
  afterAll(() => model.close());

  it.concurrent.each(points)('%s: it ends as if it had not been killed', async (point) => {
    expect(await tortureFlowAt(`${point}:1`, model)).toEqual({ killed: true, faults: [] });
  });
});

describe('crash points', () => {
  it('have unique names, at least 40', () => {
    expect(new Set(crashPoints).size).toBe(crashPoints.length);
    expect(crashPoints.length).toBeGreaterThanOrEqual(40);
  });

  it('are armed only by a value that names one of them', () => {
    expect(armCrash(undefined)).toBeUndefined();
    expect(armCrash('')).toBeUndefined();
    expect(() => armCrash('before comit:1')).toThrow('unknown crash point');
    const crash = armCrash('before commit:2');
    // Once only: the second time would be the end of this process.
    crash?.('before commit');
    crash?.('after commit');
  });
});
