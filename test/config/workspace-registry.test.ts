// The list of the user's databases, on real files.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFileSetting } from '../../src/config/database-setting.ts';
import { databaseId, listDatabases, registerDatabase } from '../../src/config/workspace-registry.ts';

let root: string;
let env: Record<string, string>;
let list: string;
const today = new Date('2026-11-16T10:00:00.000Z');
const tomorrow = new Date('2026-11-17T10:00:00.000Z');

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-registry-')));
  env = { HOME: join(root, 'home') };
  list = join(root, 'home', '.config', 'retinue', 'workspaces.json');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function createDatabase(name: string): string {
  mkdirSync(join(root, name));
  writeFileSync(join(root, name, 'x.db'), '');
  return join(root, name, 'x.db');
}

function register(name: string, { from = 'built-in', now = today } = {}): Promise<void> {
  const db = createFileSetting(join(root, name, 'x.db'), { from, adopt: false });
  return registerDatabase(env, { db, workspace: join(root, name) }, now);
}

it('lists databases with their workspace, the last used first, in a file that only the user can read', async () => {
  const [a, b] = [createDatabase('a'), createDatabase('b')];
  await register('a');
  await register('b', { now: tomorrow });
  expect(listDatabases(env)).toEqual([
    { db: b, workspace: join(root, 'b'), usedAt: tomorrow.toISOString() },
    { db: a, workspace: join(root, 'a'), usedAt: today.toISOString() },
  ]);
  expect(statSync(list).mode & 0o777).toBe(0o600);
  expect(databaseId(a)).toMatch(/^[0-9a-f]{12}$/);
  expect(existsSync(`${list}.lock`)).toBe(false);
});

it('writes at most once a day', async () => {
  createDatabase('a');
  await register('a');
  const before = statSync(list, { bigint: true });
  await register('a', { now: new Date('2026-11-16T23:00:00.000Z') });
  expect(statSync(list, { bigint: true }).ino).toBe(before.ino);
  await register('a', { now: tomorrow });
  expect(statSync(list, { bigint: true }).ino).not.toBe(before.ino);
  expect(listDatabases(env)).toHaveLength(1);
});

it('leaves out databases that no longer exist, and forgets them with the next write', async () => {
  createDatabase('a');
  createDatabase('b');
  await register('a');
  rmSync(join(root, 'a'), { recursive: true });
  expect(listDatabases(env)).toEqual([]);
  await register('b');
  expect(readFileSync(list, 'utf8')).not.toContain(join(root, 'a'));
});

it('leaves out a named database in a temporary folder, and one that was not created', async () => {
  createDatabase('a');
  env.TMPDIR = root;
  await register('a', { from: '--db' });
  await register('missing');
  expect(listDatabases(env)).toEqual([]);
  await register('a');
  expect(listDatabases(env)).toHaveLength(1);
});

it('keeps the newest 200', async () => {
  createDatabase('a');
  createDatabase('b');
  const old = Array.from({ length: 200 }, (_, i) => ({
    db: createDatabase(`old-${i}`),
    workspace: root,
    usedAt: new Date(i).toISOString(),
  }));
  mkdirSync(join(list, '..'), { recursive: true });
  writeFileSync(list, JSON.stringify({ version: 1, databases: old }), { mode: 0o600 });
  await register('a');
  expect(listDatabases(env)).toHaveLength(200);
  expect(listDatabases(env)[0]?.db).toBe(join(root, 'a', 'x.db'));
  expect(listDatabases(env).map(({ db }) => db)).not.toContain(old[0]?.db);
});

const damages: [what: string, damage: () => void][] = [
  ['is not JSON', () => writeFileSync(list, '{"version":1,')],
  ['has another shape', () => writeFileSync(list, '{"version":1,"databases":[{"db":7}]}')],
  ['can be written by others', () => chmodSync(list, 0o666)],
  ['is empty', () => writeFileSync(list, '')],
];
it.each(damages)('counts as empty if it %s, and is replaced with the next write', async (_, damage) => {
  createDatabase('a');
  createDatabase('b');
  await register('a');
  damage();
  expect(listDatabases(env)).toEqual([]);
  await register('b');
  expect(listDatabases(env).map(({ workspace }) => workspace)).toEqual([join(root, 'b')]);
  expect(statSync(list).mode & 0o777).toBe(0o600);
});

it('takes over the lock of a process that died, and rejects nothing if the folder cannot be written', async () => {
  createDatabase('a');
  mkdirSync(join(list, '..'), { recursive: true });
  writeFileSync(`${list}.lock`, '');
  utimesSync(`${list}.lock`, 0, 0);
  await register('a');
  expect(listDatabases(env)).toHaveLength(1);
  rmSync(env.HOME as string, { recursive: true });
  writeFileSync(env.HOME as string, 'a file');
  await register('a');
  expect(listDatabases(env)).toEqual([]);
});

it('keeps the entries of all processes that write at the same time', async () => {
  const names = Array.from({ length: 6 }, (_, i) => `p${i}`);
  for (const name of names) createDatabase(name);
  const module = resolve(import.meta.dirname, '../../src/config/workspace-registry.ts');
  const code = (name: string) => `
    import { registerDatabase } from ${JSON.stringify(module)};
    for (const part of ['x.db', 'y.db', 'z.db'])
      await registerDatabase(process.env, { db: { path: ${JSON.stringify(join(root, name))} + '/' + part, from: 'built-in', adopt: false }, workspace: ${JSON.stringify(join(root, name))} }, new Date());`;
  for (const name of names) for (const part of ['y.db', 'z.db']) writeFileSync(join(root, name, part), '');
  const codes = await Promise.all(
    names.map((name) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', code(name)], {
        env: { ...env, PATH: process.env.PATH },
        stdio: 'ignore',
      });
      return new Promise((done) => child.on('close', done));
    }),
  );
  expect(codes).toEqual(names.map(() => 0));
  expect(listDatabases(env)).toHaveLength(18);
});
