// Holding runs back and leaving them to another process, with the real program.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { type HeldModel, startHeldModel } from './support-held-model.ts';
import { createPlace, type Finished, type Place } from './support-process.ts';

const look = { calls: [{ tool: 'list', args: { path: '.' } }] };

const held = true;

/** Pauses a run and its descendants, `runs` in all, while model calls are running. The calls end when all of the runs know of the pause. */
async function pause(place: Place, model: HeldModel, args: string[] = ['last'], runs = 1): Promise<Finished> {
  const pausing = place.start('pause', ...args);
  await place.untilOrdersRead(runs);
  model.release();
  return pausing.finished;
}

const count = (found: StoredFact[], type: string) => found.filter((fact) => fact.type === type).length;

describe('pause', () => {
  it('pauses a run of another process until `resume`', async () => {
    await using model = await startHeldModel({ go: [look, { ...look, held }, { text: 'done' }] });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 2);
    expect(await pause(place, model, ['last', '--reason', 'to look'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^(\w{8}) is paused; continue with `retinue resume \1`; its time limit ends at .*UTC\n$/),
    });
    const [row] = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(row?.status).toBe('paused');
    expect((await place.run('pause', 'last')).out).toMatch(/is already paused/);
    const nothing = await place.run('resume');
    expect(nothing.err).toMatch(/^retinue: no run was interrupted; to continue a paused one: retinue resume \w{8}\n$/);
    // The answer and the progress are those of the other process.
    const resumed = await place.run('resume', 'last');
    expect(resumed).toMatchObject({ code: 0, out: 'done\n' });
    expect(resumed.err).toMatch(/^retinue: (\w{8}) continues in its own process; Ctrl-C stops watching it\n[\s\S]*\1 completed · 3 turns/);
    expect(resumed.err).not.toContain('nothing to resume');
    expect((await place.run('pause', 'last')).out).toMatch(/has already ended: completed/);
    expect((await place.run('resume', 'last')).err).toMatch(/has already ended: completed; `retinue show \w{8}` has its result/);
    expect(await running.finished).toMatchObject({ code: 0, out: 'done\n' });
    const types = (await place.facts(() => true)).map(({ type }) => type);
    expect(types.filter((type) => type === 'run.paused' || type === 'run.resumed')).toEqual(['run.paused', 'run.resumed']);
    expect((await place.run('replay', 'last')).code).toBe(0);
  });

  it('before a command began leaves it to the process that resumes the run', async () => {
    const write = { calls: [{ tool: 'bash', args: { command: 'echo once >> log.txt' } }] };
    await using model = await startHeldModel({ go: [{ ...write, held }, { text: 'done' }] });
    using place = createPlace({}, model.variables);
    const running = place.start('run', '--allow', 'bash', 'go');
    await place.facts((found) => count(found, 'model.asked') === 1);
    expect(await pause(place, model)).toMatchObject({ code: 0 });
    running.process.kill('SIGTERM');
    await running.finished;
    expect(existsSync(join(place.folder, 'log.txt'))).toBe(false);
    expect(await place.run('resume', 'last')).toMatchObject({ code: 0, out: 'done\n' });
    expect(readFileSync(join(place.folder, 'log.txt'), 'utf8')).toBe('once\n');
    const found = await place.facts(() => true);
    expect(found.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { status: 'ok' } });
    expect((await place.run('replay', 'last')).code).toBe(0);
    expect((await place.run('verify')).code).toBe(0);
  });

  it('ends when the run gets a message', async () => {
    await using model = await startHeldModel({
      go: [
        { ...look, held },
        { expect: 'go on', text: 'done' },
      ],
    });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 1);
    await pause(place, model);
    await place.run('message', 'last', 'go on');
    expect(await running.finished).toMatchObject({ code: 0, out: 'done\n' });
  });

  it('pauses the children of a run that waits for them; `resume` continues all of them', async () => {
    const tasks = ['a', 'b'].map((label) => ({ task: `do ${label}`, label, agent: 'explore' }));
    await using model = await startHeldModel({
      go: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all done' }],
      'do a': [{ ...look, held }, { text: 'a' }],
      'do b': [{ ...look, held }, { text: 'b' }],
    });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 3);
    expect(await pause(place, model, ['last'], 3)).toMatchObject({ code: 0, out: expect.stringContaining('is paused') });
    const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(rows.map(({ status }) => status)).toEqual(['paused', 'paused', 'paused']);
    const before = await place.facts(() => true);
    // Nothing of the tree moves: only the children have recorded the pause, and nobody has been asked again.
    expect([count(before, 'run.paused'), count(before, 'model.asked'), count(before, 'run.ended')]).toEqual([2, 3, 0]);
    expect(await place.run('resume', 'last')).toMatchObject({ code: 0, out: 'all done\n' });
    expect(await running.finished).toMatchObject({ code: 0, out: 'all done\n' });
    expect(count(await place.facts(() => true), 'run.paused')).toBe(2);
  });

  it('a message to a run whose children are paused continues the tree', async () => {
    await using model = await startHeldModel({
      go: [
        { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'do a', label: 'a', agent: 'explore' }] } }] },
        { expect: 'hurry up', text: 'all done' },
      ],
      'do a': [{ ...look, held }, { text: 'a' }],
    });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 2);
    await pause(place, model, ['last'], 2);
    expect((await place.run('message', 'last', 'hurry up')).code).toBe(0);
    expect(await running.finished).toMatchObject({ code: 0, out: 'all done\n' });
  });

  it('a paused run can be cancelled', async () => {
    await using model = await startHeldModel({ go: [{ ...look, held }, { text: 'done' }] });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 1);
    await pause(place, model);
    await place.run('cancel', 'last');
    expect((await running.finished).code).toBe(130);
  });
});

