// Files of other programs in real folders: which definition is used, what trust changes, and what hostile files can do.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explainConfiguredAgent } from '../../src/config/explain.ts';
import { addTrust } from '../../src/config/trust.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const recipe = (name: string, more = '') => `title: ${name}\ndescription: Does ${name}.\ninstructions: You are ${name}.\n${more}`;
const codex = (name: string, more = '') =>
  `name = "${name}"\ndescription = "Does it."\ndeveloper_instructions = "You are ${name}."\n${more}`;

/** A definition of `name` in each format, in the order in which they win. */
const inOrder: [path: string, text: (name: string) => string][] = [
  ['.retinue/agents/x.md', agentText],
  ['.claude/agents/x.md', agentText],
  ['.opencode/agent/x.md', agentText],
  ['opencode.json', (name) => JSON.stringify({ agent: { [name]: { description: 'd', prompt: 'p' } } })],
  ['.gemini/agents/x.md', agentText],
  ['.codex/agents/x.toml', codex],
  ['.github/agents/x.agent.md', agentText],
  ['.goose/recipes/x.yaml', recipe],
];
const userPaths = [
  'own/agents/x.md',
  'home/.claude/agents/x.md',
  'xdg/opencode/agents/x.md',
  'xdg/opencode/opencode.json',
  'home/.gemini/agents/x.md',
  'home/.codex/agents/x.toml',
  'home/.copilot/agents/x.agent.md',
  'xdg/goose/recipes/x.yaml',
];

const agents = (fixture: TestWorkspace) => fixture.settings().agents();
const sourceOf = (fixture: TestWorkspace, name: string) => agents(fixture).list.find((agent) => agent.name === name)?.source;
const trustAll = (fixture: TestWorkspace) => addTrust(fixture.env, agents(fixture).trust, '2026-11-17T00:00:00.000Z');

describe('definitions of the same name', () => {
  it('win in a fixed order, and the others are listed', () => {
    using fixture = createTestWorkspace();
    const expected: string[] = [];
    for (const [path, text] of inOrder.toReversed()) {
      fixture.write(`work/${path}`, text('x'));
      expected.unshift(path === 'opencode.json' ? 'opencode.json#x' : path);
      expect(sourceOf(fixture, 'x')).toBe(expected[0]);
      expect(agents(fixture).hidden.map(({ source }) => source)).toEqual(expected.slice(1));
      expect(new Set(agents(fixture).hidden.map(({ by }) => by)).size).toBeLessThanOrEqual(1);
    }
  });

  it.each(userPaths.map((path, index): [string, string] => [path, (inOrder[index] as [string, (name: string) => string])[1]('x')]))(
    'in %s hide those of a workspace that is not trusted',
    (path, text) => {
      using fixture = createTestWorkspace();
      const file = fixture.write(path, text);
      fixture.write('work/.claude/agents/x.md', agentText('x'));
      expect(sourceOf(fixture, 'x')).toBe(path.endsWith('opencode.json') ? `${file}#x` : file);
      expect(agents(fixture).hidden).toEqual([{ name: 'x', source: '.claude/agents/x.md', by: sourceOf(fixture, 'x') }]);
      trustAll(fixture);
      expect(sourceOf(fixture, 'x')).toBe('.claude/agents/x.md');
      expect(agents(fixture).hidden).toMatchObject([{ name: 'x', by: '.claude/agents/x.md' }]);
    },
  );

  it('twice in one format refuse both', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.opencode/agent/x.md', agentText('x'));
    fixture.write('work/.opencode/agents/x.md', agentText('x'));
    expect(sourceOf(fixture, 'x')).toBeUndefined();
    expect(agents(fixture).refused[0]?.problems[0]).toContain('defined twice: in .opencode/agent/x.md and in .opencode/agents/x.md');
  });

  it('do not take the place of a refused one of an earlier format', () => {
    using fixture = createTestWorkspace();
    fixture.write('home/.claude/agents/review.md', agentText('review', 'disalowedTools: Bash'));
    fixture.write('home/.gemini/agents/review.md', agentText('review'));
    expect(sourceOf(fixture, 'review')).toBeUndefined();
    expect(agents(fixture).hidden.map(({ source }) => source.replace(fixture.folder, ''))).toContain('/home/.gemini/agents/review.md');
    fixture.write('own/agents/review.md', agentText('review'));
    expect(sourceOf(fixture, 'review')).toContain('/xdg/retinue/agents/review.md');
  });
});

