// A cost limit never falls away below a run that has one (invariant 5).
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { createModels } from '../../src/models/models.ts';
import { withPrices } from '../../src/models/prices.ts';
import { createScriptModels } from '../../src/models/script.ts';
import { systemClock } from '../../src/system/clock.ts';
import { anyAgent } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const priced = {
  model: { price: { input: 1, output: 1 } },
  runs: [
    {
      when: { task: 'lead' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent: 'cheap' }] } }] }, { text: 'done' }],
    },
  ],
};
const cheap = { ...anyAgent, name: 'cheap', model: 'script/unpriced' };
const unpriced = { runs: [{ times: 'any', steps: [{ text: 'read' }] }] };
const scripts: Record<string, unknown> = { main: priced, unpriced };

function models(prices = {}) {
  const script = createScriptModels({
    clock: systemClock,
    readFile: async (path) => JSON.stringify(scripts[path.split('/').at(-1) as string]),
  });
  return withPrices(createModels({ providers: { script } }), prices);
}

async function run(prices: Record<string, { input: number; output: number }>, limits = {}) {
  await using world = await createWorld({ agents: [anyAgent, cheap], options: { models: models(prices) }, limits });
  const outcome = await (await world.runtime.start({ task: 'lead', agent: 'any' })).outcome;
  const finished = world.facts.find((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>;
  const children = world.facts.filter((fact) => fact.type === 'child.created');
  return { outcome, finished: finished.data, children };
}

describe('a child with a model of unknown price', () => {
  it('is refused below a run with the built-in cost limit, and the parent is told what to do', async () => {
    const { finished, children } = await run({});
    expect(children).toEqual([]);
    expect(finished.output).toContain('the price of script/unpriced is unknown');
    expect(finished.output).toContain('prices["*"]');
  });

  it('is charged at the price of `*` where the configuration has one', async () => {
    const { outcome, children } = await run({ '*': { input: 1000, output: 1000 } });
    expect(children.length).toBe(1);
    expect(outcome.costUsd).toBeGreaterThan(0);
  });

  it('runs below a tree without any known price, which has no cost limit and says so', async () => {
    await using world = await createWorld({ agents: [anyAgent], options: { models: models() } });
    await (await world.runtime.start({ task: 'x', agent: 'any', model: 'script/unpriced' })).outcome;
    const created = world.facts.find((fact) => fact.type === 'run.created') as FactOf<'run.created'>;
    expect(created.data.notices).toEqual(['the price of script/unpriced is unknown: this run has no cost limit']);
  });
});
