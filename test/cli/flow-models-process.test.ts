// The models of a flow: what it began with counts when another process continues it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const flow = `
import { defineFlow } from 'retinue/flow';
import { existsSync } from 'node:fs';
export default defineFlow('models', null, async (flow) => {
  await flow.step('wait', async ({ signal }) => {
    while (!existsSync('go')) { if (signal.aborted) throw new Error('stopped'); await new Promise((done) => setTimeout(done, 20)); }
  }, { idempotent: true });
  const [one, two] = await flow.all([flow.delegate({ task: 'x' }), flow.delegate({ task: 'x', agent: 'explore' })]);
  return [one.summary, two.summary].join(' ');
});
`;
const says = (text: string) => JSON.stringify({ runs: [{ times: 'any', steps: [{ text }] }] });

/** Starts the flow, kills its process, and resumes it. */
async function killAndResume(place: Place, flags: string[], meanwhile: () => void): Promise<string> {
  const first = place.start('flow', 'run', './models.ts', ...flags);
  const [root] = await place.facts((all) => all.some(({ type }) => type === 'step.started'));
  first.process.kill('SIGKILL');
  await first.finished;
  meanwhile();
  writeFileSync(join(place.folder, 'go'), '');
  const { err } = await place.run('resume', root?.runId as string);
  const shown = JSON.parse((await place.run('show', root?.runId as string, '--json')).out);
  expect(shown.outcome?.error ?? null, err).toBeNull();
  return shown.outcome.summary;
}

it('a flow that was started with --model continues with it after kill -9, without any model in the environment', async () => {
  using place = createPlace({}, { RETINUE_MODEL: '' });
  writeFileSync(join(place.folder, 'models.ts'), flow);
  writeFileSync(join(place.folder, 'mine.json'), says('mine'));
  expect(await killAndResume(place, ['--model', 'script/mine.json'], () => {})).toBe('mine mine');
}, 60_000);

it('so does a flow with models by agent, even if the configuration has changed', async () => {
  using place = createPlace({}, { RETINUE_MODEL: '' });
  writeFileSync(join(place.folder, 'models.ts'), flow);
  for (const name of ['one', 'two', 'other']) writeFileSync(join(place.folder, `${name}.json`), says(name));
  const folder = join(place.folder, '.config', 'retinue');
  const configure = (model: unknown) => writeFileSync(join(folder, 'config.json'), JSON.stringify({ model }));
  mkdirSync(folder, { recursive: true });
  configure({ '*': 'script/one.json', explore: 'script/two.json' });
  expect(await killAndResume(place, [], () => configure('script/other.json'))).toBe('one two');
}, 60_000);

it('passes --effort on to the agents', async () => {
  using place = createPlace({ runs: [{ times: 2, steps: [{ expect: { effort: 'high' }, text: 'fine' }] }] });
  writeFileSync(join(place.folder, 'models.ts'), flow);
  writeFileSync(join(place.folder, 'go'), '');
  expect(await place.run('flow', 'run', './models.ts', '--effort', 'high')).toMatchObject({ code: 0, out: 'fine fine\n' });
  expect(await place.run('flow', 'run', './models.ts', '--effort', 'hihg')).toMatchObject({ code: 2 });
}, 60_000);
