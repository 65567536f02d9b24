import { describe, expect, it } from 'vitest';
import { explainAgent } from '../../src/config/explain-agent.ts';
import type { Explanation } from '../../src/config/explanation.ts';
import type { Ruleset } from '../../src/contract/grant.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const tools = ['read', 'write', 'list', 'bash', 'todo'];
const delegationTools = ['delegate', 'delegate_wait'];

function explain(fixture: TestWorkspace, name: string, flags = {}): Promise<Explanation> {
  const settings = fixture.settings(flags);
  const owner = builtInRuleset(delegationTools, []);
  const own = settings.ownerRules.flatMap((set) => set.rules.map((rule) => ({ ...parseRule(rule), from: set.owner })));
  const others = settings.narrowingRules.map((set): Ruleset => ({ kind: 'narrowing', owner: set.owner, rules: set.rules.map(parseRule) }));
  const rulesets = [{ ...owner, rules: [...owner.rules, ...own] }, ...others];
  return explainAgent(settings, name, { tools, delegationTools, rulesets, shell: { sandbox: null, closed: null, narrowing: [] } });
}

const line = (verdict: Explanation['tools']['offered'][number]) => `${verdict.tool} ${verdict.action} ${verdict.rule} of ${verdict.owner}`;

describe('explainAgent', () => {
  it('lists the offered tools, and the rule that leaves each other tool out', async () => {
    using fixture = createTestWorkspace();
    const user = fixture.write('own/config.json', { rules: ['deny todo'] });
    fixture.write('work/retinue.config.json', { rules: ['deny write'] });
    fixture.write('work/.claude/agents/a.md', agentText('a', 'tools: Read, Write, TodoWrite, Bash(git log:*), Task, Glob'));
    const found = await explain(fixture, 'a');
    expect(found.tools.offered.map(line)).toEqual([
      'read allow allow read of built-in',
      'bash deny deny bash of agent a',
      'delegate allow allow delegate of built-in',
      'delegate_wait allow allow delegate_wait of built-in',
    ]);
    expect(found.tools.leftOut.map(line)).toEqual([
      'write deny deny write of workspace retinue.config.json',
      'list deny deny * of agent a',
      `todo deny deny todo of ${user}`,
      'glob deny null of there is no such tool',
    ]);
    expect(found.rulesets.map(({ kind, owner }) => [kind, owner])).toEqual([
      ['owner', 'built-in'],
      ['narrowing', 'workspace retinue.config.json'],
      ['narrowing', 'agent a'],
      ['narrowing', 'agent a'],
    ]);
    expect(found.rulesets[0]?.rules.at(-1)).toEqual({ rule: 'deny todo', from: user });
  });

  it('shows the source of each limit and of the model', async () => {
    using fixture = createTestWorkspace();
    const user = fixture.write('own/config.json', { limits: { maxTokens: 500, maxDepth: 0 }, model: 'u/m' });
    const agent = fixture.write('own/agents/a.md', agentText('a', 'maxTurns: 7\nmodel: p/m\nmemory: user'));
    const found = await explain(fixture, 'a');
    expect(found).toMatchObject({
      name: 'a',
      source: agent,
      model: { value: 'p/m', from: agent },
      limits: {
        maxTurns: { value: 7, from: agent },
        maxTokens: { value: 500, from: user },
        timeoutMs: { value: 1_800_000, from: 'built-in' },
        maxCostUsd: { value: 5, from: 'built-in' },
      },
      warnings: ['line 6: `memory` has no effect: use the tool `memory` instead'],
    });
    expect(found.tools.leftOut.map(line)).toEqual(['delegate deny null of limits.maxDepth', 'delegate_wait deny null of limits.maxDepth']);
    expect((await explain(fixture, 'explore')).model).toEqual({ value: 'u/m', from: user });
    expect((await explain(fixture, 'a', { model: 'f/m' })).model).toEqual({ value: 'f/m', from: '--model' });
  });

  it('offers no tools if the agent’s list is empty', async () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.retinue/agents/a.md', agentText('a', 'tools: []'));
    const found = await explain(fixture, 'a');
    expect(found.tools.offered).toEqual([]);
    expect(found.tools.leftOut).toHaveLength(tools.length + delegationTools.length);
  });

  it('rejects unknown agents and agents with an invalid file', async () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.claude/agents/bad.md', agentText('bad', 'env: {}'));
    fixture.write('work/.claude/agents/plan.md', agentText('plan', 'env: {}'));
    await expect(explain(fixture, 'explor')).rejects.toMatchObject({
      code: 'unknown_agent',
      message: expect.stringContaining('`explore`'),
    });
    await expect(explain(fixture, 'bad')).rejects.toMatchObject({ code: 'invalid_config', message: expect.stringContaining('`env`') });
    expect((await explain(fixture, 'plan')).source).toBe('built-in');
  });
});
