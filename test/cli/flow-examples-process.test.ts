// The examples of flows: the commands of their headers and of the docs, and what they say when agents fail.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace, type Place } from './support-process.ts';

const root = resolve(import.meta.dirname, '../..');
const examples = join(root, 'examples/flows');
const offline = /^(?:\/\/ +)?retinue (flow run (examples\/flows\/\w+\.ts) -C .+)$/gm;
const commands = [...readFileSync(join(root, 'docs/flows.md'), 'utf8').matchAll(offline)].map(
  ([, args, file]) => [file, args] as [string, string],
);

const submit = (args: object) => [{ calls: [{ tool: 'submit_result', args }] }];
const fails = [{ error: { message: 'no such model', status: 404 } }];
const bug = { file: 'a.js', line: 1, severity: 'high', problem: 'off by one' };

async function run(place: Place, example: string, input: object | null, ...flags: string[]) {
  const { out, err } = await place.run('flow', 'run', join(examples, example), '--input', JSON.stringify(input), '--json', ...flags);
  const outcome = JSON.parse(out || '{}');
  return { status: outcome.status, data: outcome.data, message: outcome.error?.message, err };
}

describe('offline', () => {
  const results: Record<string, object> = {
    'examples/flows/review.ts': { confirmed: [{ file: 'prices.js', line: 4 }], dismissed: 1, unverified: [], failed: [] },
    'examples/flows/research.ts': { answer: '8080', votes: 3, of: 5, sources: ['server.js'] },
    'examples/flows/migrate.ts': { merged: ['prices.js', 'text.js'], unchanged: ['server.js'], failed: [], conflicts: [] },
  };

  it('docs/flows.md has a command for each example', () => {
    expect(commands.map(([file]) => file).sort()).toEqual(Object.keys(results).sort());
  });

  it.each(commands)(
    '%s runs with the command of its header',
    async (file, args) => {
      using place = createPlace({}, { RETINUE_MODEL: '' });
      const shop = join(place.folder, 'examples/flows/shop');
      mkdirSync(join(place.folder, 'examples'));
      cpSync(examples, join(place.folder, 'examples/flows'), { recursive: true, filter: (path) => !path.endsWith('.retinue') });
      expect([...readFileSync(join(root, file), 'utf8').matchAll(offline)].map((match) => match[1])).toEqual([args]);
      const before = readFileSync(join(shop, 'prices.js'), 'utf8');
      const { code, out, err } = await place.run(...args.split(' '));
      expect(code, err).toBe(0);
      expect(JSON.parse(out)).toMatchObject(results[file] as object);
      if (!file.endsWith('migrate.ts')) return;
      expect(readFileSync(join(shop, 'prices.js'), 'utf8')).toContain('export const total');
      expect(await place.run('undo', 'last', '-C', 'examples/flows/shop')).toMatchObject({ code: 0 });
      expect(readFileSync(join(shop, 'prices.js'), 'utf8')).toBe(before);
    },
    60_000,
  );
});

