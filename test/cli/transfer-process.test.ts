// A tree written by one program and read by another, in another folder: real processes, real files, real databases.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import type { ImportResult } from '../../src/records/import-tree.ts';
import { createPlace, type Place } from './support-process.ts';

const parent = { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore' }] } }] };
const list = { calls: [{ tool: 'list', args: { path: '.' } }] };
const script = {
  runs: [
    { when: { agent: 'general' }, steps: [parent, { text: 'all\u001b[31m done \u202e🧵' }] },
    { when: { agent: 'explore' }, steps: [list, { text: 'seen' }] },
  ],
};
const slow = {
  runs: [
    { when: { agent: 'general' }, steps: [parent, { text: 'all done' }] },
    { when: { agent: 'explore' }, steps: [list, { delayMs: 120_000, text: 'seen' }] },
  ],
};
const quick = { runs: [slow.runs[0], { when: { agent: 'explore' }, steps: [list, { text: 'seen' }] }] };

const json = async <T>(place: Place, ...args: string[]) => JSON.parse((await place.run(...args, '--json')).out) as T;
const file = (place: Place) => join(place.folder, 'run.jsonl');
const facts = (place: Place) => json<StoredFact[]>(place, 'logs', 'last', '--tree');

/** A tree whose child waits for its model, left by kill -9. */
async function cut(place: Place): Promise<void> {
  const running = place.start('run', 'go');
  await place.until<StoredFact[]>(['logs', 'last', '--tree'], (found) => found.filter(({ type }) => type === 'model.asked').length === 3);
  expect(await place.run('export', 'last')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/process \d+ still drives.*--live/),
  });
  const live = await place.run('export', 'last', '--live');
  const [head, ...lines] = live.out.trimEnd().split('\n') as [string, ...string[]];
  expect(lines.filter((line) => !line.startsWith('{"blob"'))).toHaveLength((JSON.parse(head) as { facts: number }).facts);
  running.process.kill('SIGKILL');
  await running.finished;
}

describe('export and import', () => {
  it('a tree can be verified, replayed and shown elsewhere, and importing it again changes nothing', async () => {
    using from = createPlace(script);
    using to = createPlace({ runs: [] });
    const { rootId } = await json<Outcome>(from, 'run', 'go');
    const [child] = await json<RunView[]>(from, 'ps', '--all');
    const exported = await json<Record<string, unknown>>(from, 'export', (child as RunView).runId, '-o', file(from));
    expect(exported).toMatchObject({ rootId, runs: 2, file: file(from) });
    expect(statSync(file(from)).mode & 0o777).toBe(0o600);
    const text = readFileSync(file(from), 'utf8');
    // Whatever a terminal could act on is escaped, and reads back as it was.
    expect(text).not.toMatch(/[\u001b\u202e]/);
    expect((await from.run('export', rootId)).out).toBe(text);
    expect(JSON.parse(text.split('\n', 1)[0] as string)).toEqual({ format: 'retinue-export', v: 1, ...exported, file: undefined });

    const imported = await json<ImportResult>(to, 'import', file(from));
    expect(imported).toEqual({ rootId, runs: 2, facts: exported.facts, lastHash: exported.lastHash, result: 'imported', unfinished: 0 });
    expect(await to.run('verify')).toMatchObject({ code: 0, out: expect.stringMatching(/^intact \d+ events of 2 runs in 1 tree$/m) });
    expect(await to.run('replay', 'last')).toMatchObject({ code: 0, out: expect.not.stringContaining('differs') });
    expect(await facts(to)).toEqual(await facts(from));
    expect(await json<unknown>(to, 'show', 'last')).toEqual(await json<unknown>(from, 'show', 'last'));
    expect(await json<unknown>(to, 'ps', '--all')).toEqual(await json<unknown>(from, 'ps', '--all'));
    expect((await to.run('export', 'last')).out).toBe(text);

    expect(await to.run('import', file(from))).toMatchObject({ code: 0, out: expect.stringMatching(/^already here /) });
    expect(await to.run('verify')).toMatchObject({ code: 0, out: expect.stringContaining('in 1 tree') });
  });

  it('an unfinished tree is imported only with --unfinished, and resumed only in its own workspace', async () => {
    using from = createPlace(slow);
    using to = createPlace({ runs: [] });
    await cut(from);
    expect((await from.run('export', 'last', '-o', file(from))).code).toBe(0);
    expect(await to.run('import', file(from))).toMatchObject({ code: 1, err: expect.stringContaining('--unfinished') });
    expect(await json<RunView[]>(to, 'ps')).toEqual([]);
    const { code, err } = await to.run('import', '--unfinished', file(from));
    expect([code, err]).toEqual([0, expect.stringContaining('2 runs have not ended')]);
    expect((await json<RunView[]>(to, 'ps')).map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
    const before = await facts(to);
    // It goes on in the workspace that was recorded, where the model is another one now.
    writeFileSync(join(from.folder, 'script.json'), JSON.stringify(quick));
    expect(await to.run('resume')).toMatchObject({ code: 1, err: expect.stringContaining('belongs to the workspace') });
    const db = join(to.folder, '.retinue', 'retinue.db');
    const [outcome] = await json<Outcome[]>(to, 'resume', '-C', from.folder, '--db', db);
    expect(outcome).toMatchObject({ status: 'completed', summary: 'all done' });
    const after = await facts(to);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.filter(({ type }) => type === 'run.ended')).toHaveLength(2);
    expect((await to.run('verify')).code).toBe(0);
    // It went on here: the earlier state of it is other facts now.
    expect(await to.run('import', file(from))).toMatchObject({
      code: 1,
      err: expect.stringContaining('is here already, with other events'),
    });
  });

  it('two imports at the same time import it once', async () => {
    using from = createPlace(script);
    using to = createPlace({ runs: [] });
    await from.run('run', 'go');
    await from.run('export', 'last', '-o', file(from));
    const both = await Promise.all([json<ImportResult>(to, 'import', file(from)), json<ImportResult>(to, 'import', file(from))]);
    expect(both.map(({ result }) => result).sort()).toEqual(['already', 'imported']);
    expect(await to.run('verify')).toMatchObject({ code: 0, out: expect.stringContaining('2 runs in 1 tree') });
  });

  it('reports wrong usage', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    expect(await place.run('export', 'last', '--json')).toMatchObject({ code: 2, out: '' });
    writeFileSync(file(place), 'mine');
    expect(await place.run('export', 'last', '-o', file(place))).toMatchObject({
      code: 2,
      err: expect.stringContaining('already exists'),
    });
    expect(readFileSync(file(place), 'utf8')).toBe('mine');
    expect(await place.run('import', 'run.jsno')).toMatchObject({ code: 2, err: expect.stringContaining('did you mean `run.jsonl`') });
    expect(await place.run('import', '.')).toMatchObject({ code: 2 });
    expect(await place.run('import', file(place))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot be imported: line 1: .*nothing was written/),
    });
    writeFileSync(file(place), Buffer.from([0x7b, 0xff, 0xfe]));
    expect(await place.run('import', file(place))).toMatchObject({ code: 2, err: expect.stringContaining('line 1 is not UTF-8 text') });
    expect(existsSync(join(place.folder, 'gone.jsonl'))).toBe(false);
    expect(await place.run('export', 'ffff', '-o', 'gone.jsonl')).toMatchObject({ code: 1 });
    expect(existsSync(join(place.folder, 'gone.jsonl'))).toBe(false);
  });
});