describe('a process that is asked to stop', () => {
  const tasks = ['a', 'b'].map((label) => ({ task: `do ${label}`, label, agent: 'explore' }));
  /** `steps` of both children, after a look. */
  const script = (steps: (label: string) => object) => ({
    runs: [
      {
        when: { agent: 'general' },
        steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { expect: { prompt: 'b done' }, text: 'all done' }],
      },
      ...['a', 'b'].map((label) => ({ when: { label }, steps: [look, steps(label)] })),
    ],
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('by %s pauses its tree, and another process continues it', async (signal) => {
    using place = createPlace(script(() => ({ hang: 'start' })));
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 5);
    running.process.kill(signal);
    expect(await running.finished).toMatchObject({
      code: 143,
      err: expect.stringMatching(/is paused with its children; continue it with `retinue resume \w{8}`/),
    });
    const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(rows.map(({ status }) => status)).toEqual(['paused', 'paused', 'paused']);
    writeFileSync(join(place.folder, 'script.json'), JSON.stringify(script((label) => ({ text: `${label} done` }))));
    expect((await place.run('resume')).code).toBe(0);
    const found = await place.facts((all) => count(all, 'run.ended') === 3);
    expect([count(found, 'child.created'), count(found, 'child.ended'), count(found, 'model.answered')]).toEqual([2, 2, 6]);
    expect((await place.run('replay', 'last')).code).toBe(0);
    expect((await place.run('verify')).code).toBe(0);
  });

  it('a terminal that is closed reports it twice, and still root and children have one status', async () => {
    using place = createPlace(script(() => ({ hang: 'start' })));
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 5);
    for (let i = 0; i < 5; i++) running.process.kill('SIGHUP');
    expect((await running.finished).code).toBe(143);
    const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(rows.map(({ status }) => status)).toEqual(['paused', 'paused', 'paused']);
  });

  it('a tree that loses its process has one status, also if one of its runs was paused before', async () => {
    await using model = await startHeldModel({
      go: [{ calls: [{ tool: 'delegate', args: { tasks } }] }],
      'do a': [look, { fault: { kind: 'no-first-byte' } }],
      'do b': [look, { ...look, held }],
    });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    const found = await place.facts((all) => count(all, 'model.asked') === 5);
    const child = found.find((fact) => fact.type === 'run.created' && fact.data.brief.label === 'b')?.runId ?? '';
    expect((await pause(place, model, [child])).out).toContain('is paused');
    running.process.kill('SIGKILL');
    await running.finished;
    const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(rows.map(({ status }) => status)).toEqual(['interrupted', 'interrupted', 'interrupted']);
  });

  it('says of a tree that loses its process meanwhile that it is not running', async () => {
    await using model = await startHeldModel({ go: [{ ...look, held }] });
    using place = createPlace({}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((found) => count(found, 'model.asked') === 1);
    const pausing = place.start('pause', 'last');
    await place.untilOrdersRead(1);
    running.process.kill('SIGKILL');
    await running.finished;
    expect((await pausing.finished).out).toMatch(/^(\w{8}) is not running: its process has died; continue with `retinue resume \1`/);
  });

  it('exits at once at a second signal, and nothing is lost', async () => {
    using place = createPlace({
      runs: [
        { steps: [{ calls: [{ tool: 'bash', args: { command: 'trap "" TERM; touch begun; sleep 30; sleep 30' } }] }, { text: 'done' }] },
      ],
    });
    const running = place.start('run', '--allow', 'bash', 'go');
    // A command that has begun keeps the process busy for 2 s, so the second signal arrives while it waits.
    await expect.poll(() => existsSync(join(place.folder, 'begun')), { timeout: 15_000 }).toBe(true);
    running.process.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 300));
    running.process.kill('SIGTERM');
    expect((await running.finished).code).toBe(143);
    expect(await place.run('resume')).toMatchObject({ code: 0 });
    const found = await place.facts((all) => count(all, 'run.ended') === 1);
    expect(found.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { status: 'unknown' } });
  });
});
