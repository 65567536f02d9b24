// What a sandbox shows of a home directory, and the profile for macOS, as data: neither needs a sandbox.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeCovered } from '../../src/sandboxes/mounts.ts';
import { profileFor } from '../../src/sandboxes/seatbelt.ts';
import { hiddenSystemFiles } from '../../src/sandboxes/system-mounts.ts';
import { toolchainMounts } from '../../src/sandboxes/toolchain-mounts.ts';

function makeHome(files: string[]): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-view-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const file of files) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), '');
  }
  return home;
}

function shown(home: string, path: string[], workspace = '/w'): string[] {
  const given = path.map((entry) => (entry.startsWith('/') ? entry : join(home, entry))).join(':');
  return toolchainMounts(given, { home, workspace }).map((mount) => `${mount.kind} ${mount.path.replace(`${home}/`, '')}`);
}

test.each([
  { name: 'nvm', files: ['.nvm/versions/node/v24/bin/node'], path: ['.nvm/versions/node/v24/bin'], seen: ['read .nvm/versions/node/v24'] },
  { name: 'pyenv', files: ['.pyenv/shims/python', '.pyenv/bin/pyenv'], path: ['.pyenv/shims', '.pyenv/bin/'], seen: ['read .pyenv'] },
  {
    name: 'cargo, without its credentials',
    files: ['.cargo/bin/cargo', '.cargo/credentials.toml', '.rustup/x'],
    path: ['.cargo/bin'],
    seen: ['read .cargo/bin', 'read .rustup'],
  },
  {
    name: '~/.local, without what is not a program',
    files: ['.local/bin/x', '.local/lib/y', '.local/share/keyrings/login', '.local/share/pipx/z'],
    path: ['.local/bin'],
    seen: ['read .local/bin', 'read .local/lib', 'read .local/share/pipx'],
  },
  { name: '~/bin, without the home folder', files: ['bin/x', '.ssh/id'], path: ['bin'], seen: ['read bin'] },
  {
    name: 'credentials in a package of a manager',
    files: ['.bun/bin/x', '.bun/.npmrc'],
    path: ['.bun/bin'],
    seen: ['read .bun', 'hide .bun/.npmrc'],
  },
  {
    name: 'a package of nobody known: programs and libraries, nothing beside them',
    files: ['.docker/bin/x', '.docker/lib/y', '.docker/config.json', '.fly/bin/x', '.fly/config.yml', 'other/bin/x', 'other/.env'],
    path: ['.docker/bin', '.fly/bin', 'other/bin'],
    seen: ['read .docker/bin', 'read .docker/lib', 'read .fly/bin', 'read other/bin'],
  },
  { name: 'Go', files: ['go/bin/x', 'go/pkg/mod/y'], path: ['go/bin'], seen: ['read go'] },
  {
    name: 'a folder that is called like one',
    files: ['src/go/app/bin/x', 'src/go/app/.env'],
    path: ['src/go/app/bin'],
    seen: ['read src/go/app/bin'],
  },
  { name: 'packages of Node', files: ['p/node_modules/.bin/x', 'p/.env'], path: ['p/node_modules/.bin'], seen: ['read p/node_modules'] },
  {
    name: 'a virtual environment',
    files: ['p/.venv/bin/x', 'p/.venv/lib/y', 'p/.venv/pyvenv.cfg'],
    path: ['p/.venv/bin'],
    seen: ['read p/.venv/bin', 'read p/.venv/lib', 'read p/.venv/pyvenv.cfg'],
  },
  { name: 'what is not there', files: [], path: ['.gone/bin', '/nowhere/at/all'], seen: [] },
  {
    name: 'the home folder itself, and what is above it',
    files: ['x'],
    path: ['.', '..', '/', '/home', '/root', '/usr/bin', '/tmp'],
    seen: [],
  },
])('toolchains: $name', ({ files, path, seen }) => {
  expect(shown(makeHome(files), path)).toEqual(seen);
});

test('toolchains: a link in PATH is shown with its target, but not one to the home directory', () => {
  const home = makeHome(['.nvm/v24/bin/node', '.ssh/id']);
  symlinkSync('v24', join(home, '.nvm', 'current'));
  symlinkSync('.', join(home, 'all'));
  expect(shown(home, ['.nvm/current/bin'])).toEqual(['read .nvm/current', 'read .nvm/v24']);
  expect(shown(home, ['all'])).not.toContainEqual(`read ${home}`);
});

test('toolchains: nothing inside the workspace, which is mounted separately', () => {
  const home = makeHome(['work/node_modules/.bin/x']);
  expect(shown(home, ['work/node_modules/.bin'], join(home, 'work'))).toEqual([]);
});

test('hides system files that other users may not read, except for programs in PATH', async () => {
  const top = makeHome(['x/env', 'x/plain', 'closed/f', 'tool/bin/run', 'tool/key', 'a/b/c/d/deep']);
  for (const file of ['x/env', 'tool/key', 'a/b/c/d/deep']) chmodSync(join(top, file), 0o600);
  for (const folder of ['closed', 'tool']) chmodSync(join(top, folder), 0o750);
  const hidden = (await hiddenSystemFiles(join(top, 'tool/bin'), [[top, 4]])).filter(({ path }) => path.startsWith(top));
  expect(hidden.map(({ path }) => path.slice(top.length + 1)).sort()).toEqual(['closed', 'tool/key', 'x/env']);
});

test('nothing is mounted inside a hidden directory', () => {
  const mounts = removeCovered([
    { kind: 'write', path: '/w' },
    { kind: 'hide', path: '/w/.retinue', folder: true },
    { kind: 'hide', path: '/w/.retinue', folder: true },
    { kind: 'hide', path: '/w/.retinue/db', folder: false },
    { kind: 'read', path: '/w/.retinue2' },
  ]);
  expect(mounts.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['write /w', 'hide /w/.retinue', 'read /w/.retinue2']);
});

const wanted = {
  ...{ argv: ['/bin/bash', '-c', 'true'], workspace: '/Users/a/w "x\\', env: { PATH: '/usr/bin' } },
  ...{ writable: true, network: false, git: false, protect: ['.git', '.envrc'], hide: ['.retinue'] },
};

test('the profile for macOS', () => {
  const profile = profileFor(wanted, { home: '/Users/a', secret: ['/Users/a/w.db'] });
  const lines = profile.trimEnd().split('\n');
  expect(lines.slice(0, 2)).toEqual(['(version 1)', '(deny default)']);
  expect(lines.at(-1)).toBe('(deny network*)');
  const w = '/Users/a/w \\"x\\\\';
  expect(lines).toContain(`(allow file-write* (subpath "/private/tmp") (subpath "${w}"))`);
  expect(lines).toContain(`(deny file-write* (subpath "${w}/.git") (subpath "${w}/.envrc"))`);
  expect(lines).toContain(`(deny file-read* file-write* (subpath "${w}/.retinue") (subpath "/Users/a/w.db"))`);
  expect(profile).not.toContain('(subpath "/Users/a")');
  // Denials must follow what is allowed: the last rule wins.
  expect(lines.findIndex((line) => line.startsWith('(deny file-write*'))).toBeGreaterThan(
    lines.findIndex((line) => line.startsWith('(allow file-write*')),
  );
});

test('the profile follows the rights', () => {
  const open = profileFor({ ...wanted, network: true, git: true, writable: false }, { home: null, secret: [] });
  expect(open).toContain('(allow network*)');
  expect(open).not.toContain('/.git"');
  expect(open).toContain('(allow file-write* (subpath "/private/tmp"))');
});