describe('review', () => {
  it('reviews what git says has changed in the workspace, from wherever it is started', async () => {
    const script = {
      runs: [
        { when: { label: 'correctness' }, steps: submit({ findings: [bug, { ...bug, line: 2 }] }) },
        { when: { label: 'verify a.js:1' }, steps: submit({ confirmed: true, reason: 'it is' }) },
        { when: { label: 'verify a.js:2' }, steps: submit({ confirmed: false, reason: 'it is not' }) },
        { times: 3, steps: submit({ findings: [] }) },
      ],
    };
    using place = createPlace(script);
    const folder = join(place.folder, 'code');
    mkdirSync(folder);
    writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
    writeFileSync(join(folder, 'a.js'), 'let a = 1;\n');
    const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd: folder });
    git('init', '-q');
    git('add', 'a.js');
    git('commit', '-qm', 'first');
    writeFileSync(join(folder, 'a.js'), 'let a = 2;\n');
    writeFileSync(join(folder, 'new file.js'), 'let b = 3;\n');
    const { data, err } = await run(place, 'review.ts', null, '-C', 'code');
    expect(data, err).toEqual({ confirmed: [bug], dismissed: 1, unverified: [], failed: [] });
    const log = JSON.parse((await place.run('logs', 'last', '--json', '-C', 'code')).out) as StoredFact[];
    const diff = JSON.stringify(log.find(({ type }) => type === 'step.finished'));
    for (const change of ['+let a = 2;', '+++ b/new file.js', '+let b = 3;']) expect(diff).toContain(change);
  }, 60_000);

  it('reports angles and verifiers that failed, and fails if nothing was reviewed or there is no diff to read', async () => {
    using place = createPlace({
      runs: [
        { when: { label: 'correctness' }, times: 'any', steps: submit({ findings: [bug] }) },
        { when: { label: 'security' }, times: 'any', steps: fails },
        { when: { label: 'verify a.js:1' }, times: 'any', steps: fails },
        { times: 'any', steps: submit({ findings: [] }) },
      ],
    });
    writeFileSync(join(place.folder, 'none.json'), JSON.stringify({ runs: [{ times: 'any', steps: fails }] }));
    const { data, err } = await run(place, 'review.ts', { diff: '+a' });
    const failed = [expect.stringMatching(/^security: .*no such model/)];
    expect(data, err).toEqual({ confirmed: [], dismissed: 0, unverified: [bug], failed });
    expect(await run(place, 'review.ts', { diff: '+a' }, '--model', 'script/none.json')).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/nothing was reviewed: correctness: .*no such model/),
    });
    expect(await run(place, 'review.ts', {})).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/^Error: git diff .*HEAD failed in \S+: [^\n]+$/),
    });
  }, 60_000);
});

describe('migrate', () => {
  it('merges what was changed, and reports files that failed or did not change', async () => {
    using place = createPlace({
      runs: [
        ...['a.txt', 'b.txt'].map((label) => ({
          when: { label },
          steps: [{ calls: [{ tool: 'write', args: { path: label, content: `new ${label}\n` } }] }, { text: 'done' }],
        })),
        { when: { label: 'c.txt' }, steps: [{ text: 'done' }] },
        { when: { label: 'd.txt' }, times: 'any', steps: fails },
      ],
    });
    const files = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
    for (const name of files) writeFileSync(join(place.folder, name), 'old\n');
    const { data, err } = await run(place, 'migrate.ts', { files, change: 'make it new' });
    expect(data, err).toEqual({ merged: ['a.txt', 'b.txt'], unchanged: ['c.txt'], failed: ['d.txt'], conflicts: [] });
    expect(readFileSync(join(place.folder, 'b.txt'), 'utf8')).toBe('new b.txt\n');
    const rows: { rootId: string }[] = JSON.parse((await place.run('ps', '--all', '--json')).out);
    expect(new Set(rows.map(({ rootId }) => rootId)).size).toBe(1);
    writeFileSync(join(place.folder, 'none.json'), JSON.stringify({ runs: [{ times: 'any', steps: fails }] }));
    expect(await run(place, 'migrate.ts', { files: ['d.txt'], change: 'x' }, '--model', 'script/none.json')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('no file could be changed: '),
    });
  }, 60_000);
});

describe('research', () => {
  it('decides by a quorum, and fails if too few agents answer', async () => {
    using place = createPlace({
      runs: [
        { when: { label: 'researcher 1' }, times: 'any', steps: [{ hang: 'start' }] },
        { when: { label: 'researcher 2' }, times: 'any', steps: submit({ answer: '81', sources: [] }) },
        { times: 'any', steps: submit({ answer: '80.', sources: ['server.ts'] }) },
      ],
    });
    const question = 'Which port?';
    const { data, err } = await run(place, 'research.ts', { question });
    expect(data, err).toEqual({ answer: '80.', votes: 3, of: 5, sources: ['server.ts'] });
    expect(await run(place, 'research.ts', { question, agents: 2, quorum: 3 })).toMatchObject({
      message: expect.stringContaining('3 of 2 agents cannot agree'),
    });
    const first = { when: { label: 'researcher 1' }, steps: submit({ answer: '80', sources: [] }) };
    writeFileSync(join(place.folder, 'none.json'), JSON.stringify({ runs: [first, { times: 'any', steps: fails }] }));
    expect(await run(place, 'research.ts', { question }, '--model', 'script/none.json')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('only 1 of 5 agents answered, and 3 have to agree'),
    });
  }, 60_000);
});
