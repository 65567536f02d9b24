// Runs whose tools execute in their own process: the real program as the child, real commands, real signals.
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import type { RunRow } from '../../src/contract/run.ts';
import { inlineExecutor } from '../../src/hosts/inline.ts';
import { parseRule } from '../../src/rules/policy.ts';
import { tool } from '../support/adversary.ts';
import { createGateClock } from '../support/gate-clock.ts';
import type { World } from '../support/world.ts';
import { begun, noneLeft, processWorld, runProcess } from './support.ts';

const call = (name: string, args: object) => ({ tool: name, args });
const bash = (command: string) => ({ calls: [call('bash', { command })] });

const row = async (world: World, id: string) => (await world.store.run(id)) as RunRow;

let unique = 0;
/** An argument that identifies a sleeping process. */
const nap = () => `7${process.pid}.${++unique}`;

describe('a run in a process of its own', () => {
  it('works: files, commands and supervisor tools, with the same facts as inline', async () => {
    const keeper = tool('keeper', async () => ({ output: `made in ${process.pid}` }));
    const steps = [
      { calls: [call('write', { path: 'a.txt', content: 'one\n' }), call('read', { path: 'b.txt' }), call('keeper', {})] },
      { calls: [call('edit', { path: 'a.txt', old: 'one', new: 'two' }), call('bash', { command: 'cat a.txt; echo $PPID' })] },
      { expect: { prompt: 'two' }, text: 'done' },
    ];
    const agents = [{ name: 'all', description: '', prompt: 'You work.', source: 'test' }];
    await using world = await processWorld({ script: { runs: [{ steps }] }, files: { 'b.txt': 'b' }, tools: [keeper], agents });
    const outcome = await (await world.runtime.start({ task: 'x', agent: 'all' })).outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'done', turns: 3 });
    expect(outcome.artifacts.map(({ kind }) => kind)).toContain('diff');
    const outputs = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.output] : []));
    expect(outputs).toContain(`made in ${process.pid}`);
    // The run's own process never starts commands.
    expect(outputs).toContain(`two\n${process.pid}`);
    expect(world.facts[0]).toMatchObject({ type: 'run.created', data: { host: 'process' } });
    expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });

  it('delegates to runs with their own processes, and reports their results', async () => {
    const tasks = [
      { task: 'a', agent: 'plan' },
      { task: 'b', agent: 'explore' },
    ];
    const runs = [
      { when: { agent: 'general' }, steps: [{ calls: [call('delegate', { tasks })] }, { expect: { prompt: 'explored' }, text: 'all in' }] },
      { when: { agent: 'plan' }, steps: [{ text: 'planned' }] },
      { when: { agent: 'explore' }, steps: [{ text: 'explored' }] },
    ];
    await using world = await processWorld({ script: { runs } });
    expect(await (await world.runtime.start({ task: 'x' })).outcome).toMatchObject({ status: 'completed', summary: 'all in' });
    expect(world.types().filter((type) => type === 'child.ended')).toHaveLength(2);
    expect(world.facts.filter((fact) => fact.type === 'run.created').map((fact) => fact.data.host)).toEqual([
      'process',
      'process',
      'process',
    ]);
  });

  it('waits while its children run, and gets their ends and messages', async () => {
    const delegate = call('delegate', { tasks: [{ task: 'a', agent: 'child' }], wait_seconds: 0 });
    const heard = { expect: { prompt: 'look here' }, text: 'still' };
    const told = { expect: { prompt: 'planned' }, text: 'end' };
    const runs = [
      { when: { agent: 'parent' }, steps: [{ calls: [delegate] }, { text: 'waiting' }, heard, told] },
      { when: { agent: 'child' }, steps: [{ calls: [call('gate', {})] }, { text: 'planned' }] },
    ];
    const gate = Promise.withResolvers<void>();
    const wait = tool('gate', () => gate.promise.then(() => ({ output: 'open' })));
    const agents = ['parent', 'child'].map((name) => ({ name, description: '', prompt: '', source: 'test' }));
    await using world = await processWorld({ script: { runs }, tools: [wait], agents });
    const run = await world.runtime.start({ task: 'x', agent: 'parent' });
    const parked = async () => (({ status, turns }) => [status, turns])(await row(world, run.id));
    await expect.poll(parked).toEqual(['waiting', 2]);
    await run.send('look here');
    await expect.poll(() => world.types(run.id).filter((type) => type === 'model.answered').length).toBe(3);
    gate.resolve();
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'end' });
  });

  it('sees no key of the environment (invariant 11)', async () => {
    const env = { ...process.env, ANTHROPIC_API_KEY: 'canary-key-0123456789', RETINUE_DB: '/nowhere' };
    const command = 'env; until [ -e seen ]; do sleep 0.02; done';
    await using world = await processWorld({ script: { runs: [{ steps: [bash(command), { text: 'ok' }] }] }, host: { env } });
    const run = await world.runtime.start({ task: 'the secret task' });
    const pid = await runProcess();
    await expect.poll(() => world.types(run.id).includes('tool.asked')).toBe(true);
    const own = ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1')).join('\n');
    writeFileSync(join(world.workspace, 'seen'), '');
    expect((await run.outcome).status).toBe('completed');
    const [output] = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.output] : []));
    expect(own).toContain('PATH=');
    expect(output).toContain('PATH=');
    expect(`${own}${output}`).not.toMatch(/canary|API_KEY|RETINUE_DB|secret task/);
  });

  it('killed in the middle of a command: failed with the signal, text kept, nothing left, siblings continue', async () => {
    const mark = nap();
    const script = { runs: [{ steps: [{ text: 'I begin.', ...bash(`setsid sleep ${mark} & touch begun; sleep ${mark}`) }] }] };
    const scripts = { other: { runs: [{ steps: [{ delayMs: 1, text: 'fine' }] }] } };
    const scriptClock = createGateClock();
    await using world = await processWorld({ script, scripts, scriptClock });
    const run = await world.runtime.start({ task: 'x' });
    await begun(world);
    const pid = await runProcess();
    const sibling = await world.runtime.start({ task: 'y', model: 'script/other' });
    process.kill(pid, 'SIGKILL');
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'failed', summary: 'I begin.', error: { code: 'crashed', message: /SIGKILL/ } });
    expect(world.facts.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { status: 'cancelled' } });
    await noneLeft(mark);
    scriptClock.open();
    expect((await sibling.outcome).status).toBe('completed');
  });

  it('killed: no timer is left to kill a process that has ended and whose id may be reused', async () => {
    const mark = nap();
    await using world = await processWorld({ script: { runs: [{ steps: [bash(`touch begun; sleep ${mark}`)] }] } });
    const run = await world.runtime.start({ task: 'x' });
    await begun(world);
    const pid = await runProcess();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    process.kill(pid, 'SIGKILL');
    await run.outcome;
    await noneLeft(mark);
    const grace = timers.mock.calls.filter(([, ms]) => ms === 2000);
    timers.mockRestore();
    expect(grace).toEqual([]);
  });

  it('stopped with SIGSTOP: noticed within two heartbeats, killed, failed', async () => {
    const mark = nap();
    const script = { runs: [{ steps: [bash(`touch begun; sleep ${mark}`)] }] };
    await using world = await processWorld({ script, host: { heartbeatMs: 2500 } });
    const run = await world.runtime.start({ task: 'x' });
    await begun(world);
    process.kill(await runProcess(), 'SIGSTOP');
    expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'crashed', message: /no heartbeat for 5000 ms/ } });
    await noneLeft(mark);
  });

  it('cancelled: commands that ignore the request are killed, and only then does the run end (invariant 7)', async () => {
    const mark = nap();
    const script = { runs: [{ steps: [bash(`trap "" TERM; touch begun; sleep ${mark}`)] }] };
    await using world = await processWorld({ script });
    const run = await world.runtime.start({ task: 'x' });
    await begun(world);
    const pid = await runProcess();
    await run.cancel('enough');
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    expect(() => process.kill(pid, 0)).toThrow();
    await noneLeft(mark);
  });

  it('ends at its deadline', async () => {
    const mark = nap();
    await using world = await processWorld({ script: { runs: [{ steps: [bash(`sleep ${mark}`)] }] } });
    const outcome: Outcome = await (await world.runtime.start({ task: 'x', limits: { timeoutMs: 1200 } })).outcome;
    expect(outcome).toMatchObject({ status: 'timed_out', terminated: 'deadline' });
    await noneLeft(mark);
  });

  it('that leaves a double-forked process behind: that process ends too', async () => {
    const mark = nap();
    const steps = [bash(`(setsid sh -c 'sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 &) ; echo ok`), { text: 'done' }];
    await using world = await processWorld({ script: { runs: [{ steps }] } });
    expect((await (await world.runtime.start({ task: 'x' })).outcome).status).toBe('completed');
    await noneLeft(mark);
  });
});

