// Commands about the ground: agents, trust, memory, doctor.
import { describe, expect, it } from 'vitest';
import type { Check } from '../../src/cli/io.ts';
import type { Explanation } from '../../src/config/explanation.ts';
import type { ConfiguredAgents, TrustItem } from '../../src/config/settings.ts';
import { RetinueError } from '../../src/contract/error.ts';
import type { Memories, Memory } from '../../src/ports/notes.ts';
import { at, call, limits, playing, run } from './support.ts';

const explore = { name: 'explore', description: 'reads\nmuch', prompt: 'p', tools: ['read'], source: 'built-in' };
const found = (more: Partial<ConfiguredAgents> = {}) => ({
  agents: () => ({ list: [explore], refused: [], warnings: [], trust: [], untrusted: [], ...more }),
});
const refused = [{ name: 'bad', source: 'bad.md', problems: ['bad.md:4: `hooks` is refused'] }];
const warnings = [{ source: 'built-in', message: 'odd' }];

describe('agents', () => {
  it('lists them without a database', async () => {
    const { code, stdout, io } = await run(['agents'], { settings: found() });
    expect(stdout).toMatch(/AGENT +TOOLS +DEFINED IN +FOR\nexplore +read +built-in +reads much\n/);
    expect([code, call(io, 'open')]).toEqual([0, undefined]);
    expect(JSON.parse((await run(['agents', '--json'], { settings: found() })).stdout)).toEqual([explore]);
  });

  it('says what has no effect, and ends with 2 where a file is refused', async () => {
    const { code, stdout, stderr } = await run(['agents', '--json'], { settings: found({ refused, warnings }) });
    expect(stderr).toBe('retinue: the agent bad is left out: bad.md:4: `hooks` is refused\nretinue: built-in: odd\n');
    expect([code, JSON.parse(stdout)]).toEqual([2, [explore]]);
  });

  it.each([['run', 'x'], ['message', 'last', 'x'], ['agents']])('%s … ends with 2 where a file of ours is refused', async (...argv) => {
    const agents = () => {
      throw new RetinueError('invalid_config', 'a.md:4: no');
    };
    const { code, stderr, io } = await run(argv, { settings: { agents } });
    expect([code, stderr, call(io, 'open')]).toEqual([2, 'retinue: a.md:4: no\n', undefined]);
    expect((await run(['ps'], { settings: { agents } })).code).toBe(0);
  });
});

describe('run with agents of files', () => {
  it('says what is left out, and warns about the chosen one only', async () => {
    const trust: TrustItem[] = [
      { path: '/w/a.md', hash: 'h', state: 'changed', gives: [{ what: 'limits.maxTurns = 99', why: '40 holds' }] },
    ];
    const play = { api: playing([]), settings: found({ refused, warnings: [...warnings, { source: 'x.md', message: 'no' }], trust }) };
    expect((await run(['run', 'x', '--agent', 'explore'], play)).stderr.split('\n').slice(0, 4)).toEqual([
      'retinue: the agent bad is left out: bad.md:4: `hooks` is refused',
      'retinue: not trusted: /w/a.md has changed since it was trusted; `retinue trust` shows what it asks for',
      'retinue: not trusted: `limits.maxTurns = 99` of /w/a.md is left out (40 holds)',
      'retinue: built-in: odd',
    ]);
  });

  it('ends with 2 where the chosen one is refused', async () => {
    const { code, stderr, io } = await run(['run', 'x', '--agent', 'bad'], { settings: found({ refused }) });
    expect([code, stderr, call(io, 'open')]).toEqual([2, 'retinue: bad.md:4: `hooks` is refused\n', undefined]);
  });
});

