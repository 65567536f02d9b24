// A full disk while files are copied or changes are applied, with the real program. bubblewrap gives a command a small file system.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const hasBubblewrap = spawnSync('bwrap', ['--dev-bind', '/', '/', 'true']).status === 0;
const write = (path: string, content: string) => ({ tool: 'write', args: { path, content } });
const script = { runs: [{ steps: [{ calls: [write('a.txt', 'a\n'), write('full/big.txt', 'x'.repeat(300_000))] }, { text: 'done' }] }] };

/** Runs a command with a file system of this size at a path. */
function runWithSmall(place: Place, path: string, bytes: number, args: string[]): { code: number | null; text: string } {
  return runWithView(place, ['--size', String(bytes), '--tmpfs', join(place.folder, path)], args);
}

function runWithView(place: Place, changed: string[], args: string[]): { code: number | null; text: string } {
  const env = { PATH: process.env.PATH, HOME: place.folder, RETINUE_MODEL: 'script/script.json', NO_COLOR: '1' };
  const view = ['--dev-bind', '/', '/', ...changed, '--chdir', place.folder];
  const { status, stdout, stderr } = spawnSync('bwrap', [...view, process.execPath, bin, ...args], { env, encoding: 'utf8' });
  return { code: status, text: stdout + stderr };
}

it.runIf(hasBubblewrap)('fails before anything is done if the copy does not fit', { timeout: 60_000 }, async () => {
  using place = createPlace(script);
  mkdirSync(join(place.folder, '.local/state'), { recursive: true });
  execFileSync('sh', ['-c', 'head -c 3000000 /dev/urandom > large.bin'], { cwd: place.folder });
  const { code, text } = runWithSmall(place, '.local/state', 1_000_000, ['run', 'go', '--worktree', '--sandbox', 'off']);
  expect([code, text]).toEqual([1, expect.stringMatching(/No space left|ENOSPC|unable to write/)]);
  expect(existsSync(join(place.folder, 'a.txt'))).toBe(false);
});

it.runIf(hasBubblewrap)('an apply that did not fit changes nothing, and can be repeated', { timeout: 60_000 }, async () => {
  using place = createPlace(script);
  mkdirSync(join(place.folder, 'full'));
  expect(await place.run('run', 'go', '--worktree')).toMatchObject({ code: 0 });
  const { runId: id } = JSON.parse((await place.run('show', 'last', '--json')).out);
  const { code, text } = runWithSmall(place, 'full', 65_536, ['apply', id]);
  expect([code, text]).toEqual([1, expect.stringMatching(/could not be written: ENOSPC.*nothing was changed/)]);
  expect(readdirSync(join(place.folder, 'full'))).toEqual([]);
  expect(existsSync(join(place.folder, 'a.txt'))).toBe(false);
  expect(await place.run('undo', id)).toMatchObject({ code: 0, out: 'there is nothing to take back\n' });
  expect(await place.run('apply', id)).toMatchObject({ code: 0 });
  expect(readFileSync(join(place.folder, 'full/big.txt'), 'utf8')).toHaveLength(300_000);
});

it.runIf(hasBubblewrap)('a folder that cannot be written is a conflict, before anything is changed', { timeout: 60_000 }, async () => {
  using place = createPlace(script);
  mkdirSync(join(place.folder, 'full'));
  expect(await place.run('run', 'go', '--worktree')).toMatchObject({ code: 0 });
  const { runId: id } = JSON.parse((await place.run('show', 'last', '--json')).out);
  const readOnly = ['--ro-bind', join(place.folder, 'full'), join(place.folder, 'full')];
  for (const args of [
    ['apply', id, '--check'],
    ['apply', id],
  ]) {
    const { code, text } = runWithView(place, readOnly, args);
    expect([code, text]).toEqual([1, expect.stringContaining('full/big.txt is in full, where you may not write')]);
    expect(existsSync(join(place.folder, 'a.txt'))).toBe(false);
  }
  expect(await place.run('apply', id)).toMatchObject({ code: 0 });
});
