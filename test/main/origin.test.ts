// Which databases count as made here: real files, a real store.
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adopt, assertMadeHere, isMadeHere, rememberMade } from '../../src/main/origin.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { createPlace, type TestPlace } from './place.ts';

const dbOf = (place: TestPlace) => join(place.workspace, '.retinue', 'retinue.db');
const listOf = (place: TestPlace) => join(place.env.XDG_CONFIG_HOME as string, 'retinue', 'databases');

async function make(place: TestPlace): Promise<string> {
  const path = dbOf(place);
  await (await openSqliteStore({ path, made: (draft, to) => rememberMade(place.env, draft, to) })).close();
  return path;
}

function entriesOf(place: TestPlace): string[] {
  return readdirSync(listOf(place)).map((name) => join(listOf(place), name));
}

describe('a database that was made here', () => {
  it('is known, also after it was opened again, and only the user can write that', async () => {
    using place = createPlace();
    const path = await make(place);
    expect(isMadeHere(place.env, path)).toBe(true);
    await make(place);
    expect([isMadeHere(place.env, path), entriesOf(place).length]).toEqual([true, 1]);
    expect(statSync(entriesOf(place)[0] as string).mode & 0o777).toBe(0o600);
  });

  it('is known to nobody else, and at no other place', async () => {
    using place = createPlace();
    const path = await make(place);
    expect(isMadeHere({ ...place.env, XDG_CONFIG_HOME: join(place.folder, 'other') }, path)).toBe(false);
    const moved = join(place.workspace, 'moved.db');
    linkSync(path, moved);
    expect(isMadeHere(place.env, moved)).toBe(false);
  });

  it('is not known any more when another file has its name, and can be taken for one’s own', async () => {
    using place = createPlace();
    const path = await make(place);
    copyFileSync(path, `${path}.new`);
    renameSync(`${path}.new`, path);
    expect(() => assertMadeHere(place.env, path)).toThrow(/was not made here[\s\S]*retinue ps[\s\S]*--adopt/);
    adopt(place.env, path);
    expect(() => assertMadeHere(place.env, path)).not.toThrow();
  });

  it('is known when several processes make it at once', async () => {
    using place = createPlace();
    mkdirSync(join(place.workspace, '.retinue'));
    const path = dbOf(place);
    const other = join(place.workspace, 'draft');
    // The other one has noted its own draft, and was too late to name it.
    const made = (draft: string, to: string) => {
      rememberMade(place.env, draft, to);
      writeFileSync(other, '');
      rememberMade(place.env, other, to);
    };
    await (await openSqliteStore({ path, made })).close();
    expect(isMadeHere(place.env, path)).toBe(true);
  });

  it('is made all the same where it cannot be noted', async () => {
    using place = createPlace();
    place.write('xdg/retinue', 'a file');
    const path = await make(place);
    expect([statSync(path).isFile(), isMadeHere(place.env, path)]).toEqual([true, false]);
    expect(() => adopt(place.env, path)).toThrow(/cannot be written/);
  });
});

describe('a note', () => {
  it.each([
    ['no JSON', (text: string) => text.slice(1)],
    ['another version', (text: string) => text.replace('"version": 1', '"version": 2')],
    ['another inode', (text: string) => text.replace(/"inode": "\d+"/, '"inode": "1"')],
    ['another time of birth', (text: string) => text.replace(/"born": "\d+"/, '"born": "1"')],
    ['another place', (text: string) => text.replace(/"path": "/, '"path": "/elsewhere')],
    ['more than it should have', (text: string) => text.replace('{', '{ "x": 1,')],
  ])('with %s counts for nothing', async (_, change) => {
    using place = createPlace();
    const path = await make(place);
    const [file = ''] = entriesOf(place);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    expect(isMadeHere(place.env, path)).toBe(false);
  });

  it('that others can write counts for nothing', async () => {
    using place = createPlace();
    const path = await make(place);
    chmodSync(entriesOf(place)[0] as string, 0o666);
    expect(isMadeHere(place.env, path)).toBe(false);
  });

  it('goes when its database is gone, after a while', async () => {
    using place = createPlace();
    rmSync(await make(place));
    const [file = ''] = entriesOf(place);
    await make(place);
    expect(entriesOf(place)).toContain(file);
    rmSync(dbOf(place));
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"at": "[^"]+"/, '"at": "2020-01-01T00:00:00.000Z"'));
    writeFileSync(join(place.workspace, 'draft'), '');
    rememberMade(place.env, join(place.workspace, 'draft'), join(place.workspace, 'other.db'));
    expect(entriesOf(place)).not.toContain(file);
    expect(entriesOf(place)).toHaveLength(2);
  });
});

it.each([
  ['-wal', 'store_corrupt'],
  ['-journal', 'store_io'],
])('a %s that lies there without its database does not become part of a new one', async (end, code) => {
  using place = createPlace();
  place.write(`work/.retinue/retinue.db${end}`, 'planted');
  await expect(make(place)).rejects.toMatchObject({ code });
});