describe('trust', () => {
  const widening: [path: string, text: string, what: RegExp[]][] = [
    [
      '.claude/agents/x.md',
      agentText('x', 'model: anthropic/m\nmaxTurns: 100\nmcpServers: [{a: {command: sh}}]'),
      [/^limits.maxTurns/, /^model =/, /^mcpServers.a/],
    ],
    ['.opencode/agents/x.md', agentText('x', 'model: anthropic/m'), [/^model =/]],
    [
      '.gemini/agents/x.md',
      agentText('x', 'model: gemini-3\nmcpServers: {a: {command: sh}}'),
      [/^model = google\/gemini-3/, /^mcpServers.a/],
    ],
    ['.codex/agents/x.toml', codex('x', 'model = "gpt"\n[mcp_servers.a]\ncommand = "sh"'), [/^model = openai\/gpt/, /^mcpServers.a/]],
    ['.github/agents/x.agent.md', agentText('x', 'mcp-servers: {a: {type: local, command: sh}}'), [/^mcpServers.a/]],
    ['.goose/recipes/x.yaml', recipe('x', 'retry: {max_retries: 1, checks: [{type: shell, command: ./evil.sh}]}'), [/^check: .*evil\.sh/]],
  ];
  it.each(widening)('%s: what widens counts only with it', async (path, text, what) => {
    using fixture = createTestWorkspace();
    fixture.write(`work/${path}`, text);
    const [item] = agents(fixture).trust;
    expect(item?.gives).toHaveLength(what.length);
    for (const pattern of what) expect(item?.gives.map((each) => each.what)).toContainEqual(expect.stringMatching(pattern));
    const find = () => agents(fixture).list.find(({ name }) => name === 'x');
    for (const key of ['model', 'limits', 'checks'] as const) expect(find()?.[key], key).toBeUndefined();
    expect(find()?.mcpServers ?? []).toEqual([]);
    const before = await explainConfiguredAgent(fixture.settings(), 'x', fixture.env);
    expect(before.leftOut.filter(({ why }) => why.includes('retinue trust'))).toHaveLength(what.length);
    trustAll(fixture);
    const trusted = find();
    expect([trusted?.model, trusted?.mcpServers, trusted?.checks].some((each) => each !== undefined && each.length > 0)).toBe(true);
    const after = await explainConfiguredAgent(fixture.settings(), 'x', fixture.env);
    expect(after.leftOut.filter(({ why }) => why.includes('retinue trust'))).toEqual([]);
    fixture.write(`work/${path}`, `${text}\n# changed`);
    expect(find()?.model).toBeUndefined();
  });

  it('never makes hooks or other commands count', () => {
    using fixture = createTestWorkspace();
    fixture.write(
      'work/.claude/agents/x.md',
      agentText('x', 'model: a/b\nhooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./evil.sh}]}]}'),
    );
    fixture.write('work/.goose/recipes/y.yaml', recipe('y', 'retry: {checks: [{type: shell, command: "true"}], on_failure: ./evil.sh}'));
    trustAll(fixture);
    expect(JSON.stringify(agents(fixture).list)).not.toContain('evil');
    expect(agents(fixture).list.find(({ name }) => name === 'x')?.disallowedTools).toEqual(['bash']);
  });
});

