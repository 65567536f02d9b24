// `retinue worker` and the commands for queues, with real processes and a real PostgreSQL server.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import type { QueueState, WorkerState } from '../../src/ports/queue.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres/database.ts';
import { startHeldModel } from './support-held-model.ts';
import { createPlace, type Place, type Running } from './support-process.ts';

interface ServerPlace extends Place {
  database: TestDatabase;
}

interface Queues {
  queued: number;
  running: number;
  queues: QueueState[];
  workers: WorkerState[];
}

async function createServerPlace(script: object, more: Record<string, string> = {}): Promise<ServerPlace> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  const place = createPlace(script, { RETINUE_DB: database.url, ...more });
  onTestFinished(() => place[Symbol.dispose]());
  return { ...place, database };
}

const append = (text: string) => ({ calls: [{ tool: 'bash', args: { command: `echo ${text} >> log.txt` } }] });
const tasks = ['a', 'b'].map((label) => ({ task: `do ${label}`, label, agent: 'general' }));

/** Asks a worker to stop. Resolves when its runs know of it: nothing shows that, but it takes the worker only a few queries after it says that it stops. */
async function stopDriving(worker: Running): Promise<void> {
  worker.process.kill('SIGTERM');
  await worker.untilErrors((err) => err.includes('"stopping"'));
  await sleep(3_000);
}

