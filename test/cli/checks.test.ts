// Acceptance checks on the command line: exit codes, refusals, and what `show` says about them.
import { expect, it } from 'vitest';
import { createCli } from './support.ts';

const env = { PATH: process.env.PATH as string };
const shell = ['--sandbox', 'off', '--allow', 'bash'];

it('`show` says what is verified, not verified or only claimed, with each check', async () => {
  using cli = createCli({ env, runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
  expect((await cli.run(['run', 'x', '--verify', 'true', '--verify', 'test -d .', ...shell])).code).toBe(0);
  const shown = (await cli.run(['show', 'last'])).stdout;
  expect(shown).toMatch(/^verified +yes\n +passed in round 1: true\n +passed in round 1: test -d \.\n/m);
  expect(shown).not.toContain('Artifacts');
  expect((await cli.run(['run', 'x', ...shell])).code).toBe(0);
  expect((await cli.run(['show', 'last'])).stdout).toMatch(/^verified +claimed: no check has confirmed it$/m);
});

it('a failed check fails the command', async () => {
  using cli = createCli({ env, runs: [{ steps: [{ text: 'done' }, { text: 'done' }, { text: 'done' }] }] });
  expect((await cli.run(['run', 'x', '--verify', 'false', ...shell])).code).toBe(1);
  expect((await cli.run(['show', 'last'])).stdout).toMatch(/^verified +no\n +failed in round 3: false\n/m);
});

it('a check that the rules do not allow is refused before a run is created', async () => {
  using cli = createCli({ env });
  const { code, stderr } = await cli.run(['run', 'x', '--verify', 'npm test', '--sandbox', 'off', '--deny', 'bash']);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/the command `npm test` cannot be run: .*rule `deny bash`.*`allow bash:npm test`/),
  ]);
  expect(await cli.json('ps', '--all')).toEqual([]);
});
