// Agents that models may not delegate to: they are not offered, a model that names one is refused, and people can run them.

import { expect, it } from 'vitest';
import type { Agent } from '../../src/contract/agent.ts';
import type { FactOf } from '../../src/contract/fact.ts';
import { createWorld } from '../support/world.ts';

const closed: Agent = { name: 'release', description: 'publishes', prompt: 'Publish.', source: 'test', modelInvocation: false };
const open: Agent = { name: 'reader', description: 'reads', prompt: 'Read.', source: 'test' };
const delegate = (agent: string) => ({ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent }] } }] });

it('are refused to a model, and not in its list', async () => {
  const script = { runs: [{ steps: [delegate('release'), { text: 'done' }] }] };
  await using world = await createWorld({ script, agents: [closed, open] });
  const run = await world.runtime.start({ task: 'go' });
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  expect(world.types()).not.toContain('child.created');
  const finished = world.facts.find((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>;
  expect(finished.data.output).toContain('the agent release is started by people only');
  const client = await world.runtime.openClient();
  expect(client.delegation.agents().map(({ name }) => name)).toEqual(expect.arrayContaining(['general', 'reader']));
  expect(client.delegation.agents().map(({ name }) => name)).not.toContain('release');
  await client.close();
});

it('can be run by people', async () => {
  await using world = await createWorld({ agents: [closed] });
  const run = await world.runtime.start({ task: 'go', agent: 'release' });
  expect(await run.outcome).toMatchObject({ status: 'completed', agent: 'release' });
});
