// `rm` and `gc` in real processes: what was said is in no file any more, and what remains still verifies.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { RunDetail } from '../../src/api/api.ts';
import type { ErasedFact, StoredFact } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import type { ErasedTree } from '../../src/records/erase.ts';
import type { VerifyResult } from '../../src/records/verify.ts';
import { createPlace, type Place } from './support-process.ts';

const secret = 'pomegranate';
const tasks = [{ task: `look for the ${secret}`, agent: 'explore' }];
const reads = [1, 2, 3, 4, 5, 6].map((offset) => ({ tool: 'read', args: { path: 'big.txt', offset } }));
const script = {
  runs: [
    { when: { task: 'go' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: `no ${secret} here` }], times: 'any' },
    {
      when: { agent: 'explore' },
      steps: [{ calls: reads }, { text: `a ${secret} seen` }],
      times: 'any',
    },
    { when: { task: 'other' }, steps: [{ text: 'kept' }], times: 'any' },
    {
      when: { task: 'pad' },
      steps: [{ calls: [{ tool: 'scratchpad', args: { action: 'append', text: secret } }] }, { text: 'noted' }],
      times: 'any',
    },
    { when: { task: 'slow' }, steps: [{ delayMs: 120_000, text: 'late' }], times: 'any' },
  ],
};

function placed(): Place {
  const place = createPlace(script);
  writeFileSync(join(place.folder, 'big.txt'), Array.from({ length: 800 }, (_, n) => `line ${n} with a ${secret}`).join('\n'));
  return place;
}

const json = async <T>(place: Place, ...args: string[]) => JSON.parse((await place.run(...args, '--json')).out) as T;
const state = (place: Place) => join(place.folder, '.retinue');

/** Files of the database in which the word stands. */
function holders(place: Place, word: string): string[] {
  const names = readdirSync(state(place)).filter((name) => name.startsWith('retinue.db'));
  return names.filter((name) => readFileSync(join(state(place), name)).includes(word));
}

/** As if all of it had ended long ago. */
function age(place: Place, runId: string): void {
  const db = new DatabaseSync(join(state(place), 'retinue.db'));
  db.prepare(`UPDATE runs SET row = json_set(row, '$.endedAt', '2020-01-01T00:00:00.000Z') WHERE id = ?`).run(runId);
  db.close();
}

