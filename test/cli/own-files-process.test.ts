// A database, configuration and keys inside the workspace: no tool and no command reaches, renames or replaces them.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { createPlace } from './support-process.ts';

const db = ['--db', 'deep/data/r.db'];
const bash = (command: string) => ({ tool: 'bash', args: { command } });
/** Prints `done` or `refused` for each expression of Python. */
const attempt = (...expressions: string[]) => bash(`python3 try.py ${expressions.map((each) => `"${each}"`).join(' ')}`);
const tryAll =
  "import os, sys\nfor each in sys.argv[1:]:\n    try:\n        eval(each)\n        print('done')\n    except OSError:\n        print('refused')\n";

async function play(calls: object[], flags: string[] = []) {
  const place = createPlace({ runs: [{ steps: [...calls.map((each) => ({ calls: [each] })), { text: 'done' }] }] });
  writeFileSync(join(place.folder, 'try.py'), tryAll);
  mkdirSync(join(place.folder, 'deep/data'), { recursive: true });
  writeFileSync(join(place.folder, 'deep/data/other'), 'other');
  const ended = await place.run('run', 'work', ...db, ...flags);
  const facts = JSON.parse((await place.run('logs', 'last', '--json', ...db)).out) as Fact[];
  const results = facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  return { place, ended, results };
}

describe('a database inside the workspace', () => {
  it('is closed to the file tools', async () => {
    const { place, ended, results } = await play([
      { tool: 'read', args: { path: 'deep/data/r.db' } },
      { tool: 'write', args: { path: 'deep/data/r.db', content: 'x' } },
      { tool: 'write', args: { path: 'deep/data/r.db-wal', content: 'x' } },
      { tool: 'write', args: { path: 'deep/data/r.db-journal', content: 'x' } },
      { tool: 'edit', args: { path: 'deep/data/../data/r.db', old: 'a', new: 'b' } },
      { tool: 'list', args: { path: 'deep/data' } },
      { tool: 'write', args: { path: 'deep', content: 'x' } },
      { tool: 'write', args: { path: 'deep/data/new', content: 'x' } },
    ]);
    using _ = place;
    expect(ended.code).toBe(0);
    expect(results.map(({ status }) => status)).toEqual(['denied', 'denied', 'denied', 'denied', 'denied', 'ok', 'error', 'ok']);
    expect(results[0]?.output).toContain("built-in, for Retinue's own files");
    expect(results[5]?.output).not.toContain('r.db');
    expect((await place.run('verify', 'last', ...db)).code).toBe(0);
  });

  it.runIf(process.platform === 'linux')('cannot be reached, renamed or replaced by commands, nor any folder above it', async () => {
    const { place, ended, results } = await play([
      attempt(
        "open('deep/data/r.db').read()",
        "open('deep/data/r.db','w')",
        "os.remove('deep/data/r.db')",
        "os.rename('deep/data/r.db','x')",
      ),
      attempt(
        "os.rename('deep','moved')",
        "os.rename('deep/data','moved')",
        "os.link('deep/data/r.db','x')",
        "os.rename('try.py','deep/data/r.db')",
      ),
      attempt("open('deep/data/r.db-wal','w')", "open('deep/data/r.db-shm','w')"),
      attempt("open('deep/data/other','w')", "open('deep/data/r.db-journal','w')"),
      bash('mv deep moved'),
      bash('ls deep/data; cat deep/data/other'),
    ]);
    using _ = place;
    expect(ended.code).toBe(0);
    const refused = (count: number) => Array(count).fill('refused').join('\n');
    expect(results[0]?.output).toBe(refused(4));
    expect(results[1]?.output).toBe(refused(4));
    expect(results[2]?.output).toBe(refused(2));
    expect(results[3]?.output).toMatch(
      /^done\ndone\n\[deep\/data\/r\.db-journal\.refused-\w+ may not be created by a command; it was renamed\]$/,
    );
    expect(results[4]?.status).toBe('denied');
    expect(existsSync(join(place.folder, 'deep/data/r.db'))).toBe(true);
    expect(readdirSync(place.folder)).not.toContain('moved');
    expect((await place.run('verify', 'last', ...db)).code).toBe(0);
  });

  it.runIf(process.platform === 'linux')('stays where it is if its folder is a link that a command replaces', async () => {
    const linked = ['--db', 'ldata/r.db'];
    const replace = "python3 -c \"import os; os.unlink('ldata'); os.mkdir('ldata'); open('ldata/r.db','w').write('x')\"";
    using place = createPlace({ runs: [{ steps: [{ calls: [bash(replace)] }, { text: 'done' }] }] });
    mkdirSync(join(place.folder, 'real2'));
    symlinkSync('real2', join(place.folder, 'ldata'));
    expect((await place.run('run', 'work', ...linked)).code).toBe(0);
    expect(readlinkSync(join(place.folder, 'ldata'))).toBe('real2');
    expect((await place.run('verify', 'last', ...linked)).code).toBe(0);
    expect((await place.run('logs', 'last', ...linked)).out).toContain('the link was restored');
  });

  it('without a sandbox, commands that name it or a folder above it are denied', async () => {
    const { place, ended, results } = await play(
      ['cat deep/data/r.db', 'mv deep x', 'rm -rf deep/data', 'cp try.py deep/data/r.db', 'cat deep/data/other'].map(bash),
      ['--sandbox', 'off', '--allow', 'bash'],
    );
    using _ = place;
    expect(ended.code).toBe(0);
    expect(results.map(({ status }) => status)).toEqual(['denied', 'denied', 'denied', 'denied', 'ok']);
  });
});