describe('agents explain', () => {
  const explanation: Explanation = {
    name: 'rev',
    description: 'Reviews \x1b[2Jcode.',
    source: '.claude/agents/rev.md',
    model: { value: ['a/b', 'c/d'], from: '.claude/agents/rev.md' },
    tools: {
      offered: [{ tool: 'read', action: 'allow', rule: 'allow read', owner: 'built-in' }],
      leftOut: [
        { tool: 'bash', action: 'deny', rule: 'deny bash', owner: '/w/retinue.config.json' },
        { tool: 'delegate', action: 'deny', rule: null, owner: 'limits.maxDepth' },
      ],
    },
    limits: limits as Explanation['limits'],
    rulesets: [
      { kind: 'owner', owner: 'built-in', rules: [{ rule: 'allow read', from: 'built-in' }] },
      { kind: 'narrowing', owner: 'agent rev', rules: [{ rule: 'deny bash', from: 'agent rev' }] },
    ],
    workspaceRules: true,
    warnings: ['`skills` has no effect'],
    prompt: 'You review.\nWell.',
  };
  const play = { io: { explain: async () => explanation } };

  it('shows everything with where it comes from', async () => {
    const { code, stdout } = await run(['agents', 'explain', 'rev'], play);
    expect(code).toBe(0);
    for (const part of [
      /^rev {2}Reviews code\.\ndefined in {2}\.claude\/agents\/rev\.md\nmodel {7}a\/b, c\/d {2}\.claude/,
      /^Tools, as a root run gets them\n {2}read {2}allow {2}allow read \(built-in\)$/m,
      /^Left out\n {2}bash {6}deny {2}deny bash \(\/w\/retinue\.config\.json\)\n {2}delegate {2}deny {2}limits\.maxDepth$/m,
      /^ {2}maxTurns +40 +default$/m,
      /^Rules of the owner: one list, the last match counts\n {2}allow read {2}built-in$/m,
      /^Can only narrow that: agent rev\n {2}deny bash$/m,
      /^Warnings\n {2}`skills` has no effect$/m,
      /^Prompt\n {2}You review\.\n {2}Well\.$/m,
    ])
      expect(stdout).toMatch(part);
    expect(stdout).not.toContain('\x1b');
  });

  it('--json has its keys in a fixed order', async () => {
    const { stdout } = await run(['agents', 'explain', 'rev', '--json'], play);
    expect(JSON.parse(stdout)).toEqual(explanation);
    expect(Object.keys(JSON.parse(stdout)).join(' ')).toBe(
      'name description source model tools limits rulesets workspaceRules warnings prompt',
    );
  });

  it('of an unknown agent is exit code 2', async () => {
    const explain = async () => Promise.reject(new RetinueError('unknown_agent', 'unknown agent `x`'));
    expect(await run(['agents', 'explain', 'x'], { io: { explain } })).toMatchObject({ code: 2, stderr: 'retinue: unknown agent `x`\n' });
  });
});

describe('trust', () => {
  const item = (state: TrustItem['state'] = 'untrusted'): TrustItem => ({
    path: '/w/retinue.config.json',
    hash: 'h1',
    state,
    gives: [{ what: 'rule allow bash', why: 'it can only narrow' }],
  });
  const agent = (): TrustItem => ({
    path: '/w/.claude/agents/explore.md',
    hash: 'h2',
    state: 'changed',
    gives: [{ what: 'replaces', why: 'x' }],
  });
  const book = (added: unknown[] = []) => ({
    list: async () => [],
    revoke: async () => [],
    add: async (items: unknown) => void added.push(items),
  });
  const play = (answer: string | null, added: unknown[] = []) => ({
    settings: { trust: [item()], ...found({ trust: [agent()] }) },
    io: { ask: async () => answer, trust: book(added) },
  });

  it.each(['y', 'Y', ' yes '])('shows, asks, and remembers what was shown (%s)', async (answer) => {
    const added: unknown[] = [];
    const { code, stdout } = await run(['trust'], play(answer, added));
    expect(stdout).toBe(
      [
        'What counts only if /w is trusted:\n\n/w/retinue.config.json\n  rule allow bash  now: it can only narrow\n',
        '\n/w/.claude/agents/explore.md (has changed since it was trusted)\n  replaces  now: x\n\n',
      ].join(''),
    );
    expect([code, added]).toEqual([0, [[expect.objectContaining({ hash: 'h1' }), expect.objectContaining({ hash: 'h2' })]]]);
  });

  it.each(['', 'n', 'yesterday'])('takes %j for a no', async (answer) => {
    const added: unknown[] = [];
    const { code, stderr } = await run(['trust'], play(answer, added));
    expect([code, added, stderr]).toEqual([1, [], 'retinue: nothing was changed\n']);
  });

  it('asks nobody where nobody is, unless --yes', async () => {
    const added: unknown[] = [];
    expect(await run(['trust'], play(null, added))).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
    expect(added).toEqual([]);
    expect((await run(['trust', '--yes'], play(null, added))).code).toBe(0);
    expect(added).toHaveLength(1);
  });

  it('--json is one value, and the preview goes to standard error', async () => {
    const { stdout, stderr } = await run(['trust', '--yes', '--json'], play(null));
    expect(JSON.parse(stdout)).toEqual({
      workspace: '/w',
      trusted: true,
      files: [
        { path: '/w/retinue.config.json', state: 'trusted', gives: item().gives },
        { path: '/w/.claude/agents/explore.md', state: 'trusted', gives: agent().gives },
      ],
    });
    expect(stderr).toContain('What counts only if /w is trusted');
  });

  it('has nothing to do where nothing asks, or all is trusted', async () => {
    expect(await run(['trust'])).toMatchObject({ code: 0, stdout: '', stderr: 'retinue: /w: nothing in it asks for trust\n' });
    expect(await run(['trust'], { settings: { trust: [item('trusted')] } })).toMatchObject({
      code: 0,
      stderr: 'retinue: /w: it is trusted already\n',
    });
  });

  it('--list and --revoke', async () => {
    const files = [{ path: '/w/retinue.config.json', at: at(0), state: 'changed' as const }];
    const trust = { ...book(), list: async () => files, revoke: async () => ['/w/retinue.config.json'] };
    expect((await run(['trust', '--list'], { io: { trust } })).stdout).toMatch(
      /FILE +STATE +SINCE\n\/w\/retinue\.config\.json +changed +2026/,
    );
    expect(JSON.parse((await run(['trust', '--list', '--json'], { io: { trust } })).stdout)).toEqual(files);
    expect((await run(['trust', '--revoke'], { io: { trust } })).stdout).toBe('not trusted any more: /w/retinue.config.json\n');
    expect(JSON.parse((await run(['trust', '--revoke', '--json'])).stdout)).toEqual({ workspace: '/w', revoked: [] });
  });
});

