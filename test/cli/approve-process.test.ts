// Questions answered from another terminal, with the real program.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Question } from '../../src/api/api.ts';
import { startHeldModel } from './support-held-model.ts';
import { createPlace as createEmpty, type Place } from './support-process.ts';

const note = (text: string) => ({ calls: [{ tool: 'write', args: { path: `${text}.txt`, content: text } }] });
const config = { rules: ['ask write'] };

function createPlace(script: object, settings: object = {}, variables: Record<string, string> = {}) {
  const place = createEmpty(script, variables);
  writeFileSync(join(place.folder, 'retinue.config.json'), JSON.stringify(settings));
  return { ...place, exists: (name: string) => existsSync(join(place.folder, name)) };
}

function waiting(place: Place): Promise<Question[]> {
  return place.until<Question[]>(['approve'], (found) => found.length === 1);
}

describe('a call that needs approval', () => {
  it('runs after `approve`; after `refuse` the model reads the reason instead', async () => {
    const steps = [note('a'), note('b'), { expect: { prompt: 'refused by the user: not that one' }, text: 'done' }];
    using place = createPlace({ runs: [{ steps }] }, config);
    const running = place.start('run', '--ask', '10m', 'go');
    const [question] = await waiting(place);
    expect(question).toMatchObject({ tool: 'write', subjects: ['a.txt'], decision: { rule: 'ask write' } });
    const listed = await place.run('approve');
    expect(listed.out).toMatch(/wants to use write; rule `ask write`/);
    expect((await place.run('ps')).err).toContain('1 call waits for approval; see `retinue approve`');
    expect(await place.run('approve', (question as Question).id)).toMatchObject({
      code: 0,
      out: expect.stringContaining('write approved'),
    });
    await place.until<Question[]>(['approve'], (found) => found[0]?.subjects[0] === 'b.txt');
    expect(await place.run('refuse', 'last', 'not that one')).toMatchObject({ code: 0, out: expect.stringContaining('write refused') });
    const { code, out, err } = await running.finished;
    expect([code, out]).toEqual([0, 'done\n']);
    expect(err).toMatch(/answer with `retinue approve \w{8}\.1\.0`/);
    expect([place.exists('a.txt'), place.exists('b.txt')]).toEqual([true, false]);
    expect((await place.run('replay', 'last')).code).toBe(0);
    expect(await place.run('approve', 'last')).toMatchObject({ code: 1, err: expect.stringContaining('nothing waits for an answer') });
  });

  it('is not approved by the id of its run if it is newer than the last list; its own id approves it', async () => {
    using place = createPlace({ runs: [{ steps: [note('a'), note('b'), { text: 'done' }] }] }, config);
    const running = place.start('run', '--ask', '10m', 'go');
    await waiting(place);
    const first = await place.run('approve', 'last');
    expect(first).toMatchObject({ code: 0, out: expect.stringContaining('write approved') });
    expect(first.err, 'what was approved').toContain('a.txt');
    await place.until<{ type: string }[]>(['logs', 'last'], (facts) => facts.filter(({ type }) => type === 'approval.asked').length === 2);
    const second = await place.run('approve', 'last');
    expect(second).toMatchObject({ code: 2, err: expect.stringContaining('newer than your last list') });
    expect(second.err, 'what was asked').toContain('b.txt');
    const id = /retinue approve (\w{8}\.2\.0)/.exec(second.err)?.[1] as string;
    expect((await place.run('approve', id)).code).toBe(0);
    expect((await running.finished).code).toBe(0);
    expect([place.exists('a.txt'), place.exists('b.txt')]).toEqual([true, true]);
  });

  it('is reported as denied if a rule that came later denies it, and never as kept for a resume if the run used the answer', async () => {
    using place = createPlace({ runs: [{ steps: [note('a'), { text: 'done' }] }] }, config);
    const running = place.start('run', '--ask', '10m', 'go');
    const [question] = await waiting(place);
    expect((await place.run('message', 'last', '--deny', 'write', 'no')).code).toBe(0);
    const { code, out } = await place.run('approve', (question as Question).id);
    expect([code, out]).toEqual([0, expect.stringMatching(/write approved, but the call was not made: denied.*deny write/)]);
    expect((await running.finished).code).toBe(0);
    expect(place.exists('a.txt')).toBe(false);
  });

  it('is denied at once without a terminal and without --ask', async () => {
    using place = createPlace({ runs: [{ steps: [note('a'), { expect: { prompt: 'cannot ask for approval' }, text: 'done' }] }] }, config);
    expect(await place.run('run', 'go')).toMatchObject({ code: 0, out: 'done\n' });
  });

  it('is still open after kill -9, and an answer given then takes effect with `resume`', async () => {
    using place = createPlace({ runs: [{ steps: [note('a'), { text: 'done' }] }] }, config);
    const running = place.start('run', '--ask', '5m', 'go');
    const [question] = await waiting(place);
    running.process.kill('SIGKILL');
    await running.finished;
    expect((await waiting(place))[0]?.id).toBe(question?.id);
    expect(await place.run('approve', 'last')).toMatchObject({ code: 0, out: expect.stringContaining('`retinue resume`') });
    expect((await place.run('resume')).code).toBe(0);
    expect(place.exists('a.txt')).toBe(true);
    const facts = JSON.parse((await place.run('logs', 'last', '--json')).out) as { type: string }[];
    expect(facts.filter(({ type }) => type === 'approval.asked')).toHaveLength(1);
  });
});

