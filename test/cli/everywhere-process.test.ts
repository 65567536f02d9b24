// `retinue ps --everywhere` with real processes: two workspaces of one user, each with its own database.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-home-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const done = { runs: [{ steps: [{ text: 'done' }] }] };
const asking = { runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'a.txt', content: 'x' } }] }, { text: 'done' }] }] };
const listFile = () => join(home, '.config', 'retinue', 'workspaces.json');
type Row = { label: string; workspace: string; status: string };

it('lists the runs of all workspaces of the user, with the calls that wait for approval', async () => {
  using a = createPlace(done, { HOME: home });
  using b = createPlace(asking, { HOME: home });
  expect((await a.run('run', '--label', 'first', 'task')).code).toBe(0);
  writeFileSync(join(b.folder, 'ask.json'), JSON.stringify({ rules: ['ask write'] }));
  const live = b.start('run', '--ask', '10m', '--label', 'second', '--config', 'ask.json', 'task');
  await b.facts((facts) => facts.some(({ type }) => type === 'approval.asked'));
  const [atA, atB] = [realpathSync(a.folder), realpathSync(b.folder)];

  const everywhere = await a.run('ps', '--everywhere');
  expect([everywhere.code, everywhere.out]).toEqual([0, expect.stringMatching(/second/)]);
  expect(everywhere.out).toContain(`${atB}\nRUN`);
  expect(everywhere.out).not.toContain('first');
  expect(everywhere.err).toBe(`retinue: 1 call waits for approval; see \`retinue approve -C ${atB}\`\n`);

  const rows = JSON.parse((await a.run('ps', '--everywhere', '--all', '--json')).out) as Row[];
  expect(rows.map(({ label, workspace, status }) => [label, workspace, status]).sort()).toEqual([
    ['first', atA, 'completed'],
    ['second', atB, 'waiting'],
  ]);
  live.process.kill('SIGINT');
  await live.finished;
  expect((await a.run('ps', '--everywhere')).err).toMatch(/no live runs in 2 workspaces/);
});

it('reports a database that it cannot read, and lists the others', async () => {
  using a = createPlace(done, { HOME: home });
  using b = createPlace(done, { HOME: home });
  await a.run('run', '--label', 'first', 'task');
  await b.run('run', '--label', 'second', 'task');
  writeFileSync(join(a.folder, '.retinue', 'retinue.db'), 'not a database, but long enough to be read as one'.repeat(200));
  const { code, out, err } = await b.run('ps', '--everywhere', '--all', '--json');
  expect([code, (JSON.parse(out) as Row[]).map(({ label }) => label)]).toEqual([0, ['second']]);
  expect(err).toMatch(/^retinue: \S+ cannot be read: .*\n$/);
});

it('does not open a database of another origin that the list names', async () => {
  using a = createPlace(done, { HOME: home });
  using foreign = createPlace(done);
  await a.run('run', '--label', 'first', 'task');
  await foreign.run('run', '--label', 'foreign', 'task');
  const db = realpathSync(join(foreign.folder, '.retinue', 'retinue.db'));
  const known = JSON.parse(readFileSync(listFile(), 'utf8'));
  known.databases.push({ db, workspace: foreign.folder, usedAt: new Date().toISOString() });
  writeFileSync(listFile(), JSON.stringify(known));
  const { code, out, err } = await a.run('ps', '--everywhere', '--all');
  expect([code, err]).toEqual([0, expect.stringMatching(/was not created by you on this machine/)]);
  expect(out).toContain('first');
  expect(out).not.toContain('foreign');
});

it('does not list a database that was named in a temporary folder, and rejects flags that name one workspace', async () => {
  using a = createPlace(done, { HOME: home });
  mkdirSync(join(a.folder, 'data'));
  expect((await a.run('run', '--db', 'data/x.db', 'task')).code).toBe(0);
  const { code, err } = await a.run('ps', '--everywhere', '--all');
  expect([code, err]).toEqual([0, 'no workspaces yet; a workspace is known after its first run\n']);
  for (const flags of [['--db', 'x.db'], ['-C', '.'], ['last']]) {
    const refused = await a.run('ps', '--everywhere', ...flags);
    expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/--everywhere/)]);
  }
});