describe('memory', () => {
  function kept(...memories: Memory[]): { store: Memories & { close(): Promise<void> }; closed: () => number } {
    let closed = 0;
    const store = {
      put: async (_: string, memory: Memory) => void memories.unshift(memory),
      list: async (_: string, words?: string) => memories.filter(({ text }) => words === undefined || text.includes(words)),
      remove: async (_: string, title: string) => memories.some((memory) => memory.title === title),
      close: async () => void closed++,
    };
    return { store, closed: () => closed };
  }
  const one = { title: 'db', text: 'start it\nwith \x1b[2Jmake', at: at(0) };

  it('adds, with more from standard input', async () => {
    const { store, closed } = kept();
    const play = { io: { memories: async () => store, readStdin: async () => 'and stop it\n' } };
    expect(await run(['memory', 'add', ' test db ', 'make', 'db', '-'], play)).toMatchObject({ code: 0, stdout: 'remembered test db\n' });
    expect(await store.list('/w')).toEqual([{ title: 'test db', text: 'make db\n\nand stop it', at: at(0) }]);
    expect(closed()).toBe(1);
    expect(JSON.parse((await run(['memory', 'add', 't', 'x', '--json'], play)).stdout)).toEqual({ title: 't', text: 'x', at: at(0) });
    expect(await run(['memory', 'add', 't', 'x'.repeat(70_000)], play)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('65536 bytes'),
    });
  });

  it('lists', async () => {
    const io = { memories: async () => kept(one).store };
    expect((await run(['memory', 'list'], { io })).stdout).toBe('db  2026-01-02 03:04\n  start it\n  with make\n');
    expect(JSON.parse((await run(['memory', 'list', '--json'], { io })).stdout)).toEqual([one]);
    expect(await run(['memory', 'list', 'no', 'such'], { io })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no memory has all these words\n',
    });
    expect(JSON.parse((await run(['memory', 'list', 'such', '--json'], { io })).stdout)).toEqual([]);
  });

  it('ends with 2 where the database does not open', async () => {
    const memories = async () => Promise.reject(new RetinueError('store_corrupt', 'it is damaged'));
    expect(await run(['memory', 'list'], { io: { memories } })).toMatchObject({ code: 2, stderr: 'retinue: it is damaged\n' });
  });

  it('removes, and says where there is nothing', async () => {
    const { store, closed } = kept(one);
    const io = { memories: async () => store };
    expect(await run(['memory', 'rm', 'db'], { io })).toMatchObject({ code: 0, stdout: 'forgot db\n' });
    expect(await run(['memory', 'rm', 'other', 'one', '--json'], { io })).toMatchObject({
      code: 1,
      stdout: '{"title":"other one","removed":false}\n',
      stderr: expect.stringContaining('no memory has the title `other one`'),
    });
    expect(closed()).toBe(2);
  });
});

describe('doctor', () => {
  const checks: Check[] = [
    { name: 'node', state: 'ok', found: '24', advice: null },
    { name: 'configuration', state: 'warning', found: 'one\ntwo\x1b[2J', advice: 'do this' },
  ];

  it('is a line each, with what to do', async () => {
    const { code, stdout } = await run(['doctor'], { io: { doctor: async () => checks } });
    expect(stdout).toBe('✓ node           24\n! configuration  one\n                 two\n                 → do this\n');
    expect(code).toBe(0);
  });

  it('ends with 1 where something needed is broken', async () => {
    const broken: Check = { name: 'database', state: 'broken', found: 'no', advice: 'move it' };
    const { code, stdout } = await run(['doctor', '--json'], { io: { doctor: async () => [...checks, broken] } });
    expect([code, JSON.parse(stdout)]).toEqual([1, [...checks, broken]]);
  });
});
