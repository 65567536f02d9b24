// A thousand queued trees and two workers.
import { describe, expect, it } from 'vitest';
import { expectAllEnded } from './support.ts';
import { createClusterPlace, stopWorkers } from './support-processes.ts';

const trees = 1_000;

describe('1,000 queued trees', () => {
  it('are each driven once, by two workers', { timeout: 400_000 }, async () => {
    const place = await createClusterPlace({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
    const queued = await Promise.all(Array.from({ length: trees }, (_, n) => place.library.enqueue({ task: `tree ${n}` })));
    const rootIds = queued.map(({ id }) => id);
    expect(new Set(rootIds).size).toBe(trees);
    expect(await place.store.queue?.states()).toMatchObject([{ waiting: trees, running: 0 }]);
    const workers = ['one', 'two'].map((name) => place.start('worker', '--name', name, '--concurrency', '20', '--json'));
    await expectAllEnded(place.store, rootIds);
    const reports = await stopWorkers(workers);
    const ended = reports.map(({ events }) => events.filter(({ event }) => event === 'tree.ended').map(({ rootId }) => rootId as string));
    expect(ended.flat().sort()).toEqual([...rootIds].sort());
    // Both had a share.
    expect(Math.min(...ended.map(({ length }) => length))).toBeGreaterThan(trees / 20);
    expect(reports.flatMap(({ events }) => events.filter(({ level }) => level === 'warn'))).toEqual([]);
    expect(await place.store.queue?.states()).toMatchObject([{ waiting: 0, running: 0, delayed: 0, failed: 0 }]);
  });
});