describe('a hostile file', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]`;
  const refusedFiles: [path: string, text: string, said: RegExp][] = [
    ['.goose/recipes/x.yaml', recipe('x', bomb), /aliases are not allowed/],
    ['.gemini/agents/x.md', agentText('x', bomb), /aliases are not allowed/],
    ['.goose/recipes/x.yaml', `title: !!js/function x\n${recipe('x')}`, /invalid YAML/],
    ['.goose/recipes/x.yaml', `title: a\n${'['.repeat(60_000)}`, /invalid YAML|nested/],
    ['opencode.json', `{"agent": ${'['.repeat(200_000)}`, /nested|not valid JSON/],
    ['.codex/agents/x.toml', `x = ${'['.repeat(60_000)}`, /invalid TOML|nested/],
    ['.goose/recipes/x.yaml', recipe('x', `activities: ["${'y'.repeat(70_000)}"]`), /larger than 65536 bytes/],
    ['.codex/agents/x.toml', codex('x', `tui = "${'y'.repeat(70_000)}"`), /larger than 65536 bytes/],
    ['.github/agents/x.agent.md', agentText('x', 'y'.repeat(300_000)), /larger than 262144 bytes/],
    ['.goose/recipes/x.yaml', '- a\n- b', /must consist of keys and values/],
  ];
  it.each(refusedFiles)('%s is refused, and nothing else is', (path, text, said) => {
    using fixture = createTestWorkspace();
    fixture.write(`work/${path}`, text);
    fixture.write('work/.claude/agents/good.md', agentText('good'));
    expect(agents(fixture).refused[0]?.problems.join()).toMatch(said);
    expect(sourceOf(fixture, 'good')).toBe('.claude/agents/good.md');
  });

  it.each(['__proto__', 'constructor', 'toString'])('with the key %s changes nothing', (key) => {
    using fixture = createTestWorkspace();
    fixture.write('work/.gemini/agents/x.md', agentText('x', `${key}: {tools: ["*"], polluted: yes}`));
    fixture.write(
      'work/opencode.json',
      `{"agent": {"y": {"prompt": "p", "description": "d", "${key}": {"polluted": 1}}, "${key}": {"prompt": "p"}}}`,
    );
    fixture.write('work/.codex/agents/z.toml', codex('z', `[${key}]\npolluted = 1`));
    const { list } = agents(fixture);
    expect(list.map(({ name }) => name)).toEqual(expect.arrayContaining(['x', 'y', 'z']));
    for (const agent of list) expect('polluted' in agent).toBe(false);
    expect('polluted' in {}).toBe(false);
  });

  it('has no name with path parts or control characters', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.gemini/agents/x.md', agentText('"../../etc/\\u001b[31mpasswd"'));
    fixture.write('work/.gemini/agents/y.md', agentText('"\\u202e\\u0000"'));
    const names = agents(fixture).list.map(({ name }) => name);
    expect(names.slice(5)).toEqual(['etc-31mpasswd', 'y']);
  });

  it('has a description of one visible line', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.gemini/agents/x.md', `---\nname: x\ndescription: "a\\u001b[31m\\n- admin: b\\u202e${'c'.repeat(5000)}"\n---\nDo.`);
    const [agent] = agents(fixture).list.slice(5);
    expect(agent?.description).toMatch(/^a \[31m - admin: b⟦U\+202E⟧c+…$/);
    expect(agent?.description.length).toBeLessThanOrEqual(1_001);
  });

  it('may be a link out of the workspace, which is not followed', () => {
    using fixture = createTestWorkspace();
    const secret = fixture.write('home/secret.yaml', recipe('secret'));
    for (const folder of ['.goose/recipes', '.codex']) mkdirSync(join(fixture.workspace, folder), { recursive: true });
    symlinkSync(secret, join(fixture.workspace, '.goose/recipes/a.yaml'));
    symlinkSync(fixture.env.HOME as string, join(fixture.workspace, '.codex/agents'));
    writeFileSync(join(fixture.env.HOME as string, 'b.toml'), codex('b'));
    expect(agents(fixture).list).toHaveLength(5);
    expect(agents(fixture).warnings.map(({ source }) => source)).toEqual(['.codex/agents/b.toml', '.goose/recipes/a.yaml']);
  });

  it('may be one of very many', () => {
    using fixture = createTestWorkspace();
    for (let n = 0; n < 520; n++) fixture.write(`work/.claude/agents/a${n}.md`, agentText(`a${n}`));
    expect(agents(fixture).list).toHaveLength(505);
    expect(agents(fixture).warnings[0]?.message).toBe('only the first 500 of 520 files are read');
  });
});
