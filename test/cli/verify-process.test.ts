// `verify` on a database that somebody damaged or changed, with the real program: it names what is wrong and never fails itself.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { genesisHash } from '../../src/kernel/journal.ts';
import { canonical, factHash } from '../../src/text/canonical.ts';
import { createPlace, type Place } from './support-process.ts';

const script = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };

function change(place: Place, apply: string | ((db: DatabaseSync) => void)): void {
  using db = new DatabaseSync(join(place.folder, '.retinue', 'retinue.db'));
  if (typeof apply === 'string') db.exec(apply);
  else apply(db);
}

/** Replaces the data of facts and computes all hashes of the run again, as somebody could who knows how. */
function rewriteFacts(type: string, data: unknown): (db: DatabaseSync) => void {
  return (db) => {
    const run = db.prepare('SELECT n, id FROM runs ORDER BY n LIMIT 1').get() as { n: number; id: string };
    let last = genesisHash;
    for (const row of db.prepare('SELECT * FROM whole_facts WHERE run = ? ORDER BY seq').all(run.n)) {
      const text = row.type === type ? canonical(data) : String(row.data);
      const head = { runId: run.id, seq: Number(row.seq), at: String(row.at), v: Number(row.v), type: row.type as 'run.ended' };
      last = factHash(head, text, last);
      db.prepare('UPDATE facts SET base = NULL, data = ?, hash = ? WHERE position = ?').run(text, last, row.position as number);
    }
    db.prepare("UPDATE runs SET row = json_set(row, '$.lastHash', ?) WHERE n = ?").run(last, run.n);
  };
}

it.each<[string, string | ((db: DatabaseSync) => void), RegExp]>([
  ['a trigger', 'CREATE TRIGGER evil AFTER INSERT ON facts BEGIN DELETE FROM facts; END', /^broken schema: the trigger `evil`/m],
  ['a removed root row', 'DELETE FROM runs WHERE n = 1', /^broken trees: the root run of tree [0-9a-f]{16} is missing$/m],
  ['a removed tree', 'DELETE FROM trees WHERE n = 1', /^broken trees: run [0-9a-f]{16} belongs to a tree that is missing$/m],
  [
    'a tree removed without a trace in other tables',
    'DELETE FROM facts WHERE tree = 1; DELETE FROM runs WHERE tree = 1; DELETE FROM trees WHERE n = 1',
    /^broken trees: 1 trees were removed$/m,
  ],
  ['removed facts at the end', 'DELETE FROM facts WHERE tree = 1 AND seq > 3', /its row says \d+ facts, but there are 3$/m],
  [
    'a run that is not listed as live',
    'UPDATE runs SET live = 1 WHERE n = 1',
    /^broken rows: run [0-9a-f]{16}: its row has another status$/m,
  ],
  ['a run under another parent', "UPDATE runs SET parent = 'x' WHERE n = 1", /its row names another parent$/m],
  ['a row that is not JSON', "UPDATE runs SET row = '{' WHERE n = 1", /its row is not JSON$/m],
  ['a row that is null', "UPDATE runs SET row = 'null' WHERE n = 1", /its row belongs to another run$/m],
  ['a row of nonsense', `UPDATE runs SET row = json_set(row, '$.tokens', 7) WHERE n = 1`, /its row is not that of a run$/m],
  ['a row with another outcome', `UPDATE runs SET row = json_set(row, '$.turns', 7) WHERE n = 1`, /its row does not match its facts$/m],
  ['a fact that is not JSON', "UPDATE facts SET data = '{' WHERE position = 2", /is damaged: it is not JSON/m],
  ['a changed fact', `UPDATE facts SET data = '{"x":1}' WHERE position = 2`, /its content or the hash before it was changed/m],
  ['a fact of an unknown type', "UPDATE facts SET type = 'run.praised' WHERE position = 2", /event 2: /m],
  ['a well-hashed fact of nonsense', rewriteFacts('run.started', null), /event 2: its content is not that of a fact \(run\.started\)$/m],
  [
    'a well-hashed beginning of nonsense',
    rewriteFacts('run.created', { brief: [] }),
    /event 1: its content is not that of a fact \(run\.created\)$/m,
  ],
  [
    'a well-hashed deep fact',
    rewriteFacts('run.started', JSON.parse(`${'['.repeat(900)}${']'.repeat(900)}`)),
    /event 2: its content is not that of a fact/m,
  ],
  ['a text that is missing', 'DELETE FROM blobs', /a text that it points to is missing$/m],
  ['an order of nobody', "INSERT INTO orders (id, root, text) VALUES ('o', 'r', '{}')", /^broken orders: order o is damaged$/m],
  [
    'an index that lies',
    (db) => {
      db.enableDefensive(false);
      db.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '(tree)', '(run)') WHERE name = 'facts_tree'`);
    },
    /^broken /m,
  ],
])('verify reports %s', async (_, damage, said) => {
  using place = createPlace(script);
  await place.run('run', 'go');
  await place.run('run', 'go again');
  expect(await place.run('verify')).toMatchObject({ code: 0, out: expect.stringMatching(/^intact /) });
  change(place, damage);
  const { code, out, err } = await place.run('verify');
  expect([code, out]).toEqual([1, expect.stringMatching(said)]);
  expect(out + err).not.toMatch(/ {4}at |bug in Retinue/);
  const { code: jsonCode, out: json } = await place.run('verify', '--json');
  const { broken, faults } = JSON.parse(json) as { broken: object[]; faults: object[] };
  expect([jsonCode, broken.length + faults.length > 0]).toEqual([1, true]);
});
