import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readNamedFile, toWorkspacePath } from '../../src/config/files.ts';

let folder: string;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-files-')));
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'main.ts'), 'main');
  writeFileSync(join(folder, 'schema.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a file named on the command line', () => {
  it('gets a path relative to the workspace, whatever the current directory', () => {
    expect(toWorkspacePath(folder, folder, 'src/main.ts')).toBe(join('src', 'main.ts'));
    expect(toWorkspacePath(folder, join(folder, 'src'), 'main.ts')).toBe(join('src', 'main.ts'));
    expect(toWorkspacePath(folder, '/', join(folder, 'src', 'main.ts'))).toBe(join('src', 'main.ts'));
    expect(toWorkspacePath(join(folder, 'src'), folder, 'schema.json')).toBe(join(folder, 'schema.json'));
  });

  it('that is missing is reported with the nearest existing name', () => {
    expect(() => toWorkspacePath(folder, folder, 'src/mian.ts')).toThrow(/unknown file `src\/mian\.ts`; did you mean `src\/main\.ts`\?/);
    expect(() => toWorkspacePath(folder, folder, 'nowhere/at/all.ts')).toThrow(/unknown file `nowhere\/at\/all\.ts` \(looked for/);
    expect(() => toWorkspacePath(folder, folder, 'src')).toThrow(/src is not a regular file/);
    expect(() => readNamedFile(folder, 'shema.json', 100)).toThrow(/did you mean `schema\.json`\?/);
    expect(() => readNamedFile(folder, 'src', 100)).toThrow(/is not a regular file/);
  });

  it('is read up to a maximum size', () => {
    expect(readNamedFile(folder, 'schema.json', 2)).toBe('{}');
    expect(() => readNamedFile(folder, 'schema.json', 1)).toThrow(/larger than 1 bytes/);
    expect(() => readNamedFile('/', 'dev/zero', 100)).toThrow(/is not a regular file/);
  });
});