describe('a worker', () => {
  it('drives a queued run, and the command that queued it shows its result', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [{ times: 'any', steps: [{ text: 'done by a worker' }] }] });
    const worker = place.start('worker', '--name', 'one', '--json');
    expect(await place.run('run', '--queue', 'go')).toMatchObject({ code: 0, out: 'done by a worker\n' });
    expect((await place.run('ps', '--all', '--json')).out).toMatch(/"endedAt":"[^"]+","worker":null\}/);
    const shown = await place.run('run', '--queue', '--json', '--idempotency-key', 'the key', 'go');
    const outcome = JSON.parse(shown.out) as Outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'done by a worker' });
    // The same key is the same run.
    const again = await place.run('run', '--queue', '--detach', '--json', '--idempotency-key', 'the key', 'go');
    expect([again.code, JSON.parse(again.out)]).toEqual([0, { runId: outcome.runId }]);
    expect(again.err).toContain('has this idempotency key already; nothing was queued');
    expect(await place.run('run', '--queue', '--idempotency-key', 'the key', 'go')).toMatchObject({ code: 0, out: 'done by a worker\n' });
    expect(await place.run('run', '--idempotency-key', 'the key', 'go')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--idempotency-key is for runs in a queue; add --queue'),
    });
    const { queued, running, queues, workers } = JSON.parse((await place.run('queue', '--json')).out) as Queues;
    expect(queues).toMatchObject([{ name: 'default', waiting: 0, running: 0, failed: 0 }]);
    expect({ queued, running }).toEqual({ queued: 0, running: 0 });
    expect(workers).toMatchObject([{ id: 'one', host: hostname(), queues: ['default'], alive: true, trees: 0 }]);
    worker.process.kill('SIGTERM');
    const { code, err } = await worker.finished;
    expect(code).toBe(0);
    const events = err.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line).event as string] : []));
    expect(events).toEqual(['started', ...['tree.taken', 'tree.ended'], ...['tree.taken', 'tree.ended'], 'stopping', 'stopped']);
    expect(await place.run('verify')).toMatchObject({ code: 0 });
  });

  it('has one name in its log, in `queue` and in `ps`, and writes nothing but JSON with --json', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [{ steps: [{ text: 'done' }] }] });
    const worker = place.start('worker', '--json', '--health', '0');
    expect(await place.run('run', '--queue', 'go')).toMatchObject({ code: 0 });
    const { workers } = JSON.parse((await place.run('queue', '--json')).out) as Queues;
    worker.process.kill('SIGTERM');
    const lines = (await worker.finished).err.trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line) as { event: string; worker?: string; url?: string });
    const name = `${hostname()}:${worker.process.pid}`;
    expect(events[0]).toMatchObject({ event: 'started', worker: name });
    expect(events[1]).toMatchObject({ event: 'health', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
    expect(workers).toMatchObject([{ id: name }]);
  });

  // As docs/cluster.md begins.
  it('needs no configured model for the offline one, and two of them share a folder', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [] });
    const without = { RETINUE_MODEL: '' };
    const workers = [place.startWith(without, 'worker'), place.startWith(without, 'worker')];
    const survey = ['run', '--queue', '--model', 'offline/surveyor', 'survey this folder'];
    const { code, out, err } = await place.startWith(without, ...survey).finished;
    expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringContaining('script.json') });
    for (const worker of workers) worker.process.kill('SIGTERM');
    const ended = await Promise.all(workers.map(({ finished }) => finished));
    expect(ended.filter((worker) => / completed\n/.test(worker.err))).toHaveLength(1);
  });

  it('continues what a killed worker and a stopped one had begun, and repeats nothing', { timeout: 180_000 }, async () => {
    const createScript = (rest: (label: string) => object[]) => ({
      runs: [
        {
          when: { label: 'root' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { expect: { prompt: 'b is done' }, text: 'all done' }],
        },
        ...['a', 'b'].map((label) => ({ when: { label }, steps: [append(`${label}1`), ...rest(label)] })),
      ],
    });
    const place = await createServerPlace(createScript(() => [{ hang: 'start' }]));
    const first = place.start('worker', '--name', 'first');
    const { out } = await place.run('run', '--queue', '--detach', '--label', 'root', 'go');
    const id = out.trim();
    await expect.poll(() => readLog(place).length, { timeout: 60_000 }).toBe(2);
    const driven = async () => (JSON.parse((await place.run('ps', '--json')).out) as RunView[]).find(({ runId }) => runId === id)?.worker;
    expect(await driven()).toBe('first');
    expect((await place.run('show', id)).out).toMatch(/^worker +first$/m);
    first.process.kill('SIGKILL');
    await first.finished;
    const second = place.start('worker', '--name', 'second');
    await expect.poll(driven, { timeout: 60_000 }).toBe('second');
    // A stopped process keeps its connections, but sends no heartbeat.
    second.process.kill('SIGSTOP');
    const answering = createScript((label) => [append(`${label}2`), { text: `${label} is done` }]);
    writeFileSync(join(place.folder, 'script.json'), JSON.stringify(answering));
    const third = place.start('worker', '--name', 'third');
    expect(await place.run('wait', id)).toMatchObject({ code: 0, out: 'all done\n' });
    second.process.kill('SIGCONT');
    expect(readLog(place).sort()).toEqual(['a1', 'a2', 'b1', 'b2']);
    const facts = JSON.parse((await place.run('logs', id, '--tree', '--json')).out) as StoredFact[];
    expect(facts.filter(({ type }) => type === 'run.ended')).toHaveLength(3);
    expect(facts.filter(({ type }) => type === 'child.ended')).toHaveLength(2);
    expect(facts.some((fact) => fact.type === 'run.resumed' && fact.data.takeover === true)).toBe(true);
    for (const each of [second, third]) each.process.kill('SIGTERM');
    expect(await Promise.all([second.finished, third.finished])).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(await place.run('verify')).toMatchObject({ code: 0 });
    expect(JSON.parse((await place.run('queue', '--json')).out)).toMatchObject({ queues: [{ running: 0, waiting: 0 }], workers: [] });
  });

  it('hands runs back when it is asked to stop, and another one repeats nothing', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({
      runs: [
        {
          steps: [
            append('one'),
            {
              calls: [
                { tool: 'bash', args: { command: 'echo two >> log.txt; while [ ! -e go ]; do sleep 0.1; done; echo three >> log.txt' } },
              ],
            },
            append('four'),
            { text: 'done' },
          ],
        },
      ],
    });
    const first = place.start('worker', '--json', '--grace', '1m');
    const running = place.start('run', '--queue', 'go');
    await expect.poll(() => readLog(place).length, { timeout: 60_000 }).toBe(2);
    await stopDriving(first);
    writeFileSync(join(place.folder, 'go'), '');
    const { code, err } = await first.finished;
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('tree.handed_back') });
    // The call that ran was finished within the grace time.
    expect(readLog(place)).toEqual(['one', 'two', 'three']);
    expect(JSON.parse((await place.run('queue', '--json')).out)).toMatchObject({ queues: [{ waiting: 1, running: 0 }], workers: [] });
    const second = place.start('worker');
    expect(await running.finished).toMatchObject({ code: 0, out: 'done\n' });
    expect(readLog(place)).toEqual(['one', 'two', 'three', 'four']);
    second.process.kill('SIGTERM');
    await second.finished;
  });

  it('that is asked to stop during a model call leaves the commands of the answer to the next one', { timeout: 120_000 }, async () => {
    await using model = await startHeldModel({ go: [append('one'), { ...append('two'), held: true }, { text: 'done' }] });
    const place = await createServerPlace({}, model.variables);
    const first = place.start('worker', '--json', '--grace', '1m');
    const { out } = await place.run('run', '--queue', '--detach', 'go');
    const id = out.trim();
    await place.facts((found) => found.filter(({ type }) => type === 'model.asked').length === 2);
    await stopDriving(first);
    model.release();
    expect(await first.finished).toMatchObject({ code: 0, err: expect.stringContaining('tree.handed_back') });
    expect(readLog(place)).toEqual(['one']);
    const second = place.start('worker');
    expect(await place.run('wait', id)).toMatchObject({ code: 0, out: 'done\n' });
    expect(readLog(place)).toEqual(['one', 'two']);
    const facts = JSON.parse((await place.run('logs', id, '--json')).out) as StoredFact[];
    expect(facts.map(({ type }) => type).join(' ')).toContain('tool.asked run.paused run.resumed artifact.recorded tool.finished');
    expect(facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.status] : []))).toEqual(['ok', 'ok']);
    second.process.kill('SIGTERM');
    await second.finished;
  });

  it('gives up a run that kills its worker each time', { timeout: 180_000 }, async () => {
    const place = await createServerPlace({
      runs: [
        {
          steps: Array.from({ length: 9 }, (_, i) => ({
            calls: [{ tool: 'bash', args: { command: `sh poison.sh ${i}` } }],
          })),
        },
      ],
    });
    writeFileSync(join(place.folder, 'poison.sh'), 'kill -9 $(cat worker.pid); sleep 5');
    const { out } = await place.run('run', '--sandbox', 'off', '--allow', 'bash', '--queue', '--detach', 'go');
    let starts = 0;
    let outcome: { status: string; error?: { code: string } } | null = null;
    while (outcome === null && starts < 8) {
      starts++;
      const worker = place.start('worker', '--sandbox', 'off');
      writeFileSync(join(place.folder, 'worker.pid'), String(worker.process.pid));
      const ended = await Promise.race([worker.finished.then(() => null), place.run('wait', out.trim(), '--json')]);
      if (ended !== null) outcome = (JSON.parse(ended.out) as [typeof outcome])[0];
      worker.process.kill('SIGTERM');
      await worker.finished;
    }
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'crashed' } });
    expect(starts).toBeLessThanOrEqual(5);
  });

  it('completes the other runs of a worker that one of them kills each time', { timeout: 240_000 }, async () => {
    const kills = Array.from({ length: 9 }, (_, n) => ({
      calls: [{ tool: 'bash', args: { command: `sh kill.sh ${n}` } }],
    }));
    const place = await createServerPlace({
      runs: [
        { when: { task: 'kill' }, times: 'any', steps: kills },
        // It never has its answer before the other one kills the worker.
        { when: { task: 'wait' }, times: 'any', steps: [{ delayMs: 1_500, text: 'done' }] },
      ],
    });
    writeFileSync(join(place.folder, 'kill.sh'), 'kill -9 $(cat worker.pid); sleep 5');
    const queueRun = async (task: string) =>
      (await place.run('run', '--sandbox', 'off', '--allow', 'bash', '--queue', '--detach', task)).out.trim();
    const killer = await queueRun('kill');
    const others = await Promise.all([1, 2].map((n) => queueRun(`wait ${n}`)));
    const isOver = new AbortController();
    onTestFinished(() => isOver.abort());
    async function keepWorking(): Promise<void> {
      while (!isOver.signal.aborted) {
        const worker = place.start('worker', '--sandbox', 'off');
        writeFileSync(join(place.folder, 'worker.pid'), String(worker.process.pid));
        const stop = () => worker.process.kill('SIGTERM');
        isOver.signal.addEventListener('abort', stop);
        await worker.finished;
        isOver.signal.removeEventListener('abort', stop);
      }
    }
    const working = keepWorking();
    expect((JSON.parse((await place.run('wait', killer, '--json')).out) as Outcome[])[0]).toMatchObject({ error: { code: 'crashed' } });
    for (const id of others) expect(await place.run('wait', id)).toMatchObject({ code: 0, out: 'done\n' });
    isOver.abort();
    await working;
  });

  it('leaves a paused run to the database, and takes it again when somebody writes to it', { timeout: 120_000 }, async () => {
    await using model = await startHeldModel({
      go: [append('one'), { ...append('two'), held: true }, { expect: 'go on', text: 'done' }],
    });
    const place = await createServerPlace({}, model.variables);
    const worker = place.start('worker', '--json');
    const { out } = await place.run('run', '--queue', '--detach', 'go');
    const id = out.trim();
    await place.facts((found) => found.filter(({ type }) => type === 'model.asked').length === 2);
    const pausing = place.start('pause', id);
    await place.untilOrdersRead();
    model.release();
    expect(await pausing.finished).toMatchObject({ code: 0 });
    await expect
      .poll(async () => JSON.parse((await place.run('queue', '--json')).out), { timeout: 60_000 })
      .toMatchObject({ queues: [{ running: 0, waiting: 0, delayed: 0 }], workers: [{ trees: 0 }] });
    const [row] = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(row).toMatchObject({ status: 'paused' });
    expect(await place.run('message', id, 'go on')).toMatchObject({ code: 0 });
    expect(await place.run('wait', id)).toMatchObject({ code: 0, out: 'done\n' });
    worker.process.kill('SIGTERM');
    await worker.finished;
  });

  it('queues what a schedule says, once, and says what is wrong with one', { timeout: 180_000 }, async () => {
    const place = await createServerPlace({ runs: [{ steps: [{ text: 'scheduled' }] }] });
    const add = (...args: string[]) => place.run('schedule', 'add', ...args);
    expect(await add('99 * * * *', 'go')).toMatchObject({ code: 2, err: expect.stringContaining('does not say when') });
    expect(await add('* * * * *', 'go', '--timezone', 'Mars/Base')).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a time zone'),
    });
    expect(await add('0', '7', '*', '*', '*', 'go')).toMatchObject({ code: 2, err: expect.stringContaining('in quotes') });
    for (const [flag, name, message] of [
      ['--agent', 'generl', 'did you mean `general`'],
      ['--dialect', 'nativ', 'did you mean `native`'],
      ['--model', 'antropic/x', 'there is no provider "antropic"'],
      ['--model', 'offline/x', 'the offline models are'],
    ] as const)
      expect(await add('0 0 1 1 *', 'rarely', flag, name), name).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    const { out: elsewhere } = await add('0 0 1 1 *', 'rarely', '--model', 'anthropic/x');
    expect(await place.run('schedule', 'rm', elsewhere.trim())).toMatchObject({ code: 0 });
    const { out: unnamed } = await add('0 0 1 1 *', 'rarely');
    expect(unnamed).toMatch(/^[0-9a-f]{8}\n$/);
    expect(await place.run('schedule', 'rm', unnamed.trim())).toMatchObject({ code: 0 });
    expect(await add('* * * * *', 'go', '--name', 'tick', '--timezone', 'Europe/Berlin')).toMatchObject({ code: 0, out: 'tick\n' });
    expect(JSON.parse((await place.run('schedule', 'list', '--json')).out)).toMatchObject([
      { name: 'tick', cron: '* * * * *', timezone: 'Europe/Berlin', queue: 'default', task: 'go' },
    ]);
    // It is not due for the minute in which it was added.
    await place.database.sql("UPDATE retinue_queue.schedule SET created_on = created_on - interval '2 minutes'");
    const workers = [place.start('worker'), place.start('worker')];
    const [row] = await place.until<RunView[]>(['ps', '--all'], (rows) => rows.some(({ status }) => status === 'completed'));
    expect(row).toMatchObject({ label: 'tick', status: 'completed' });
    expect(await place.run('schedule', 'rm', 'tock')).toMatchObject({ code: 1, out: '', err: expect.stringContaining('tick') });
    expect(await place.run('schedule', 'rm', 'tick')).toMatchObject({ code: 0 });
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(workers.map(({ finished }) => finished));
  });

  it('works on a checkout of a repository, and keeps the result as a patch', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [{ steps: [append('changed'), { text: 'done' }] }] });
    const repository = join(place.folder, 'project');
    const git = (...args: string[]) => execFileSync('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args]);
    mkdirSync(repository);
    git('init', '-q');
    writeFileSync(join(repository, 'readme.txt'), 'hello\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    const worker = place.start('worker', '--workspace-root', 'checkouts', '--shared', 'project');
    const { out } = await place.run('run', '--queue', '--detach', '--repository', 'project', 'go');
    expect(await place.run('wait', out.trim())).toMatchObject({ code: 0 });
    expect(existsSync(join(repository, 'log.txt'))).toBe(false);
    expect((await place.run('diff', out.trim())).out).toContain('+changed');
    const facts = JSON.parse((await place.run('logs', out.trim(), '--json')).out) as StoredFact[];
    expect(facts.find(({ type }) => type === 'workspace.prepared')?.data).toMatchObject({
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    worker.process.kill('SIGTERM');
    await worker.finished;
  });

  it('says what is wrong in one sentence', { timeout: 60_000 }, async () => {
    const place = createPlace({ runs: [{ steps: [{ text: 'x' }] }] });
    onTestFinished(() => place[Symbol.dispose]());
    for (const command of [['worker'], ['run', '--queue', 'go'], ['queue'], ['schedule', 'list']])
      expect(await place.run(...command), command.join(' ')).toMatchObject({
        code: 2,
        err: expect.stringMatching(/^retinue: .*PostgreSQL database.*--db postgres:\/\/.*\n$/),
      });
    expect(await place.run('run', '--queue=default')).toMatchObject({ code: 2, err: expect.stringContaining('the task is missing') });
    expect(await place.run('run', '--priority', '3', 'go')).toMatchObject({ code: 2, err: expect.stringContaining('add --queue') });
    expect(existsSync(join(place.folder, '.retinue', 'retinue.db'))).toBe(false);
  });
});

function readLog({ folder }: Place): string[] {
  const path = join(folder, 'log.txt');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}
