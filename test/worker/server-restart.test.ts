// The database server is restarted while workers drive trees and while trees are queued.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAllFacts } from '../support/postgres/all-facts.ts';
import { startPostgresServer } from '../support/postgres/server.ts';
import { createClusterPlace, stopWorkers } from './support-processes.ts';

const append = (text: string, before = '') => ({ calls: [{ tool: 'bash', args: { command: `${before}echo ${text} >> log.txt` } }] });
// No child gets further before the server has been restarted.
const afterRestart = 'until [ -e restarted ]; do sleep 0.1; done; ';
const labels = ['a', 'b', 'c', 'd'];
const tasks = labels.map((label) => ({ task: `do ${label}`, label, agent: 'general' }));
const child = (label: string) => ({
  when: { label },
  steps: [
    append(`${label}1`),
    // The server stops during a model call or during a tool call.
    { delayMs: 1_000, ...append(`${label}2`, afterRestart) },
    { delayMs: 1_000, ...append(`${label}3`) },
    { text: `${label} is done` },
  ],
});

describe('a restart of the server', () => {
  it('interrupts neither the workers nor their trees, and repeats nothing', { timeout: 240_000 }, async () => {
    const server = await startPostgresServer();
    onTestFinished(() => server.remove());
    const place = await createClusterPlace(
      {
        runs: [
          { when: { label: 'root' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all done' }] },
          ...labels.map(child),
        ],
      },
      { url: server.url() },
    );
    const workers = ['one', 'two'].map((name) => place.start('worker', '--name', name, '--json'));
    const { id } = await place.library.enqueue({ task: 'go', label: 'root' });
    const readLog = () => {
      const path = join(place.folder, 'log.txt');
      return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
    };
    await expect.poll(() => readLog().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    await server.stop('immediate');
    // What is queued while the server is down waits for it.
    const waiting = place.library.enqueue({ task: 'do a', label: 'a' });
    await server.start();
    await waiting;
    writeFileSync(join(place.folder, 'restarted'), '');
    await expect.poll(async () => (await place.store.runs({ live: true })).length, { timeout: 120_000 }).toBe(0);
    expect(await place.store.run(id)).toMatchObject({ status: 'completed' });
    // The restart is no reason for a takeover: the same worker goes on.
    const facts = await readAllFacts(place.store);
    expect(facts.filter((fact) => fact.type === 'run.resumed' && fact.data.takeover === true)).toEqual([]);
    const expected = [...labels, 'a'].flatMap((label) => [1, 2, 3].map((n) => `${label}${n}`));
    expect(readLog().sort()).toEqual(expected.sort());
    expect((await stopWorkers(workers)).map(({ code }) => code)).toEqual([0, 0]);
    expect(await place.run('verify')).toMatchObject({ code: 0 });
  });
});
