import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createAgentCatalog } from '../../src/config/agents.ts';
import { anchorAgent } from '../../src/config/anchor-rules.ts';
import { addTrust } from '../../src/config/trust.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const builtIn = ['general', 'explore', 'plan', 'research', 'review'];
const sources = (fixture: TestWorkspace) =>
  Object.fromEntries(
    fixture
      .settings()
      .agents()
      .list.filter(({ source }) => source !== 'built-in')
      .map(({ name, source }) => [name, source.replace(fixture.folder, '')]),
  );

describe('agent files', () => {
  it('are read from four folders', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/agents/a.md', agentText('a'));
    fixture.write('home/.claude/agents/b.md', agentText('b'));
    fixture.write('work/.retinue/agents/c.md', agentText('c'));
    fixture.write('work/.claude/agents/d.md', agentText('d'));
    fixture.write('work/.claude/agents/deeper/e.md', agentText('e'));
    fixture.write('work/.claude/agents/f.txt', agentText('f'));
    expect(sources(fixture)).toEqual({
      a: '/xdg/retinue/agents/a.md',
      b: '/home/.claude/agents/b.md',
      c: '.retinue/agents/c.md',
      d: '.claude/agents/d.md',
    });
    const catalog = createAgentCatalog(fixture.settings());
    expect(catalog.list().map(({ name }) => name)).toEqual([...builtIn, 'a', 'b', 'c', 'd']);
    expect(catalog.get('c')?.prompt).toBe('You are c.');
  });

  it('are the only ones whose rules may name paths', () => {
    using fixture = createTestWorkspace();
    const options = { workspace: fixture.folder, env: fixture.env };
    for (const agent of builtInAgents) expect(anchorAgent(agent, options)).toEqual(agent);
  });

  it('with a rule that names no tool are refused', () => {
    using fixture = createTestWorkspace();
    const rules = ['deny write', 'deny mcp__gh__*', 'deny network', 'ask Task', 'deny acp__claude__Skill', 'deny web*'];
    fixture.write('own/agents/a.md', agentText('a', `rules: ${JSON.stringify(rules)}`));
    fixture.write('own/agents/b.md', agentText('b', 'rules: ["deny write", "deny bahs"]'));
    fixture.write('work/.retinue/agents/c.md', agentText('c', 'runs: claude\nrules: ["deny Bash"]'));
    const { list, refused } = fixture.settings().agents();
    expect(list.find(({ name }) => name === 'a')?.rules).toHaveLength(rules.length);
    expect(refused.map(({ name, problems }) => [name, problems[0]])).toEqual([
      ['b', expect.stringMatching(/b\.md:\d: `deny bahs` \(rules\.1\): unknown tool `bahs`; did you mean `bash`/)],
      ['c', expect.stringMatching(/c\.md:\d: `deny Bash` \(rules\.0\): unknown tool `Bash`; did you mean `bash`/)],
    ]);
  });

  it('leave only the built-in agents if there are none', () => {
    using fixture = createTestWorkspace();
    expect(fixture.settings().agents()).toMatchObject({ refused: [], warnings: [], trust: [] });
    expect(createAgentCatalog(fixture.settings()).list()).toHaveLength(5);
  });

  it('of the user replace built-in agents; those of a workspace do so only if trusted', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/agents/plan.md', agentText('plan'));
    const file = fixture.write('work/.claude/agents/explore.md', agentText('explore', 'maxTurns: 100'));
    expect(sources(fixture)).toEqual({ plan: '/xdg/retinue/agents/plan.md' });
    const { trust } = fixture.settings().agents();
    expect(trust).toEqual([
      {
        path: file,
        hash: expect.any(String),
        state: 'untrusted',
        gives: [
          { what: 'replaces the agent explore', why: 'the one from built-in is used instead' },
          { what: 'limits.maxTurns = 100', why: 'the limit is 40' },
        ],
      },
    ]);
    addTrust(fixture.env, trust, '2026-01-02T03:04:05.000Z');
    expect(sources(fixture)).toEqual({ plan: '/xdg/retinue/agents/plan.md', explore: '.claude/agents/explore.md' });
    expect(createAgentCatalog(fixture.settings()).get('explore')?.limits).toEqual({ maxTurns: 100 });
    fixture.write('work/.claude/agents/explore.md', agentText('explore', 'maxTurns: 200'));
    expect(sources(fixture)).toEqual({ plan: '/xdg/retinue/agents/plan.md' });
    expect(fixture.settings().agents().trust).toMatchObject([{ state: 'changed' }]);
  });

  it('of a workspace are compared with the configured limits', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { limits: { maxTurns: 150 } });
    fixture.write('work/.retinue/agents/c.md', agentText('c', 'maxTurns: 100'));
    expect(fixture.settings().agents().trust).toEqual([]);
  });

  it('in the home folder count as the user’s if the home is the workspace', () => {
    using fixture = createTestWorkspace();
    fixture.write('home/.claude/agents/explore.md', agentText('explore'));
    const { list, trust } = fixture.settings({ workspace: '../home' }).agents();
    expect(trust).toEqual([]);
    expect(list.find(({ name }) => name === 'explore')?.source).toContain('.claude');
  });
});

