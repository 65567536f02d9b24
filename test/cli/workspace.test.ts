// Commands in a folder of a git repository work on the repository.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { type CliOptions, createCli } from './support.ts';

/** A repository, seen from its folder src. */
function createRepository(options: CliOptions = {}) {
  const cli = createCli({ cwd: 'src', ...options, files: { 'src/near.txt': 'near', 'far.txt': 'far', ...options.files } });
  for (const folder of ['.git/objects', '.git/refs']) mkdirSync(join(cli.folder, folder), { recursive: true });
  writeFileSync(join(cli.folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  return cli;
}

it('run in a subfolder uses the repository, says so, and every command sees its runs', async () => {
  using cli = createRepository();
  const { code, stderr } = await cli.run(['run', 'task']);
  expect(code).toBe(0);
  expect(stderr).toContain(`retinue: workspace: ${cli.folder} (the git repository around this folder; \`-C .\` uses only this folder)\n`);
  expect(existsSync(join(cli.folder, '.retinue/retinue.db'))).toBe(true);
  expect(existsSync(join(cli.folder, 'src/.retinue'))).toBe(false);
  expect((await cli.run(['ps'])).stderr).not.toContain('workspace:');
  const fromRoot = await cli.json('ps', '--all', '-C', '..');
  expect(await cli.json('ps', '--all')).toEqual(fromRoot);
  expect(fromRoot).toHaveLength(1);
});

it('-C chooses the folder, without a word', async () => {
  using cli = createRepository({ files: { 'src/script.json': { runs: [{ steps: [{ text: 'here' }] }] } } });
  expect(await cli.run(['run', 'task', '-C', '.'])).toMatchObject({
    code: 0,
    stdout: 'here\n',
    stderr: expect.not.stringContaining('workspace:'),
  });
  expect(existsSync(join(cli.folder, 'src/.retinue/retinue.db'))).toBe(true);
  expect(existsSync(join(cli.folder, '.retinue'))).toBe(false);
});

it('--file and --model script/… name files from the current folder', async () => {
  using cli = createRepository({ files: { 'src/own.json': { runs: [{ steps: [{ text: 'own script' }] }] } } });
  const { code, stdout } = await cli.run(['run', 'task', '--file', 'near.txt', '--file', '../far.txt', '--model', 'script/own.json']);
  expect([code, stdout]).toEqual([0, 'own script\n']);
  const [created] = (await cli.facts()) as FactOf<'run.created'>[];
  expect(created?.data.brief.files).toEqual(['src/near.txt', 'far.txt']);
  expect(await cli.run(['run', 'task', '--file', 'nera.txt'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean `near.txt`?'),
  });
});

it('names the files of the current folder that do not count', async () => {
  using cli = createRepository({ files: { 'src/retinue.config.json': { limits: { maxTurns: 1 } } } });
  const { stderr } = await cli.run(['ps']);
  expect(stderr).toContain(`${join(cli.folder, 'src/retinue.config.json')} is not used: the workspace is ${cli.folder}`);
});

it('config says where the workspace comes from', async () => {
  using cli = createRepository();
  expect((await cli.run(['config'])).stdout).toMatch(/^workspace +\S+\/work +the git repository around the current folder$/m);
});

it('the database of a folder that an MCP client works in is that of its repository', async () => {
  using cli = createRepository();
  const settings = await cli.parts.settings({ workspace: join(cli.folder, 'src'), isClientFolder: true, limits: {}, rules: [] });
  expect([settings.workspace, settings.db.shown]).toEqual([join(cli.folder, 'src'), join(cli.folder, '.retinue/retinue.db')]);
});
