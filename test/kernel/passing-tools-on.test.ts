// What an agent is offered is not what it may pass on: `childTools` says which tools its children can have, within the rights of everything above it.
import { describe, expect, it } from 'vitest';
import type { Agent } from '../../src/contract/agent.ts';
import type { FactOf } from '../../src/contract/fact.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createWorld, type WorldOptions } from '../support/world.ts';

const lead: Agent = { name: 'lead', description: '', prompt: 'You delegate.', source: 'a test', tools: [] };
const worker: Agent = { name: 'worker', description: '', prompt: 'You work.', source: 'a test', tools: ['read', 'write'] };

async function delegate(orchestrator: Agent, more: WorldOptions = {}) {
  const write = { tool: 'write', args: { path: 'a.txt', content: 'x' } };
  await using world = await createWorld({
    agents: [orchestrator, worker],
    script: {
      runs: [
        {
          when: { agent: 'lead' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent: 'worker' }] } }] }, { text: 'done' }],
        },
        { when: { agent: 'worker' }, steps: [{ calls: [write] }, { text: 'written' }] },
      ],
    },
    ...more,
  });
  await (await world.runtime.start({ task: 'lead', agent: 'lead' })).outcome;
  const [root, child] = world.facts.filter((fact) => fact.type === 'run.created') as FactOf<'run.created'>[];
  const ended = world.facts.find((fact) => fact.type === 'child.ended') as FactOf<'child.ended'>;
  const results = (world.facts.filter((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>[]).filter(
    ({ runId }) => runId === child?.runId,
  );
  return { root, child, outcome: ended.data.outcome, results };
}

describe('an agent that only delegates', () => {
  it('passes on the tools of `childTools` without having them itself', async () => {
    const { root, child, outcome, results } = await delegate({ ...lead, childTools: ['read', 'write'] });
    expect(root?.data.grant.tools).not.toContain('write');
    expect(child?.data.grant.tools).toEqual(expect.arrayContaining(['read', 'write']));
    expect(results[0]?.data.status).toBe('ok');
    expect(outcome.notices).toBeUndefined();
    expect(root?.v).toBe(2);
  });

  it('keeps its own tools, which it does not pass on', async () => {
    const { root, child } = await delegate({ ...lead, tools: ['grep'], childTools: ['read', 'write'] });
    expect(root?.data.grant.tools).toContain('grep');
    expect(root?.data.grant.tools).not.toContain('write');
    expect(child?.data.grant.tools).not.toContain('grep');
  });

  it('passes on nothing beyond the list', async () => {
    const { child, results } = await delegate({ ...lead, childTools: ['read'] });
    expect(child?.data.grant.tools).not.toContain('write');
    expect(results[0]?.data).toMatchObject({ status: 'denied', output: expect.stringContaining('of agent lead') });
  });

  it('passes on nothing that is denied above it', async () => {
    const builtIn = builtInRuleset(['delegate', 'delegate_wait'], []);
    const rulesets = [{ ...builtIn, rules: [...builtIn.rules, parseRule('deny write')] }];
    const { child, results } = await delegate({ ...lead, childTools: ['read', 'write'] }, { rulesets });
    expect(child?.data.grant.tools).not.toContain('write');
    expect(results[0]?.data.status).toBe('denied');
  });

  it('without the list leaves its children without tools, and their outcome says so and how to change it', async () => {
    const { child, outcome } = await delegate(lead);
    expect(child?.data.grant.tools.filter((tool) => !tool.startsWith('delegate'))).toEqual([]);
    expect(outcome.notices).toEqual([expect.stringContaining('agent worker has none of its tools here')]);
    expect(outcome.notices?.[0]).toContain('`childTools`');
  });
});