it('if a run without a process is approved and refused, the refusal counts', async () => {
  using place = createPlace({ runs: [{ steps: [note('a'), { text: 'done' }] }] }, config);
  const running = place.start('run', '--ask', '5m', 'go');
  await waiting(place);
  running.process.kill('SIGKILL');
  await running.finished;
  await place.run('approve', 'last');
  await place.run('refuse', 'last');
  expect((await place.run('resume')).code).toBe(0);
  expect(place.exists('a.txt')).toBe(false);
});

describe('message --deny', () => {
  it('takes a permission away from a live run of another process', async () => {
    await using model = await startHeldModel({
      go: [
        { ...note('a'), held: true },
        { expect: 'rule `deny write` of a message from the user', text: 'done' },
      ],
    });
    using place = createPlace({}, {}, model.variables);
    const running = place.start('run', 'go');
    await place.facts((facts) => facts.some(({ type }) => type === 'model.asked'));
    expect((await place.run('message', 'last', '--deny', 'write')).code).toBe(0);
    await place.facts((facts) => facts.some(({ type }) => type === 'message.received'));
    model.release();
    expect(await running.finished).toMatchObject({ code: 0, out: 'done\n' });
    expect(place.exists('a.txt')).toBe(false);
  });
});

describe('policy test', () => {
  it('shows the decision, the rule and its owner', async () => {
    using place = createPlace({ runs: [] }, { rules: ['deny write:secret/*'] });
    expect(await place.run('policy', 'test', 'write:a.txt')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^allow {2}write:a.txt/),
    });
    const denied = await place.run('policy', 'test', 'write:secret/x');
    expect(denied).toMatchObject({ code: 1, out: expect.stringContaining('rule `deny write:secret/*` of') });
    const reader = await place.run('policy', 'test', 'write:a.txt', '--agent', 'explore', '--json');
    expect(JSON.parse(reader.out)).toMatchObject({ action: 'deny', offered: false, owner: 'agent explore', parts: [{ subject: 'a.txt' }] });
    const shell = await place.run('policy', 'test', 'bash:git log | rm x', '--deny', 'bash:rm *', '--json');
    expect(JSON.parse(shell.out)).toMatchObject({ action: 'deny', rule: 'deny bash:rm *' });
    expect(await place.run('policy', 'test', 'wriet:x')).toMatchObject({ code: 2, err: expect.stringContaining('did you mean `write`') });
  });
});
