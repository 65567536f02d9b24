// `replay` and `verify` on a real database, as it is and after somebody has changed it.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { ReplayResult } from '../../src/records/replay.ts';
import type { VerifyResult } from '../../src/records/verify.ts';
import { createPlace, type Place } from './support-process.ts';

const tasks = [{ task: 'look', agent: 'explore' }];
const script = {
  runs: [
    { when: { agent: 'general' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all done' }] },
    { when: { agent: 'explore' }, steps: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'seen' }] },
  ],
};

function change(place: Place, sql: string): void {
  const db = new DatabaseSync(join(place.folder, '.retinue', 'retinue.db'));
  expect(db.prepare(sql).run().changes).toBe(1);
  db.close();
}

describe('proofs', () => {
  it('a tree replays to the same requests and outcomes, with no outside call', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    const { code, out } = await place.run('replay', 'last', '--json');
    expect(code).toBe(0);
    expect((JSON.parse(out) as ReplayResult[]).map(({ requests, difference }) => [requests, difference])).toEqual([
      [2, null],
      [2, null],
    ]);
    expect((await place.run('replay', 'last')).out).toMatch(/0 outside calls · identical/);
  });

  it('a changed answer is found by verify, which names the fact, and by replay, which shows both sides', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    expect(await place.run('verify')).toMatchObject({ code: 0, out: expect.stringMatching(/^intact \d+ events of 2 runs in 1 tree$/m) });
    change(place, `UPDATE facts SET data = replace(data, 'seen', 'sewn') WHERE type = 'model.answered' AND data LIKE '%seen%'`);
    const { code, out } = await place.run('verify', '--json');
    const { broken } = JSON.parse(out) as VerifyResult;
    expect(code).toBe(1);
    expect(broken).toMatchObject([{ what: expect.stringContaining('was changed (model.answered)') }]);
    const replayed = await place.run('replay', 'last');
    expect(replayed.code).toBe(1);
    expect(replayed.out).toMatch(/differs at event \d+ \(run\.ended\): the outcome\n {2}recorded: .*seen.*\n {2}replayed: .*sewn/);
  });

  it('a missing fact is found', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    change(place, `DELETE FROM facts WHERE type = 'child.created'`);
    const { code, out } = await place.run('verify');
    expect([code, out]).toEqual([1, expect.stringMatching(/broken [0-9a-f]{16} event \d+: fact \d+ is missing/)]);
  });

  it('a changed prompt and a changed row are found', async () => {
    using place = createPlace(script);
    await place.run('run', 'go');
    const db = new DatabaseSync(join(place.folder, '.retinue', 'retinue.db'));
    db.exec(`UPDATE blobs SET text = text || ' '`);
    expect(await place.run('verify')).toMatchObject({ code: 1, out: expect.stringContaining('a text that it points to was changed') });
    expect(await place.run('replay', 'last')).toMatchObject({ code: 1, err: expect.stringContaining('was changed') });
    db.exec(`UPDATE blobs SET text = substr(text, 1, length(text) - 1)`);
    expect((await place.run('verify')).code).toBe(0);
    db.exec(`UPDATE runs SET row = replace(row, '"completed"', '"failed"')`);
    db.close();
    expect(await place.run('verify')).toMatchObject({ code: 1, out: expect.stringContaining('its row does not match') });
  });
});
