// A rule about a path counts however the path is written. Real processes, real files and the real sandbox.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { createPlace, type Place } from './support-process.ts';

const canary = 'the canary';

function createWorkspace(calls: object[] = []): Place {
  const place = createPlace({ runs: [{ steps: [{ calls }, { text: 'done' }] }] });
  mkdirSync(join(place.folder, 'secrets/deep'), { recursive: true });
  writeFileSync(join(place.folder, 'secrets/deep/key'), canary);
  writeFileSync(join(place.folder, '.env'), canary);
  writeFileSync(join(place.folder, 'open.txt'), 'open');
  symlinkSync('secrets', join(place.folder, 'link'));
  return place;
}

async function readResults(place: Place, ...flags: string[]) {
  const ended = await place.run('run', 'work', ...flags);
  expect(ended.code, ended.err).toBe(0);
  const facts = JSON.parse((await place.run('logs', 'last', '--json')).out) as Fact[];
  const results = facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : [])).toSorted((a, b) => a.index - b.index);
  return { results, err: ended.err };
}

describe('a rule that denies a path', () => {
  it.each([
    'secrets/',
    './secrets/*',
    './/secrets//deep/',
    'src/../secrets',
    'WORKSPACE/secrets/*',
    'WORKSPACE/secrets/',
    '/*/deep/key',
    '/**/deep/key',
    'link/deep/key',
    'WORKSPACE/link/*',
    '~/secrets',
    '../NAME/secrets',
  ])('read:%s closes the files to tools and commands', async (written) => {
    const read = (path: string) => ({ tool: 'read', args: { path } });
    using place = createWorkspace([
      read('secrets/deep/key'),
      read('link/deep/key'),
      { tool: 'grep', args: { pattern: 'canary', path: 'secrets' } },
      { tool: 'bash', args: { command: 'cat secrets/deep/key link/deep/key; cat open.txt' } },
      read('open.txt'),
    ]);
    const rule = written.replace('WORKSPACE', place.folder).replace('NAME', place.folder.split('/').at(-1) as string);
    const { results } = await readResults(place, '--deny', `read:${rule}`);
    expect(results.slice(0, 2).map(({ status }) => status)).toEqual(['denied', 'denied']);
    for (const { output } of results) expect(output).not.toContain(canary);
    expect(results[3]?.output).toContain('open');
    expect(results[4]?.status).toBe('ok');
  });

  it.each(['./.env', 'WORKSPACE/.env', '.env/'])('read:%s closes the file, also without a sandbox', async (written) => {
    using place = createWorkspace([
      { tool: 'read', args: { path: '.env' } },
      { tool: 'bash', args: { command: 'cat .env' } },
    ]);
    const rule = written.replace('WORKSPACE', place.folder);
    const { results } = await readResults(place, '--sandbox', 'off', '--allow', 'bash', '--deny', `read:${rule}`);
    expect(results.map(({ status }) => status)).toEqual(['denied', 'denied']);
  });

  it('in the workspace as a whole, closes everything', async () => {
    using place = createWorkspace([{ tool: 'read', args: { path: 'open.txt' } }]);
    for (const rule of ['read:.', 'read:./', `read:${place.folder}`])
      expect((await place.run('policy', 'test', 'read:open.txt', '--deny', rule)).code, rule).toBe(1);
  });

  it('in an agent file closes the files too', async () => {
    using place = createWorkspace();
    mkdirSync(join(place.folder, '.config/retinue/agents'), { recursive: true });
    const file = `---\nname: careful\ndescription: Reads.\ntools: read\nrules: ["deny read:${place.folder}/secrets/"]\n---\nRead.\n`;
    writeFileSync(join(place.folder, '.config/retinue/agents/careful.md'), file);
    const test = (path: string) => place.run('policy', 'test', `read:${path}`, '--agent', 'careful');
    expect([(await test('secrets/deep/key')).code, (await test('open.txt')).code]).toEqual([1, 0]);
  });

  it('through a link to an added folder closes its real path', async () => {
    const other = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-other-')));
    try {
      writeFileSync(join(other, 'secret.txt'), canary);
      using place = createWorkspace([
        { tool: 'read', args: { path: join(other, 'secret.txt') } },
        { tool: 'bash', args: { command: `cat ${join(other, 'secret.txt')}` } },
      ]);
      symlinkSync(other, join(place.folder, 'added'));
      const added = join(place.folder, 'added');
      const { results } = await readResults(place, '--add-dir', added, '--deny', `read:${added}/secret.txt`);
      expect(results[0]?.status).toBe('denied');
      expect(results[1]?.output).not.toContain(canary);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('with a leading slash that names nothing says how to write it', async () => {
    using place = createWorkspace();
    const { err } = await place.run('run', 'work', '--deny', 'read:/secrets');
    expect(err).toContain('`deny read:/secrets` is about /secrets outside the workspace');
    expect(err).toContain('write `deny read:secrets`');
    expect((await place.run('run', 'work', '--deny', 'read:/etc/passwd')).err).not.toContain('outside the workspace');
  });
});

describe('a rule that allows a path', () => {
  it.each(['./docs/*', 'docs/', 'WORKSPACE/docs/*', '~/docs/*'])('write:%s opens it and nothing else', async (written) => {
    using place = createWorkspace();
    const rules = ['--deny', 'write', '--allow', `write:${written.replace('WORKSPACE', place.folder)}`];
    expect((await place.run('policy', 'test', 'write:docs/a.md', ...rules)).code).toBe(0);
    expect((await place.run('policy', 'test', 'write:other/a.md', ...rules)).code).toBe(1);
  });

  it('by a link opens nothing behind the link', async () => {
    using place = createWorkspace();
    expect((await place.run('policy', 'test', 'write:secrets/a', '--deny', 'write', '--allow', 'write:link/*')).code).toBe(1);
  });
});
