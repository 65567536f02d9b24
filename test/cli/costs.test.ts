// `retinue costs` and the cached share of `retinue show`, against runs with known usage.
import { expect, it } from 'vitest';
import { createCli } from './support.ts';

const script = {
  model: { price: { input: 10, output: 100, cached: 1 } },
  runs: [
    {
      when: { agent: 'general' },
      steps: [
        {
          calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore' }] } }],
          usage: { input: 1000, output: 100, cached: 0 },
        },
        { text: 'done', usage: { input: 3000, output: 100, cached: 2000 } },
      ],
    },
    { when: { agent: 'explore' }, steps: [{ text: 'seen', usage: { input: 4000, output: 1000, cached: 1000 } }] },
  ],
};

it('groups what runs used, and knows the cached share', async () => {
  using cli = createCli(script);
  expect((await cli.run(['costs'])).stderr).toContain('no runs yet');
  expect((await cli.run(['run', 'work'])).code).toBe(0);
  const read = async (by: string) => JSON.parse((await cli.run(['costs', '--by', by, '--json'])).stdout);
  // 4,000 in with 2,000 cached and 200 out; 4,000 in with 1,000 cached and 1,000 out.
  const [general, explore] = [0.02 + 0.002 + 0.02, 0.03 + 0.001 + 0.1];
  const byAgent = await read('agent');
  expect(byAgent).toMatchObject({
    by: 'agent',
    groups: [
      { name: 'explore', runs: 1, tokens: { input: 4000, output: 1000 }, cachedShare: 0.25 },
      { name: 'general', runs: 1, tokens: { input: 4000, output: 200 }, cachedShare: 0.5 },
    ],
    total: { name: 'total', runs: 2, tokens: { input: 8000 }, cachedShare: 0.375 },
  });
  expect(byAgent.groups[0].costUsd).toBeCloseTo(explore);
  expect(byAgent.groups[1].costUsd).toBeCloseTo(general);
  for (const by of ['model', 'day', 'tree']) {
    const { groups, total } = await read(by);
    expect(groups).toHaveLength(1);
    expect(total.costUsd).toBeCloseTo(general + explore);
  }
  const { stdout } = await cli.run(['costs', '--by', 'agent']);
  expect(stdout).toMatch(/^AGENT +RUNS +INPUT +OUTPUT +CACHED +COST\nexplore +1 +4\.0k +1\.0k +25 % +\$0\.13\n/);
  expect(stdout).not.toContain('█');
  expect((await cli.run(['show', 'last'])).stdout).toMatch(/\(8\.0k in, [\d.]+k? out, 3\.0k cached: \d+ %\)/);
});

it('draws bars on a terminal', async () => {
  using cli = createCli(script);
  await cli.run(['run', 'work']);
  const { stdout } = await cli.run(['costs', '--by', 'agent'], { outTTY: true });
  const bars = stdout.split('\n').map((line) => line.match(/█/g)?.length ?? 0);
  expect(bars[1]).toBe(24);
  expect(bars[2]).toBeGreaterThan(0);
  expect(bars[2]).toBeLessThan(24);
});

it('refuses an unknown group', async () => {
  using cli = createCli(script);
  expect(await cli.run(['costs', '--by', 'agents'])).toMatchObject({ code: 2, stderr: expect.stringContaining('agent') });
});

it('shows no cost for models without a price, even if a run made no call', async () => {
  using cli = createCli({ runs: [{ when: { task: 'work' }, steps: [{ text: 'done' }] }] });
  expect((await cli.run(['run', 'work'])).code).toBe(0);
  expect((await cli.run(['run', 'there is no step for this'])).code).toBe(1);
  for (const by of ['model', 'agent', 'day']) {
    const { groups, total } = JSON.parse((await cli.run(['costs', '--by', by, '--json'])).stdout);
    expect([groups[0].runs, groups[0].costUsd, total.costUsd]).toEqual([2, null, null]);
  }
});
