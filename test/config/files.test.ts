import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findNamedPath, readNamedFile } from '../../src/config/files.ts';

let folder: string;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-files-')));
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'main.ts'), 'main');
  writeFileSync(join(folder, 'schema.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a file named on the command line', () => {
  it('is found in the current folder if that is in the workspace, otherwise in the workspace first', () => {
    const main = join(folder, 'src', 'main.ts');
    expect(findNamedPath(folder, folder, 'src/main.ts')).toBe(main);
    expect(findNamedPath(folder, join(folder, 'src'), 'main.ts')).toBe(main);
    expect(findNamedPath(folder, join(folder, 'src'), 'schema.json')).toBe(join(folder, 'schema.json'));
    expect(findNamedPath(folder, '/', main)).toBe(main);
    expect(findNamedPath(join(folder, 'src'), folder, 'main.ts')).toBe(main);
    expect(findNamedPath(folder, folder, 'nowhere/at/all.ts')).toBeNull();
  });

  it('that is missing is reported with the nearest existing name', () => {
    expect(() => readNamedFile(folder, 'shema.json', 100)).toThrow(/did you mean `schema\.json`\?/);
    expect(() => readNamedFile(folder, 'src', 100)).toThrow(/is a folder; name a file in it/);
  });

  it('is read up to a maximum size', () => {
    expect(readNamedFile(folder, 'schema.json', 2)).toBe('{}');
    expect(() => readNamedFile(folder, 'schema.json', 1)).toThrow(/larger than 1 bytes/);
    expect(() => readNamedFile('/', 'dev/zero', 100)).toThrow(/is not a regular file/);
  });
});
