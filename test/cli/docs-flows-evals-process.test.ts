// The programs and files of docs/flows.md, docs/evals.md and docs/scripted-models.md, as printed, with the commands of the pages.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveFilesOfPage } from '../support/docs-files.ts';
import { change, evaluate } from './support-eval.ts';
import { createPlace, type Place } from './support-process.ts';

const isAsked = (facts: { type: string }[]) => facts.some(({ type }) => type === 'approval.asked');

async function startPublish(place: Place) {
  const flow = place.start('flow', 'run', './publish.ts');
  await place.facts(isAsked);
  const questions = await place.run('approve');
  expect(questions.out).toContain('Publish version 2?');
  return flow;
}

describe('docs/flows.md', () => {
  it('the first flow runs with the scripted model of the page', async () => {
    using place = createPlace({}, { RETINUE_MODEL: '' });
    saveFilesOfPage('flows.md', place.folder);
    const input = ['--input', '{"folders":["src","test"]}', '--model', 'script/answers.json'];
    expect(await place.run('flow', 'run', 'survey', ...input)).toMatchObject({ code: 2, err: expect.stringContaining('`retinue trust`') });
    expect((await place.run('trust', '--yes')).code).toBe(0);
    const { out, code, err } = await place.run('flow', 'run', 'survey', ...input);
    expect([code, JSON.parse(out)], err).toEqual([0, ['A folder with source files.', 'A folder with source files.']]);
    const missing = await place.run('flow', 'run', 'survey');
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('no input was given')]);
  }, 60_000);

  it('the second flow asks, publishes, or says why not', async () => {
    using place = createPlace({ runs: [] });
    saveFilesOfPage('flows.md', place.folder);
    const yes = await startPublish(place);
    expect((await place.run('approve', 'last')).code).toBe(0);
    expect((await yes.finished).out.trim()).toBe('published');
    expect(readFileSync(join(place.folder, 'published.txt'), 'utf8')).toBe('version 2');
  }, 60_000);

  it.each([
    ['had its effect', "writeFile(page, 'version 2').then(() => process.kill(process.pid, 'SIGKILL'))", 0],
    ['had not had its effect', "process.kill(process.pid, 'SIGKILL')", 1],
  ])(
    'the second flow looks after a kill -9 of a step that %s',
    async (_, effect, failed) => {
      using place = createPlace({ runs: [] });
      saveFilesOfPage('flows.md', place.folder);
      change(join(place.folder, 'publish.ts'), (text) => text.replace("writeFile(page, 'version 2')", effect));
      const flow = await startPublish(place);
      await place.run('approve', 'last');
      expect((await flow.finished).signal).toBe('SIGKILL');
      const { out, err } = await place.run('resume');
      expect(existsSync(join(place.folder, 'published.txt'))).toBe(failed === 0);
      if (failed === 0) expect(out.trim()).toBe('published');
      else expect(err).toMatch(/step `publish` at publish\.ts:11 was cut off.*Check what it did, then start the flow again\./);
    },
    60_000,
  );
});

describe('docs/evals.md', () => {
  const read = { calls: [{ tool: 'read', args: { path: 'sum.mjs' } }] };
  const fix = [
    read,
    { calls: [{ tool: 'edit', args: { path: 'sum.mjs', old: 'total - each', new: 'total + each' } }] },
    { text: 'Fixed.' },
  ];
  const bug = (steps: object[], times: number | 'any') => ({ when: { task: 'Find the bug' }, times, steps });
  const question = (text: string) => ({ when: { task: 'empty list' }, times: 'any', steps: [{ text }] });

  it('the first eval says which model passes, and the next one what has changed', async () => {
    using place = createPlace({ runs: [] });
    saveFilesOfPage('evals.md', place.folder);
    const save = (name: string, runs: object[]) => writeFileSync(join(place.folder, name), JSON.stringify({ runs }));
    save('good.json', [bug(fix, 'any'), question('It returns 0.')]);
    save('poor.json', [bug(fix, 2), bug([{ text: 'I see no bug.' }], 'any'), question('It returns undefined.')]);
    const models = ['--model', 'script/good.json', '--model', 'script/poor.json', '--repeats', '3'];
    const first = await evaluate(place, 'evals/edits.json', ...models);
    expect(first.cases.map(({ case: name, rate }) => [name, rate.passed, rate.judged])).toEqual([
      ['fix a bug', 3, 3],
      ['fix a bug', 2, 3],
      ['explain a function', 3, 3],
      ['explain a function', 0, 3],
    ]);
    save('poor.json', [bug(fix, 1), bug([{ text: 'I see no bug.' }], 'any'), question('It returns 0.')]);
    const second = await place.run('eval', 'evals/edits.json', ...models, '--allow', 'bash');
    expect(second.out).toMatch(/fix a bug +script\/poor\.json +1\/3 33\.3 % .*worse, was 2\/3 66\.6 %/);
    expect(second.out).toMatch(/explain a function +script\/poor\.json +3\/3 100 % .*better, was 0\/3 0 %/);
    expect((await place.run('eval', 'evals/edits.json', '--replay', '--allow', 'bash')).code).toBe(0);
    const { out } = await place.run('costs', '--by', 'model');
    expect(out).toMatch(/^recorded +12 /m);
    expect(out).not.toContain('recorded/');
  }, 180_000);
});

it('docs/scripted-models.md has a script that runs', async () => {
  using place = createPlace({}, { RETINUE_MODEL: '' });
  saveFilesOfPage('scripted-models.md', place.folder);
  expect((await place.run('run', '--model', 'script/hello.json', 'say hello')).out.trim()).toBe('Hello.');
});
