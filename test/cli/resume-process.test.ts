// The real program killed with -9 in the middle of a tree, and gone on with by another one.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { createPlace, type Place } from './support-process.ts';

const tasks = ['a', 'b'].map((label) => ({ task: `do ${label}`, label, agent: 'explore' }));
const list = { calls: [{ tool: 'list', args: { path: '.' } }] };
const createScript = (lastStep: object) => ({
  runs: [
    {
      when: { agent: 'general' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { expect: { prompt: 'b is done' }, text: 'all done' }],
    },
    { when: { label: 'a' }, steps: [list, { text: 'a is done' }] },
    { when: { label: 'b' }, steps: [list, lastStep] },
  ],
});
const script = createScript({ hang: 'start' });

/** A place whose tree was killed while child b asked its model, which answers from now on. */
async function killed(place: Place): Promise<StoredFact[]> {
  const running = place.start('run', 'go');
  await place.facts(
    (found) => found.some((fact) => fact.type === 'child.ended') && found.filter((fact) => fact.type === 'model.asked').length === 5,
  );
  running.process.kill('SIGKILL');
  await running.finished;
  writeFileSync(join(place.folder, 'script.json'), JSON.stringify(createScript({ text: 'b is done' })));
  return JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as StoredFact[];
}

const answers = (facts: StoredFact[]) => facts.filter((fact) => fact.type === 'model.answered').length;

describe('after kill -9', () => {
  it('resume continues the tree, repeats nothing, and records every outcome once', async () => {
    using place = createPlace(script);
    const before = await killed(place);
    const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(rows.map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
    const { code, out, err } = await place.run('resume', '--json');
    expect([code, err.includes('TypeError')]).toEqual([0, false]);
    const [outcome] = JSON.parse(out) as Outcome[];
    expect(outcome).toMatchObject({ status: 'completed', summary: 'all done', turns: 2 });
    const after = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as StoredFact[];
    const tree = after.filter((fact) => fact.runId !== '');
    expect(tree.slice(0, before.length).map(({ hash }) => hash)).toEqual(before.map(({ hash }) => hash));
    expect(tree.filter((fact) => fact.type === 'tool.asked')).toHaveLength(3);
    expect(tree.filter((fact) => fact.type === 'run.ended')).toHaveLength(3);
    expect(tree.filter((fact) => fact.type === 'child.ended')).toHaveLength(2);
    expect(answers(tree)).toBe(6);
    expect(await place.run('resume')).toMatchObject({ code: 0, err: 'retinue: there is nothing to resume\n' });
  });

  it('two resume commands at the same time run it once', async () => {
    using place = createPlace(script);
    await killed(place);
    const both = await Promise.all([place.run('resume', '--json'), place.run('resume', '--json')]);
    expect(both.map(({ code }) => code).sort()).toSatisfy((codes: number[]) => codes.join() === '0,0' || codes.join() === '0,1');
    const after = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as StoredFact[];
    expect(after.filter((fact) => fact.type === 'run.ended')).toHaveLength(3);
    expect(answers(after)).toBe(6);
  });

  it('other commands only mention it', async () => {
    using place = createPlace(script);
    await killed(place);
    const { err } = await place.run('run', '--agent', 'explore', '--label', 'a', 'again');
    expect(err).toContain('1 earlier run was interrupted; continue it with `retinue resume`');
  });

  it('a tree that cannot be resumed is reported, and the others are resumed', async () => {
    using place = createPlace(script, { RETINUE_MODEL: '' });
    for (const name of ['good', 'bad'])
      writeFileSync(join(place.folder, `${name}.json`), JSON.stringify({ runs: [{ steps: [{ hang: 'start' }] }] }));
    const both = ['good', 'bad'].map((name) => place.start('run', '--model', `script/${name}.json`, '--label', name, 'go'));
    await place.until<RunView[]>(['ps'], (rows) => rows.filter(({ status }) => status === 'running').length === 2);
    for (const running of both) running.process.kill('SIGKILL');
    await Promise.all(both.map((running) => running.finished));
    rmSync(join(place.folder, 'bad.json'));
    writeFileSync(join(place.folder, 'good.json'), JSON.stringify({ runs: [{ steps: [{ text: 'good' }] }] }));
    const { code, out, err } = await place.run('resume', '--json');
    expect([code, (JSON.parse(out) as Outcome[]).map(({ summary }) => summary)]).toEqual([1, ['good']]);
    expect(err).toContain('bad.json');
    const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
    expect(rows.map(({ label, status }) => [label, status])).toEqual([['bad', 'interrupted']]);
    expect((await place.run('wait', 'last', '--timeout', '15s')).code).toBeLessThanOrEqual(1);
  });
});