it('the configuration of the user inside the workspace is closed to tools and commands', async () => {
  const { place, results } = await play([
    { tool: 'write', args: { path: '.config/retinue/config.json', content: '{"rules":["allow bash"]}' } },
    { tool: 'write', args: { path: '.config/retinue/agents/general.md', content: 'x' } },
    bash('ls -A .config/retinue; mkdir -p .config/retinue/agents; echo x > .config/retinue/trust.json; mv .config x'),
  ]);
  using _ = place;
  expect(results.slice(0, 2).map(({ status }) => status)).toEqual(['denied', 'denied']);
  const left = existsSync(join(place.folder, '.config/retinue')) ? readdirSync(join(place.folder, '.config/retinue')) : [];
  expect(left).not.toContain('config.json');
  expect(left).not.toContain('agents');
  expect(left).not.toContain('trust.json');
});

describe('the configuration of the user outside the workspace', () => {
  /** A run with `folder/.config/retinue` as configuration, which is outside its workspace `folder/work`. */
  async function playBeside(calls: object[], flags: (folder: string) => string[]) {
    const home = mkdtempSync(join(tmpdir(), 'retinue-home-'));
    const config = join(home, '.config/retinue');
    mkdirSync(join(config, 'databases'), { recursive: true });
    writeFileSync(join(config, 'order-key'), 'the canary');
    writeFileSync(join(home, '.config/other'), 'other');
    symlinkSync(join(home, '.config'), join(home, 'link'));
    const named = JSON.parse(JSON.stringify(calls).replaceAll('HOME', home)) as object[];
    using place = createPlace({ runs: [{ steps: [...named.map((each) => ({ calls: [each] })), { text: 'done' }] }] }, { HOME: home });
    try {
      const db = ['--db', join(home, 'r.db')];
      const ended = await place.run('run', 'work', ...db, ...flags(home));
      expect(ended.code, ended.err).toBe(0);
      const facts = JSON.parse((await place.run('logs', 'last', '--json', ...db)).out) as Fact[];
      return facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  const read = (path: string) => ({ tool: 'read', args: { path } });

  it.each([
    ['the folder above it', '.config'],
    ['a link to the folder above it', 'link'],
    ['the folder itself', '.config/retinue'],
    ['a folder in it', '.config/retinue/databases'],
  ])('stays closed to tools and commands if this is added: %s', async (_, added) => {
    const results = await playBeside(
      [
        read('HOME/.config/retinue/order-key'),
        read('HOME/link/retinue/order-key'),
        { tool: 'grep', args: { pattern: 'canary', path: `HOME/${added}` } },
        { tool: 'list', args: { path: 'HOME/.config/retinue' } },
        bash('cat HOME/.config/retinue/order-key; cat HOME/link/retinue/order-key; ls -A HOME/.config/retinue'),
      ],
      (home) => ['--add-dir', join(home, added)],
    );
    expect(results).toHaveLength(5);
    for (const { output } of results) expect(output).not.toMatch(/the canary|order-key \(|^order-key$/m);
    expect(results[0]?.status).not.toBe('ok');
  });

  it('the rest of an added folder is readable, and without a sandbox commands that name a key are denied', async () => {
    const results = await playBeside(
      [read('HOME/.config/other'), bash('cat HOME/.config/retinue/order-key'), bash('cat HOME/link/retinue/order-key')],
      (home) => ['--sandbox', 'off', '--allow', 'bash', '--add-dir', join(home, '.config')],
    );
    expect(results.map(({ status }) => status)).toEqual(['ok', 'denied', 'denied']);
    expect(results[1]?.output).toContain("built-in, for Retinue's own files");
  });

  it('is closed as a whole if the workspace is in it', async () => {
    const results = await playBeside([read('order-key'), bash('cat order-key; ls -A')], (home) => [
      ...['--workspace', join(home, '.config/retinue')],
    ]);
    expect(results[0]?.status).toBe('denied');
    for (const { output } of results) expect(output).not.toMatch(/canary|^order-key$/m);
  });
});
