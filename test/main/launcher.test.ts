// `bin/retinue`, as npm links it: starts the program with the Node of the package, whatever Node is on the path.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeOldNode, oldestNode } from '../../src/system/node-version.ts';

const root = resolve(import.meta.dirname, '../..');
const { version, engines, optionalDependencies, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'retinue it’s a launcher-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder with a program `node` that is not Node, and the launcher behind two links. */
function createPath(program = join(root, 'bin/retinue')): { folder: string; run(...args: string[]): ReturnType<typeof spawnSync> } {
  const folder = createFolder();
  writeFileSync(join(folder, 'node'), '#!/bin/sh\necho the node of the path "$@"\nexit 7\n');
  chmodSync(join(folder, 'node'), 0o755);
  symlinkSync(program, join(folder, 'linked'));
  symlinkSync('linked', join(folder, 'retinue'));
  const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder };
  return { folder, run: (...args) => spawnSync('retinue', args, { cwd: folder, env, encoding: 'utf8' }) };
}

it('uses the Node of the package through links and paths with blanks, and passes arguments and exit code on', () => {
  const { run } = createPath();
  expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  expect(run('show', 'no such * run')).toMatchObject({ status: 1, stderr: expect.stringContaining('no such * run') });
});

it('uses the Node on the path if the package has none', () => {
  const folder = createFolder();
  mkdirSync(join(folder, 'copy'));
  cpSync(join(root, 'bin'), join(folder, 'copy/bin'), { recursive: true });
  const { run } = createPath(join(folder, 'copy/bin/retinue'));
  expect(run('a', 'b c')).toMatchObject({ status: 7, stdout: `the node of the path ${folder}/copy/bin/retinue.js a b c\n` });
});

it('uses the package `node` beside it in a project, but not a folder of this name elsewhere', () => {
  const folder = createFolder();
  for (const parent of ['node_modules', 'src']) {
    mkdirSync(join(folder, parent, 'node/bin'), { recursive: true });
    cpSync(join(root, 'bin'), join(folder, parent, 'retinue/bin'), { recursive: true });
    writeFileSync(join(folder, parent, 'node/bin/node'), '#!/bin/sh\necho the node beside it\n');
    chmodSync(join(folder, parent, 'node/bin/node'), 0o755);
  }
  expect(createPath(join(folder, 'node_modules/retinue/bin/retinue')).run().stdout).toBe('the node beside it\n');
  expect(createPath(join(folder, 'src/retinue/bin/retinue')).run().stdout).toMatch(/^the node of the path/);
});

it('says in one sentence that a clone is not built yet', () => {
  const folder = createFolder();
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'bin/retinue.js')], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([2, 'retinue: this folder is not built yet; `npm ci` in it does that\n']);
});

it('one oldest version of Node counts everywhere', () => {
  expect(describeOldNode('24.14.9')).toBe('Retinue needs Node 24.15 or later; this is Node 24.14.9.');
  expect(['20.20.2', '22.99.0'].map(describeOldNode)).not.toContain(null);
  expect(['24.15.0', '24.21.0', '25.0.0', '26.1.0'].map(describeOldNode)).toEqual([null, null, null, null]);
  expect(`${engines.node}.0`).toBe(`>=${oldestNode}`);
  expect(describeOldNode(optionalDependencies.node)).toBeNull();
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('Node 24.15');
});

it('the package has every file that the README links to', () => {
  const links = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+?)\/?[)#]/g)].map(
    ([, link]) => link as string,
  );
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((link) => !files.some((file: string) => link === file || link.startsWith(`${file}/`)))).toEqual([]);
});