/** A world whose run needs approval to write a file. */
function askingWorld() {
  const steps = [{ calls: [call('write', { path: 'a.txt', content: 'one' })] }, { text: 'done' }];
  const narrowing = { kind: 'narrowing' as const, owner: 'the user', rules: [parseRule('ask write')] };
  return processWorld({ script: { runs: [{ steps }] }, options: { questions: { canAnswer: () => true } }, narrowing: [narrowing] });
}

it('a call that was approved is executed', async () => {
  await using world = await askingWorld();
  const run = await world.runtime.start({ task: 'x' });
  await expect.poll(() => world.types()).toContain('approval.asked');
  const question = world.facts.find((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>;
  expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
  expect(await world.runtime.findLiveRun(run.id)?.answer(question.data, { allowed: true, by: 'ada' })).toBe(true);
  expect(await run.outcome).toMatchObject({ status: 'completed' });
  expect(readFileSync(join(world.workspace, 'a.txt'), 'utf8')).toBe('one');
});

it('a deny that arrives while a call waits for its turn: the call is not executed', async () => {
  const steps = [
    {
      calls: [
        call('bash', { command: 'touch begun; until [ -e sent ]; do sleep 0.05; done' }),
        call('write', { path: 'a.txt', content: 'one' }),
      ],
    },
    { expect: { prompt: 'rule `deny write` of a message from ada' }, text: 'done' },
  ];
  await using world = await processWorld({ script: { runs: [{ steps }] } });
  const run = await world.runtime.start({ task: 'x' });
  await expect.poll(() => existsSync(join(world.workspace, 'begun'))).toBe(true);
  await run.send('stop', 'ada', ['deny write']);
  writeFileSync(join(world.workspace, 'sent'), '');
  expect(await run.outcome).toMatchObject({ status: 'completed' });
  expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
});

it('killed while a question is open: the run fails at once, and nothing is executed', async () => {
  await using world = await askingWorld();
  const run = await world.runtime.start({ task: 'x' });
  await expect.poll(() => world.types()).toContain('approval.asked');
  process.kill(await runProcess(), 'SIGKILL');
  expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'crashed' } });
  expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
});

