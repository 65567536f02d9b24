import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWorkspace, readNamed } from '../../src/main/config/files.ts';

let folder: string;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-files-')));
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'main.ts'), 'main');
  writeFileSync(join(folder, 'schema.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a file named on the command line', () => {
  it('is seen from the workspace, wherever the user stands', () => {
    expect(inWorkspace(folder, folder, 'src/main.ts')).toBe(join('src', 'main.ts'));
    expect(inWorkspace(folder, join(folder, 'src'), 'main.ts')).toBe(join('src', 'main.ts'));
    expect(inWorkspace(folder, '/', join(folder, 'src', 'main.ts'))).toBe(join('src', 'main.ts'));
    expect(inWorkspace(join(folder, 'src'), folder, 'schema.json')).toBe(join(folder, 'schema.json'));
  });

  it('is told with its nearest neighbour where it is not there', () => {
    expect(() => inWorkspace(folder, folder, 'src/mian.ts')).toThrow(/unknown file `src\/mian\.ts`; did you mean `src\/main\.ts`\?/);
    expect(() => inWorkspace(folder, folder, 'nowhere/at/all.ts')).toThrow(/unknown file `nowhere\/at\/all\.ts` \(looked for/);
    expect(() => inWorkspace(folder, folder, 'src')).toThrow(/src is no file/);
    expect(() => readNamed(folder, 'shema.json', 100)).toThrow(/did you mean `schema\.json`\?/);
    expect(() => readNamed(folder, 'src', 100)).toThrow(/is no file/);
  });

  it('is read up to a size', () => {
    expect(readNamed(folder, 'schema.json', 2)).toBe('{}');
    expect(() => readNamed(folder, 'schema.json', 1)).toThrow(/larger than 1 bytes/);
    expect(() => readNamed('/', 'dev/zero', 100)).toThrow(/is no file/);
  });
});