describe('rm', () => {
  it('erases a tree permanently; hashes stay, and all commands say so', async () => {
    using place = placed();
    const { rootId } = await json<Outcome>(place, 'run', 'go', '--label', `the ${secret}`);
    const kept = await json<Outcome>(place, 'run', 'other');
    const before = await json<StoredFact[]>(place, 'logs', rootId, '--tree');
    expect(holders(place, secret)).not.toEqual([]);
    expect(await place.run('rm', rootId)).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') });
    const size = statSync(join(state(place), 'retinue.db')).size;
    const [erased] = await json<ErasedTree[]>(place, 'rm', rootId.slice(0, 9), '--yes');
    expect(erased).toEqual({ rootId, result: 'erased', facts: before.length, bytes: expect.any(Number) });
    expect(holders(place, secret)).toEqual([]);
    expect(statSync(join(state(place), 'retinue.db')).size).toBeLessThan(size);

    const after = await json<(StoredFact | ErasedFact)[]>(place, 'logs', rootId, '--tree');
    const chain = (facts: (StoredFact | ErasedFact)[]) =>
      facts.map(({ runId, seq, at, v, type, hash }) => [runId, seq, at, v, type, hash].join()).sort();
    expect(chain(after)).toEqual(chain(before));
    expect(after.every((fact) => 'erased' in fact && !('data' in fact))).toBe(true);
    expect((await place.run('logs', rootId)).out).toMatch(/run\.created +erased\n/);
    expect((await place.run('logs', rootId, '-f')).code).toBe(0);
    const detail = await json<RunDetail>(place, 'show', rootId);
    expect(detail).toMatchObject({
      status: 'completed',
      label: null,
      brief: null,
      grant: null,
      outcome: null,
      erasedAt: expect.any(String),
    });
    expect(detail.children).toHaveLength(1);
    expect((await place.run('show', rootId)).out).toContain('only hashes are left of its content');
    expect((await place.run('ps', '--all')).code).toBe(0);
    for (const command of [
      ['replay', rootId],
      ['export', rootId],
      ['wait', rootId],
      ['message', rootId, 'and?'],
      ['fork', rootId, '--at', '1'],
    ])
      expect(await place.run(...command)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`run ${rootId} was erased on`) });

    expect(await json<VerifyResult>(place, 'verify')).toMatchObject({ trees: 2, runs: 3, erased: before.length, broken: [] });
    expect((await place.run('verify')).out).toMatch(/^intact \d+ events \(\d+ erased\)/);
    expect(await place.run('replay', kept.runId)).toMatchObject({ code: 0 });
    expect(await place.run('rm', rootId, '--yes')).toMatchObject({ code: 0, out: `${rootId} was erased already\n` });
  });

  it('verify still finds facts that were removed from an erased run, or emptied without `rm`', async () => {
    using place = placed();
    const { rootId } = await json<Outcome>(place, 'run', 'go');
    await place.run('run', 'other');
    await place.run('rm', rootId, '-y');
    const db = new DatabaseSync(join(state(place), 'retinue.db'));
    db.exec(`DELETE FROM facts WHERE data = '' AND type = 'child.created'; UPDATE facts SET data = '' WHERE type = 'model.answered'`);
    db.close();
    const { broken } = await json<VerifyResult>(place, 'verify');
    expect(broken.map(({ what }) => what).sort()).toEqual([
      expect.stringMatching(/^fact \d+ is missing/),
      'its data is missing, although the run was never erased',
    ]);
  });

  it('erases scratchpad and log too', async () => {
    using place = placed();
    writeFileSync(join(place.folder, 'retinue.config.json'), '{}');
    const { runId } = await json<{ runId: string }>(place, 'run', '--detach', 'pad', '--tools', 'scratchpad');
    await place.run('wait', runId);
    const log = join(state(place), 'logs', `${runId}.log`);
    expect(existsSync(log)).toBe(true);
    await place.run('rm', runId, '--yes');
    expect(existsSync(log)).toBe(false);
    const db = new DatabaseSync(join(state(place), 'retinue.db'));
    const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE name = 'notes_scratch'`).all();
    expect(tables.length === 0 ? 0 : db.prepare('SELECT count(*) AS n FROM notes_scratch').get()?.n).toBe(0);
    db.close();
    expect(holders(place, secret)).toEqual([]);
  });

  it('refuses a live tree, a part of a tree and an unknown run, and then erases nothing', async () => {
    using place = placed();
    const { rootId } = await json<Outcome>(place, 'run', 'go');
    const [child] = (await json<RunDetail>(place, 'show', rootId)).children;
    const running = place.start('run', 'slow');
    const [live] = await place.until<{ runId: string }[]>(['ps'], (found) => found.length === 1);
    expect(await place.run('rm', rootId, (live as { runId: string }).runId, '-y')).toMatchObject({
      code: 1,
      err: expect.stringContaining('has not ended: `retinue cancel'),
    });
    running.process.kill('SIGKILL');
    await running.finished;
    expect(await place.run('rm', (live as { runId: string }).runId, '-y')).toMatchObject({
      code: 1,
      err: expect.stringContaining('has not ended'),
    });
    expect(await place.run('rm', (child as RunDetail).runId, '-y')).toMatchObject({
      code: 2,
      err: expect.stringContaining(`the tree of run ${rootId}`),
    });
    expect(await place.run('rm', 'ffff', '-y')).toMatchObject({ code: 1 });
    expect(await json<VerifyResult>(place, 'verify')).toMatchObject({ erased: 0, broken: [] });
  });
});

describe('gc', () => {
  it('erases old trees, and --dry-run only lists them', async () => {
    using place = placed();
    const old = await json<Outcome>(place, 'run', 'go');
    const young = await json<Outcome>(place, 'run', 'go');
    age(place, old.runId);
    expect(await place.run('gc')).toMatchObject({ code: 2, err: expect.stringContaining('--older-than 30d') });
    expect(await place.run('gc', '--older-than', 'soon')).toMatchObject({ code: 2 });
    const would = await json<{ trees: string[]; bytes: number }>(place, 'gc', '--older-than', '30d', '--dry-run');
    expect(would).toMatchObject({ dryRun: true, trees: [old.runId] });
    expect(would.bytes).toBeGreaterThan(5_000);
    expect((await json<VerifyResult>(place, 'verify')).erased).toBe(0);
    expect(await json<object>(place, 'gc', '--older-than', '30d')).toMatchObject({
      ...would,
      before: expect.any(String),
      dryRun: false,
      freedBytes: expect.any(Number),
    });
    expect((await place.run('gc', '--older-than', '30d')).out).toBe('erased 0 trees: 0 events, 0 B\n');
    expect(await json<RunDetail>(place, 'show', old.runId)).toMatchObject({ erasedAt: expect.any(String) });
    expect(await json<RunDetail>(place, 'show', young.runId)).not.toHaveProperty('erasedAt');
    // What both pinned is still there for the one that is left.
    expect(await place.run('replay', young.runId)).toMatchObject({ code: 0 });
    expect((await place.run('verify')).code).toBe(0);
  });

  it('reports what the file system got back, and the file is smaller by that much', async () => {
    using place = placed();
    for (let n = 0; n < 3; n++) await place.run('run', 'go');
    const size = () => statSync(join(state(place), 'retinue.db')).size;
    const before = size();
    const { bytes, freedBytes } = await json<{ bytes: number; freedBytes: number }>(place, 'gc', '--older-than', '0s', '--yes');
    expect(freedBytes).toBe(before - size());
    expect(freedBytes).toBeGreaterThan(bytes / 2);
    expect(readdirSync(state(place)).sort()).toEqual(['.gitignore', 'retinue.db']);
  });
});
