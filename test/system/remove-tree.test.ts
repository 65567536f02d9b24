// Deleting folders that a hostile program has filled.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from '../../src/system/remove-tree.ts';

let folder = '';
let top = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retinue-test-'));
  top = join(folder, 'top');
  mkdirSync(top);
});
afterEach(() => execFileSync('rm', ['-rf', folder]));

describe('removeTree', () => {
  it('follows no link', async () => {
    const precious = join(folder, 'precious');
    mkdirSync(precious);
    writeFileSync(join(precious, 'file'), 'x');
    symlinkSync(precious, join(top, 'folder'));
    symlinkSync(join(precious, 'file'), join(top, 'file'));
    symlinkSync('../..', join(top, 'above'));
    await removeTree(top);
    expect(readdirSync(folder)).toEqual(['precious']);
    expect(readdirSync(precious)).toEqual(['file']);
  });

  it('deletes only the link if it is given one', async () => {
    const link = join(folder, 'link');
    writeFileSync(join(top, 'file'), 'x');
    symlinkSync(top, link);
    await removeTree(link);
    expect(existsSync(link)).toBe(false);
    expect(readdirSync(top)).toEqual(['file']);
  });

  it('deletes folders without permissions, odd names and special files', async () => {
    const closed = join(top, 'a/b');
    mkdirSync(closed, { recursive: true });
    writeFileSync(join(closed, 'file'), 'x');
    for (const path of [closed, join(top, 'a')]) chmodSync(path, 0);
    execFileSync('sh', ['-c', 'touch "$(printf \'x\\377y\')"; mkdir "$(printf \'\\376\')"; touch "$(printf \'\\376/z\')"; mkfifo pipe'], {
      cwd: top,
    });
    await removeTree(top);
    expect(existsSync(top)).toBe(false);
  });

  it('deletes folders that are nested deeper than a path can be long', async () => {
    const nest =
      "for (let n = 0; n < 60; n++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)); fs.writeFileSync('f', ''); }";
    execFileSync(process.execPath, ['-e', nest], { cwd: top });
    await removeTree(top);
    expect(existsSync(top)).toBe(false);
  });

  it('does nothing if there is nothing', async () => {
    await removeTree(join(folder, 'missing'));
  });
});
