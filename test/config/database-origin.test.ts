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
import { adoptDatabase, isOwnDatabase, recordCreatedDatabase } from '../../src/config/database-origin.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const dbOf = (fixture: TestWorkspace) => join(fixture.workspace, '.retinue', 'retinue.db');
const listOf = (fixture: TestWorkspace) => join(fixture.env.XDG_CONFIG_HOME as string, 'retinue', 'databases');

async function make(fixture: TestWorkspace): Promise<string> {
  const path = dbOf(fixture);
  await (await openSqliteStore({ path, made: (draft, to) => void recordCreatedDatabase(fixture.env, draft, to) })).close();
  return path;
}

function entriesOf(fixture: TestWorkspace): string[] {
  return readdirSync(listOf(fixture)).map((name) => join(listOf(fixture), name));
}

describe('a database created here', () => {
  it('has a record that only the user can write, and keeps it when opened again', async () => {
    using fixture = createTestWorkspace();
    const path = await make(fixture);
    expect(isOwnDatabase(fixture.env, path)).toBe(true);
    await make(fixture);
    expect([isOwnDatabase(fixture.env, path), entriesOf(fixture).length]).toEqual([true, 1]);
    expect(statSync(entriesOf(fixture)[0] as string).mode & 0o777).toBe(0o600);
  });

  it('is not known to other users or under another path', async () => {
    using fixture = createTestWorkspace();
    const path = await make(fixture);
    expect(isOwnDatabase({ ...fixture.env, XDG_CONFIG_HOME: join(fixture.folder, 'other') }, path)).toBe(false);
    const moved = join(fixture.workspace, 'moved.db');
    linkSync(path, moved);
    expect(isOwnDatabase(fixture.env, moved)).toBe(false);
  });

  it('is unknown after another file took its name, until it is adopted', async () => {
    using fixture = createTestWorkspace();
    const path = await make(fixture);
    copyFileSync(path, `${path}.new`);
    renameSync(`${path}.new`, path);
    expect(isOwnDatabase(fixture.env, path)).toBe(false);
    adoptDatabase(fixture.env, path);
    expect(isOwnDatabase(fixture.env, path)).toBe(true);
  });

  it('is known if several processes create it at once', async () => {
    using fixture = createTestWorkspace();
    mkdirSync(join(fixture.workspace, '.retinue'));
    const path = dbOf(fixture);
    const other = join(fixture.workspace, 'draft');
    // The other one has noted its own draft, and was too late to name it.
    const made = (draft: string, to: string) => {
      recordCreatedDatabase(fixture.env, draft, to);
      writeFileSync(other, '');
      recordCreatedDatabase(fixture.env, other, to);
    };
    await (await openSqliteStore({ path, made })).close();
    expect(isOwnDatabase(fixture.env, path)).toBe(true);
  });

  it('is created even if its record cannot be written', async () => {
    using fixture = createTestWorkspace();
    fixture.write('xdg/retinue', 'a file');
    const path = await make(fixture);
    expect([statSync(path).isFile(), isOwnDatabase(fixture.env, path)]).toEqual([true, false]);
    expect(() => adoptDatabase(fixture.env, path)).toThrow(/cannot be written/);
  });
});

describe('a database record', () => {
  it.each([
    ['no JSON', (text: string) => text.slice(1)],
    ['another version', (text: string) => text.replace('"version": 1', '"version": 2')],
    ['another inode', (text: string) => text.replace(/"inode": "\d+"/, '"inode": "1"')],
    ['another time of birth', (text: string) => text.replace(/"born": "\d+"/, '"born": "1"')],
    ['another path', (text: string) => text.replace(/"path": "/, '"path": "/elsewhere')],
    ['more than it should have', (text: string) => text.replace('{', '{ "x": 1,')],
  ])('with %s counts for nothing', async (_, change) => {
    using fixture = createTestWorkspace();
    const path = await make(fixture);
    const [file = ''] = entriesOf(fixture);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    expect(isOwnDatabase(fixture.env, path)).toBe(false);
  });

  it('that others can write is ignored', async () => {
    using fixture = createTestWorkspace();
    const path = await make(fixture);
    chmodSync(entriesOf(fixture)[0] as string, 0o666);
    expect(isOwnDatabase(fixture.env, path)).toBe(false);
  });

  it('is removed some time after its database was deleted', async () => {
    using fixture = createTestWorkspace();
    rmSync(await make(fixture));
    const [file = ''] = entriesOf(fixture);
    await make(fixture);
    expect(entriesOf(fixture)).toContain(file);
    rmSync(dbOf(fixture));
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"at": "[^"]+"/, '"at": "2020-01-01T00:00:00.000Z"'));
    writeFileSync(join(fixture.workspace, 'draft'), '');
    recordCreatedDatabase(fixture.env, join(fixture.workspace, 'draft'), join(fixture.workspace, 'other.db'));
    expect(entriesOf(fixture)).not.toContain(file);
    expect(entriesOf(fixture)).toHaveLength(2);
  });
});

it.each([
  ['-wal', 'store_corrupt'],
  ['-journal', 'store_io'],
])('a leftover %s file does not become part of a new database', async (end, code) => {
  using fixture = createTestWorkspace();
  fixture.write(`work/.retinue/retinue.db${end}`, 'planted');
  await expect(make(fixture)).rejects.toMatchObject({ code });
});
