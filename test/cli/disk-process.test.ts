// What commands do where they cannot or must not write, with the real program: nothing is created for reading, read-only media can be read, and a
// full disk is called a full disk. bubblewrap gives a single command its own view of the file system, for root and for plain users.
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace, type Place } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const script = {
  runs: [
    { times: 'any', when: { task: 'slow' }, steps: [{ delayMs: 60_000, text: 'late' }] },
    { times: 'any', steps: [{ text: 'done' }] },
  ],
};
const hasBubblewrap = spawnSync('bwrap', ['--dev-bind', '/', '/', 'true']).status === 0;

const reading = [
  ['ps', '--all'],
  ['show', 'last'],
  ['logs', 'last'],
  ['verify'],
  ['export', 'last'],
  ['replay', 'last'],
  ['approve'],
  ['memory', 'list'],
];

interface Result {
  code: number;
  text: string;
}

/** Runs commands one after the other in one view of the file system. */
async function runInView(place: Place, view: string[], commands: string[][], prepare = 'true'): Promise<Result[]> {
  const line = 'for c in "$@"; do out=$(eval "$N $c" 2>&1); printf "%s\\0%s\\0" "$?" "$out"; done';
  const words = commands.map((command) => command.map((word) => `'${word}'`).join(' '));
  const args = ['--dev-bind', '/', '/', ...view, '--chdir', place.folder, 'sh', '-c', `${prepare}; ${line}`, 'sh', ...words];
  const env = {
    PATH: process.env.PATH,
    HOME: place.folder,
    RETINUE_MODEL: 'script/script.json',
    NO_COLOR: '1',
    N: `'${process.execPath}' '${bin}'`,
  };
  const { promise, resolve: done, reject } = Promise.withResolvers<string>();
  execFile('bwrap', args, { env, maxBuffer: 1e8 }, (error, stdout, stderr) => (error ? reject(new Error(stderr)) : done(stdout)));
  const parts = (await promise).split('\0');
  return commands.map((_, n) => ({ code: Number(parts[2 * n]), text: parts[2 * n + 1] as string }));
}

const state = (place: Place) => join(place.folder, '.retinue');
const readOnly = (place: Place) => ['--ro-bind', state(place), state(place)];

async function kill(place: Place): Promise<void> {
  const running = place.start('run', 'slow');
  await place.until<StoredFact[]>(['logs', 'last'], (facts) => facts.some(({ type }) => type === 'model.asked'));
  running.process.kill('SIGKILL');
  await running.finished;
}

describe('without a database', () => {
  it.each([
    ...reading,
    ['wait', 'last'],
    ['resume'],
    ['cancel', 'last'],
    ['pause', 'last'],
    ['message', 'last', 'hi'],
    ['approve', 'last'],
    ['refuse', 'last'],
    ['fork', 'last', '--at', '1'],
    ['rm', 'last', '--yes'],
    ['gc', '--older-than', '30d'],
    ['memory', 'rm', 'x'],
    ['doctor'],
    ['config'],
    ['agents'],
    ['policy', 'test', 'read x'],
  ])('no folder and no file is created: %s %s', async (...command) => {
    using place = createPlace(script);
    for (const more of [[], ['--db', 'deep/runs.db']]) {
      const { err } = await place.run(...command, ...more);
      expect(err).not.toMatch(/bug in Retinue/);
    }
    // The folder is also the user's home, where `approve` notes what it has shown.
    expect(readdirSync(place.folder).filter((name) => name !== '.config')).toEqual(['script.json']);
  });
});

describe.runIf(hasBubblewrap)('a database that may only be read', () => {
  it('is read as it is if it was closed', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    for (const { code, text } of await runInView(place, readOnly(place), reading)) expect([code, text]).toEqual([0, expect.any(String)]);
    const [logs, run] = await runInView(place, readOnly(place), [
      ['logs', 'last'],
      ['run', 'again'],
    ]);
    expect(logs?.text).toContain('run.ended');
    expect(run).toMatchObject({ code: 2, text: expect.stringContaining('is not readable and writable') });
  });

  it.each([true, false])('is read with its log if a process was killed (the index of the log exists: %s)', async (hasIndex) => {
    using place = createPlace(script);
    await kill(place);
    if (!hasIndex) rmSync(join(state(place), 'retinue.db-shm'));
    const before = readdirSync(state(place)).sort();
    const [list, verified] = await runInView(place, readOnly(place), [['ps'], ['verify']]);
    expect(list).toMatchObject({ code: 0, text: expect.stringContaining('interrupted') });
    expect(verified).toMatchObject({ code: 0, text: expect.stringMatching(/^intact 3 events/) });
    expect(readdirSync(state(place)).sort()).toEqual(before);
  });

  it('is read if only its permissions forbid writing', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    chmodSync(join(state(place), 'retinue.db'), 0o444);
    chmodSync(state(place), 0o555);
    // Without the rights of root, which no permission binds.
    const view = ['--unshare-user', '--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL'];
    for (const { code, text } of await runInView(place, view, reading)) expect([code, text]).toEqual([0, expect.any(String)]);
    chmodSync(state(place), 0o755);
  });
});

describe.runIf(hasBubblewrap)('a full disk', () => {
  it('is called that by every command that writes, and reading still works', async () => {
    using place = createPlace(script);
    const disk = join(place.folder, 'disk');
    mkdirSync(disk);
    const [db, out] = ['disk/runs.db', 'disk/out.jsonl'];
    const prepare = `eval "$N run go --db ${db}" >/dev/null 2>&1; eval "$N export last --db ${db} -o run.jsonl" >/dev/null; head -c 9000000 /dev/zero > disk/fill 2>/dev/null`;
    const writing = [
      ['run', 'again'],
      ['run', '--detach', 'again'],
      ['resume'],
      ['message', 'last', 'hi'],
      ['cancel', 'last'],
      ['memory', 'add', 'a', 'b'],
      ['import', 'run.jsonl'],
      ['rm', 'last', '--yes'],
      ['gc', '--older-than', '0s', '--yes'],
      ['export', 'last', '-o', out],
    ];
    const elsewhere = [
      ['run', 'x', '-C', 'disk'],
      ['mcp', 'install', 'claude-code', '--project', '--yes', '-C', 'disk'],
    ];
    const commands = [...[...writing, ...reading].map((command) => [...command, '--db', db]), ...elsewhere];
    const results = await runInView(place, ['--size', '600000', '--tmpfs', disk], commands, prepare);
    const mustFail = [...results.slice(0, writing.length), ...results.slice(-elsewhere.length)];
    for (const { code, text } of mustFail) {
      expect([code === 0, text]).toEqual([false, expect.stringMatching(/the disk is full/i)]);
      expect(text).not.toMatch(/bug in Retinue/);
    }
    const readings = results.slice(writing.length, writing.length + reading.length);
    expect(readings.map(({ code }) => code)).toEqual(reading.map(() => 0));
  });
});
