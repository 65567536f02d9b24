// The short form of `npm run torture`: 60 real kills. It runs dist/, which the global setup builds.
import { describe, expect, it } from 'vitest';
import { armedCrash } from '../../src/main/crash.ts';
import { crashPoints } from '../../src/ports/crash.ts';
import { printTortured } from './print.ts';
import { torture } from './torture.ts';

describe('kill -9', () => {
  it('loses no outcome, repeats no effect and leaves no gap, 60 times', { timeout: 400_000 }, async () => {
    const result = await torture({ kills: 60, seed: 1 });
    expect(result.failed, printTortured(result)).toEqual([]);
    expect(result.kills).toBeGreaterThanOrEqual(60);
    expect(result.at.size).toBeGreaterThan(10);
  });
});

describe('crash points', () => {
  it('have names of their own, at least 40', () => {
    expect(new Set(crashPoints).size).toBe(crashPoints.length);
    expect(crashPoints.length).toBeGreaterThanOrEqual(40);
  });

  it('are armed by a variable that names one of them, and by nothing else', () => {
    expect(armedCrash({})).toBeNull();
    expect(armedCrash({ RETINUE_CRASH: '' })).toBeNull();
    expect(() => armedCrash({ RETINUE_CRASH: 'before comit:1' })).toThrow(expect.objectContaining({ code: 'usage' }));
    const crash = armedCrash({ RETINUE_CRASH: 'before commit:2' });
    // Once only: the second time would be the end of this process.
    crash?.('before commit');
    crash?.('after commit');
  });
});
