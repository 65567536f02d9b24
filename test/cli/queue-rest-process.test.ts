// Runs of a queue that are paused: what is shown of them, and how they are woken. Real processes and a real PostgreSQL server.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import { createTestDatabase } from '../support/postgres/database.ts';
import { startHeldModel } from './support-held-model.ts';
import { createPlace, type Place } from './support-process.ts';

async function createServerPlace(script: object, more: Record<string, string> = {}): Promise<Place> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  const place = createPlace(script, { RETINUE_DB: database.url, ...more });
  onTestFinished(() => place[Symbol.dispose]());
  return place;
}

const append = (text: string) => ({ calls: [{ tool: 'bash', args: { command: `echo ${text} >> log.txt` } }] });

/** A worker, and a run that it has left until the next period of a budget. */
async function queueRestingRun(place: Place) {
  await place.run('budget', 'set', 'team', '--tokens', '1', '--per', 'month');
  const worker = place.start('worker', '--json');
  const id = (await place.run('run', '--queue', '--detach', '--budget', 'team', 'go')).out.trim();
  await expect
    .poll(async () => JSON.parse((await place.run('queue', '--json')).out), { timeout: 60_000 })
    .toMatchObject({ queues: [{ running: 0, waiting: 0, delayed: 1 }], workers: [{ trees: 0 }] });
  const raiseBudget = () => place.run('budget', 'set', 'team', '--tokens', '1000000');
  return { worker, id, raiseBudget };
}

async function stop({ process, finished }: ReturnType<Place['start']>): Promise<void> {
  process.kill('SIGTERM');
  await finished;
}

describe('a run of a queue that is paused until some time', () => {
  it('is shown as paused with its reason and time, and a message wakes it', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [{ steps: [{ expect: { prompt: 'go on' }, text: 'done' }] }] });
    const { worker, id, raiseBudget } = await queueRestingRun(place);
    const [row] = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(row).toMatchObject({ runId: id, status: 'paused' });
    expect(JSON.parse((await place.run('show', id, '--json')).out)).toMatchObject({
      ...{ status: 'paused', queue: 'default' },
      pause: { until: expect.stringMatching(/^20\d\d-/), reasons: [expect.stringContaining('the budget team is used up')] },
    });
    expect((await place.run('show', id)).out).toMatch(/^status +paused · until .*UTC · the budget team is used up/m);
    expect((await place.run('pause', id)).out).toMatch(/^(\w{8}) is already paused until .*UTC; continue with `retinue resume \1`/);
    expect((await place.run('resume')).err).toContain(`retinue resume ${id.slice(0, 8)}`);
    await raiseBudget();
    expect(await place.run('message', id, 'go on')).toMatchObject({ code: 0 });
    expect(await place.run('wait', id)).toMatchObject({ code: 0, out: 'done\n' });
    await stop(worker);
  });

  it('continues in a worker when it is resumed, and the command shows its end', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [{ steps: [append('one'), { text: 'done' }] }] });
    const { worker, id, raiseBudget } = await queueRestingRun(place);
    const short = id.slice(0, 8);
    await raiseBudget();
    expect(await place.run('resume', id)).toMatchObject({
      ...{ code: 0, out: 'done\n' },
      err: expect.stringContaining(`retinue: ${short} is in the queue \`default\` and continues as soon as a worker takes it`),
    });
    expect(readFileSync(join(place.folder, 'log.txt'), 'utf8')).toBe('one\n');
    await stop(worker);
    const events = (await worker.finished).err
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line).event as string] : []));
    expect(events).toEqual(['started', 'tree.taken', 'tree.rests', 'tree.taken', 'tree.ended', 'stopping', 'stopped']);
  });
});

describe('`resume`', () => {
  it('gives a run that was paused by hand to a worker, and without an id leaves it alone', { timeout: 120_000 }, async () => {
    await using model = await startHeldModel({ go: [{ ...append('one'), held: true }, { text: 'done' }] });
    const place = await createServerPlace({}, model.variables);
    const first = place.start('worker');
    const id = (await place.run('run', '--queue', '--detach', 'go')).out.trim();
    await place.facts((facts) => facts.some(({ type }) => type === 'model.asked'));
    const pausing = place.start('pause', id);
    await place.untilOrdersRead();
    model.release();
    expect((await pausing.finished).out).toContain('is paused');
    await stop(first);
    expect((await place.run('resume')).err).toContain(`to continue a paused one: retinue resume ${id.slice(0, 8)}`);
    const resuming = place.start('resume', id);
    await expect
      .poll(async () => JSON.parse((await place.run('queue', '--json')).out), { timeout: 60_000 })
      .toMatchObject({ queues: [{ waiting: 1 }] });
    expect((await place.run('pause', id)).out).toContain('waits for a worker, and only a running run can be paused');
    expect(existsSync(join(place.folder, 'log.txt'))).toBe(false);
    const second = place.start('worker');
    const resumed = await resuming.finished;
    expect(resumed).toMatchObject({ code: 0, out: 'done\n', err: expect.stringContaining('no worker takes runs from `default` now') });
    expect(readFileSync(join(place.folder, 'log.txt'), 'utf8')).toBe('one\n');
    await stop(second);
  });
});