describe('an invalid agent file', () => {
  it.each(['own/agents/x.md', 'work/.retinue/agents/x.md'])('in %s refuses only its own agent', (path) => {
    using fixture = createTestWorkspace();
    fixture.write(path, agentText('x', 'hooks: {}'));
    fixture.write(path.replace('x.md', 'y.md'), agentText('y'));
    const settings = fixture.settings();
    const { list, refused } = settings.agents();
    expect(refused).toMatchObject([{ name: 'x', problems: [expect.stringMatching(/x\.md:4: `hooks`/)] }]);
    expect(list.map(({ name }) => name)).toEqual(['general', 'explore', 'plan', 'research', 'review', 'y']);
    const catalog = createAgentCatalog(settings);
    expect([catalog.get('x'), catalog.get('y')?.name]).toEqual([null, 'y']);
  });

  it.each(['own/agents/x.md', 'work/.retinue/agents/x.md'])('in %s does not fall back to the built-in agent', (path) => {
    using fixture = createTestWorkspace();
    fixture.write(path, agentText('plan', 'runs: gemini'));
    expect(
      fixture
        .settings()
        .agents()
        .list.map(({ name }) => name),
    ).toEqual(['general', 'explore', 'research', 'review']);
  });

  it('for Claude Code stops no other agent, and does not take the name of another one', () => {
    using fixture = createTestWorkspace();
    fixture.write('home/.claude/agents/explore.md', agentText('explore', 'env: {}'));
    fixture.write('work/.claude/agents/plan.md', agentText('plan', 'env: {}'));
    const { list, refused } = fixture.settings().agents();
    expect(list.map(({ name }) => name)).toEqual(['general', 'plan', 'research', 'review']);
    expect(refused.map(({ name }) => name)).toEqual(['explore', 'plan']);
  });

  it('error names both files that define the same agent', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.retinue/agents/x.md', agentText('x'));
    fixture.write('work/.retinue/agents/y.md', agentText('x'));
    expect(fixture.settings().agents().refused).toMatchObject([
      { name: 'x', problems: ['the agent x is defined twice: in .retinue/agents/x.md and in .retinue/agents/y.md'] },
    ]);
  });

  it('may be unreadable or too large', () => {
    using fixture = createTestWorkspace();
    mkdirSync(join(fixture.workspace, '.retinue/agents/dir.md'), { recursive: true });
    expect(fixture.settings().agents().refused[0]?.problems[0]).toMatch(/dir\.md is a folder; name a file in it/);
    using other = createTestWorkspace();
    other.write('work/.claude/agents/big.md', agentText('big', 'x'.repeat(300_000)));
    expect(other.settings().agents().refused[0]?.problems[0]).toMatch(/big\.md is larger than 262144 bytes/);
  });

  it('may be a link that leads out of the workspace', () => {
    using fixture = createTestWorkspace();
    const outside = fixture.write('home/secret.md', agentText('secret'));
    mkdirSync(join(fixture.workspace, '.retinue/agents'), { recursive: true });
    symlinkSync(outside, join(fixture.workspace, '.retinue/agents/a.md'));
    symlinkSync('/nowhere/at/all.md', join(fixture.workspace, '.retinue/agents/b.md'));
    const { list, warnings } = fixture.settings().agents();
    expect(list).toHaveLength(5);
    expect(warnings).toEqual([{ source: '.retinue/agents/a.md', message: 'not read: it is a link that leads out of the workspace' }]);
  });
});
