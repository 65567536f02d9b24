// The records of a run of an external agent, through the real program: replayed, verified, exported, imported and erased like those of any other run.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace } from '../cli/support-process.ts';
import { fakeAgent, realKey } from './support.ts';

const usage = { input: 100, output: 10 };
const bash = (command: string) => ({ calls: [{ tool: 'Bash', args: { command } }], usage });

it('a run of an external agent is replayed, verified, exported, imported and erased', { timeout: 180_000 }, async () => {
  const provider = await startProviderServer({
    answer: [{ text: 'A title', usage }, bash('echo made > made.txt; echo hello'), bash('rm -rf /precious'), { text: 'Finished.', usage }],
  });
  using place = createPlace(
    {},
    { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: provider.url, RETINUE_MODEL: 'anthropic/claude-sonnet-4-5' },
  );
  const agents = join(place.folder, '.config/retinue/agents');
  mkdirSync(agents, { recursive: true });
  const runs = JSON.stringify({ acp: [fakeAgent, JSON.stringify({ turns: [[{ title: 'a title' }, { model: {} }], [{ model: {} }]] })] });
  writeFileSync(join(agents, 'fake.md'), `---\nname: fake\ndescription: a fake\nruns: ${runs}\n---\nYou are a fake.\n`);

  const run = await place.run('run', '--agent', 'fake', '--allow', 'bash', '--deny', 'bash:rm *', '--json', 'make a file');
  expect(run.code, run.err).toBe(0);
  const outcome = JSON.parse(run.out);
  expect(outcome).toMatchObject({ status: 'completed', summary: 'Finished.', artifacts: [{ kind: 'diff', value: 'made.txt +1 -0' }] });

  const replayed = await place.run('replay', 'last', '--json');
  expect(replayed.code, replayed.out + replayed.err).toBe(0);
  const verified = await place.run('verify', 'last');
  expect(verified.code, verified.out + verified.err).toBe(0);
  expect((await place.run('show', 'last')).out).toContain('fake-agent.mjs 1.2.3, through the model gate');
  const logged = await place.run('logs', 'last');
  for (const text of ['echo made', 'denied', 'Finished.']) expect(logged.out, text).toContain(text);
  expect((await place.run('diff', 'last')).out).toContain('+made');

  const file = join(place.folder, 'tree.jsonl');
  const exported = await place.run('export', 'last', '--output', file);
  expect(exported.code, exported.err).toBe(0);
  expect(readFileSync(file, 'utf8')).not.toContain(realKey);
  using other = createPlace({});
  const imported = await other.run('import', file);
  expect(imported.code, imported.err).toBe(0);
  for (const command of ['replay', 'verify']) {
    const { code, out, err } = await other.run(command, outcome.runId);
    expect(code, out + err).toBe(0);
  }

  // A process that was killed after the end of the run would have left its home.
  const home = join(place.folder, '.local/state/retinue/externals', outcome.runId);
  mkdirSync(home);
  const erased = await place.run('rm', 'last', '--yes');
  expect(erased.code, erased.err).toBe(0);
  expect(existsSync(home)).toBe(false);
  expect((await place.run('verify')).code).toBe(0);
  await provider.close();
});
