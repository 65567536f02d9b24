// Priorities, delays and keys, as the commands and several processes use them.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { orderKeyPath } from '../../src/config/order-key.ts';
import type { QueueState } from '../../src/ports/queue.ts';
import { createClusterPlace, stopWorkers, untilDriving } from './support-processes.ts';

const doneScript = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };

describe('queued runs', () => {
  it('are taken by priority, then by age, and not before their time', { timeout: 180_000 }, async () => {
    const place = await createClusterPlace(doneScript);
    const add = async (...flags: string[]) => (await place.run('run', '--queue', '--detach', ...flags, 'go')).out.trim();
    const low = await add('--priority', '-5');
    const normal = await add();
    const high = await add('--priority', '100');
    const second = await add();
    const later = await add('--priority', '1000', '--start-after', '1h');
    const { queues } = JSON.parse((await place.run('queue', '--json')).out) as { queues: QueueState[] };
    expect(queues).toMatchObject([{ name: 'default', waiting: 4, delayed: 1, running: 0 }]);
    const worker = place.start('worker', '--concurrency', '1', '--json');
    expect(await place.run('wait', low, normal, high, second)).toMatchObject({ code: 0 });
    // An hour later.
    await place.sql("UPDATE retinue_queue.job SET start_after = now() WHERE data ->> 'root' = $1", [later]);
    expect(await place.run('wait', later)).toMatchObject({ code: 0 });
    const [report] = await stopWorkers([worker]);
    const taken = report?.events.filter(({ event }) => event === 'tree.taken').map(({ rootId }) => rootId);
    expect(taken).toEqual([high, normal, second, low, later]);
  });

  it('with the same key from two processes are one', { timeout: 120_000 }, async () => {
    const place = await createClusterPlace(doneScript);
    const keys = Array.from({ length: 10 }, (_, n) => `key ${n}`);
    const enqueueAll = async () => {
      const args = [
        resolve(import.meta.dirname, 'enqueue-process.ts'),
        place.url,
        orderKeyPath({ HOME: place.folder }),
        place.folder,
        ...keys,
      ];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        cwd: place.folder,
        env: { HOME: place.folder, PATH: process.env.PATH },
      });
      return JSON.parse(stdout) as { id: string; isNew: boolean }[];
    };
    const [first, second] = (await Promise.all([enqueueAll(), enqueueAll()])) as [
      { id: string; isNew: boolean }[],
      { id: string; isNew: boolean }[],
    ];
    expect(second.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
    for (const [n, { isNew }] of first.entries()) expect([isNew, second[n]?.isNew].sort()).toEqual([false, true]);
    expect(await place.store.queue?.states()).toMatchObject([{ waiting: 10 }]);
    expect(await place.store.runs({})).toHaveLength(10);
    // Jobs of refused attempts would have no row beside them.
    expect(await place.sql("SELECT count(*)::int AS n FROM retinue_queue.job WHERE data ? 'root'")).toEqual([{ n: 10 }]);
  });

  // More than a minute: pg-boss has to miss a heartbeat.
  it.runIf(process.env.RETINUE_TORTURE === 'full')(
    'whose worker dies between taking and claiming come back after its heartbeat is missed',
    { timeout: 240_000 },
    async () => {
      const place = await createClusterPlace(doneScript);
      const { id } = await place.library.enqueue({ task: 'go' });
      const entry = resolve(import.meta.dirname, '../torture/retinue.ts');
      const env = {
        ...{ PATH: process.env.PATH, HOME: place.folder, RETINUE_DB: place.url, RETINUE_MODEL: 'script/script.json' },
        RETINUE_CRASH: 'after queue.take:1',
      };
      const died = await promisify(execFile)(process.execPath, [entry, 'worker'], { cwd: place.folder, env }).catch(
        (error: unknown) => error,
      );
      expect(died).toMatchObject({ signal: 'SIGKILL' });
      expect(await place.sql('SELECT owner FROM retinue.trees')).toEqual([{ owner: null }]);
      expect(await place.store.queue?.states()).toMatchObject([{ waiting: 0, running: 1 }]);
      // A minute later.
      await place.sql(
        "UPDATE retinue_queue.job SET heartbeat_on = now() - interval '2 minutes', started_on = now() - interval '2 minutes'",
      );
      await place.sql('UPDATE retinue_queue.queue SET monitor_on = NULL');
      const worker = place.start('worker', '--json');
      await expect.poll(async () => (await place.store.run(id))?.status, { timeout: 200_000, interval: 500 }).toBe('completed');
      await stopWorkers([worker]);
      expect(await place.store.facts({ runId: id, types: ['run.ended'] })).toHaveLength(1);
    },
  );
});

describe('a worker whose clock is wrong', () => {
  it.each([5, -5])('by %i minutes: leases and delays are those of the database', { timeout: 240_000 }, async (minutes) => {
    // No tree of the library ends before both workers drive some: neither can take all eight.
    const untilShared = { calls: [{ tool: 'bash', args: { command: 'until [ -e shared ]; do sleep 0.1; done' } }] };
    const place = await createClusterPlace({
      runs: [
        { when: { task: 'tree' }, times: 'any', steps: [{ delayMs: 4_000, ...untilShared }, { text: 'done' }] },
        { times: 'any', steps: [{ delayMs: 4_000, calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'done' }] },
      ],
    });
    const workers = [
      place.start('worker', '--name', 'right', '--concurrency', '5', '--json'),
      place.startWith(skewedClock(minutes), 'worker', '--name', 'wrong', '--concurrency', '5', '--json'),
    ];
    const { out } = await place.startWith(skewedClock(minutes), 'run', '--queue', '--detach', '--start-after', '15s', 'go').finished;
    const runs = await Promise.all(Array.from({ length: 8 }, (_, n) => place.library.enqueue({ task: `tree ${n}` })));
    await untilDriving(place, ['right', 'wrong']);
    writeFileSync(join(place.folder, 'shared'), '');
    expect(await place.run('wait', out.trim(), ...runs.map(({ id }) => id))).toMatchObject({ code: 0 });
    const [delayed] = await place.sql<{ seconds: number }>(
      `SELECT extract(epoch FROM started_on - created_on)::float8 AS seconds FROM retinue_queue.job WHERE data ->> 'root' = $1`,
      [out.trim()],
    );
    expect(delayed?.seconds).toBeGreaterThanOrEqual(2);
    const reports = await stopWorkers(workers);
    const events = reports.flatMap((report) => report.events);
    expect(events.filter(({ event }) => event === 'tree.ended')).toHaveLength(9);
    expect(events.filter(({ event, isOrphan }) => event === 'tree.lost' || event === 'tree.put_back' || isOrphan === true)).toEqual([]);
    for (const { events: own } of reports) expect(own.filter(({ event }) => event === 'tree.ended').length).toBeGreaterThan(0);
    expect(await place.run('verify')).toMatchObject({ code: 0 });
  });
});

/** Makes Node start with another time than the machine has. */
function skewedClock(minutes: number): Record<string, string> {
  return { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'skewed-clock.ts')}`, SKEW_MS: String(minutes * 60_000) };
}
