// A thousand queued trees and two workers.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectAllEnded } from './support.ts';
import { createClusterPlace, stopWorkers, untilDriving } from './support-processes.ts';

const trees = 1_000;
/** Trees that a worker drives at a time. */
const concurrency = 20;

describe('1,000 queued trees', () => {
  it('are each driven once, by two workers', { timeout: 400_000 }, async () => {
    // The oldest trees occupy both workers until both have started, so that a fast start is no advantage.
    const wait = { calls: [{ tool: 'bash', args: { command: 'until [ -e started ]; do sleep 0.2; done' } }] };
    const place = await createClusterPlace({
      runs: [
        { when: { label: 'first' }, times: 'any', steps: [wait, { text: 'done' }] },
        { times: 'any', steps: [{ text: 'done' }] },
      ],
    });
    const enqueueAll = (count: number, label: string) =>
      Promise.all(Array.from({ length: count }, (_, n) => place.library.enqueue({ task: `tree ${n}`, label })));
    const queued = await enqueueAll(2 * concurrency, 'first');
    queued.push(...(await enqueueAll(trees - queued.length, 'rest')));
    const rootIds = queued.map(({ id }) => id);
    expect(new Set(rootIds).size).toBe(trees);
    expect(await place.store.queue?.states()).toMatchObject([{ waiting: trees, running: 0 }]);
    const workers = ['one', 'two'].map((name) => place.start('worker', '--name', name, '--concurrency', String(concurrency), '--json'));
    await untilDriving(place, ['one', 'two']);
    writeFileSync(join(place.folder, 'started'), '');
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