describe.each(['inline', 'process'] as const)('with tools in %s, the supervisor judges what a call opened', (host) => {
  /** A write to `notes/a.txt` that has to be approved; while the question waits, `notes` becomes a link to `secret`. */
  async function swapped(rules: string[]): Promise<{ world: World; outcome: Outcome; finished: FactOf<'tool.finished'> }> {
    const steps = [{ calls: [call('write', { path: 'notes/a.txt', content: 'mine' })] }, { text: 'done' }];
    const narrowing = { kind: 'narrowing' as const, owner: 'the user', rules: ['ask write', ...rules].map(parseRule) };
    const made = { script: { runs: [{ steps }] }, options: { questions: { canAnswer: () => true } }, narrowing: [narrowing] };
    const world = await (host === 'process' ? processWorld(made) : processWorld({ ...made, executor: inlineExecutor }));
    mkdirSync(join(world.workspace, 'notes'));
    mkdirSync(join(world.workspace, 'secret'));
    const run = await world.runtime.start({ task: 'x' });
    await expect.poll(() => world.types()).toContain('approval.asked');
    const question = world.facts.find((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>;
    rmSync(join(world.workspace, 'notes'), { recursive: true });
    symlinkSync('secret', join(world.workspace, 'notes'));
    expect(await world.runtime.findLiveRun(run.id)?.answer(question.data, { allowed: true, by: 'ada' })).toBe(true);
    const outcome = await run.outcome;
    const finished = world.facts.find((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>;
    return { world, outcome, finished };
  }

  it('a link that leads to a denied path denies the approved call, and nothing is written', async () => {
    const { world, outcome, finished } = await swapped(['deny write:secret/*']);
    expect(finished.data).toMatchObject({ status: 'denied', output: expect.stringContaining('rule `deny write:secret/*` of the user') });
    expect(existsSync(join(world.workspace, 'secret/a.txt'))).toBe(false);
    expect(outcome.status).toBe('completed');
    await world[Symbol.asyncDispose]();
  });
});
