// Limits that a dialect brings from its source, against those of the configuration, of a flag and of the dialect's settings.
import { describe, expect, it } from 'vitest';
import type { LimitsGiven } from '../../src/contract/limits.ts';
import { type DialectConfig, makeDialect } from '../../src/dialects/index.ts';
import { createCall, createCalls, openWorld, playScript, rootId, selectFacts, selectResults } from './kernel-support.ts';

const runs = [{ times: 'any', steps: [{ text: 'ok' }] }];

interface Case {
  config: LimitsGiven;
  settings?: DialectConfig;
  brief?: LimitsGiven;
}

/** The limits of a root that a parent model runs in, as `VALUE SOURCE`. */
async function limitsOfRoot(name: string, { config, settings = {}, brief }: Case) {
  const dialect = makeDialect(name, settings);
  const { world } = await playScript(dialect, runs, { limits: config }, brief && { limits: brief });
  const { maxConcurrent, maxDepth } = selectFacts(world, 'run.created', rootId)[0]?.data.grant.limits ?? {};
  return [maxConcurrent, maxDepth].map((limit) => `${limit?.value} ${limit?.from}`);
}

/** The same for a client. */
async function limitsOfClient(name: string, { config, settings = {}, brief = {} }: Case) {
  const dialect = makeDialect(name, settings);
  await using world = await openWorld(dialect, runs, { limits: config });
  const client = await world.runtime.openClient({ limits: brief });
  await client.close();
  const { maxConcurrent, maxDepth } = selectFacts(world, 'run.created')[0]?.data.grant.limits ?? {};
  return [maxConcurrent, maxDepth].map((limit) => `${limit?.value} ${limit?.from}`);
}

const sources = { ralph: [5, 1], dex: [3, 1], openfork: [8, 1], claude: [20, 3], codex: [6, 1] } as const;

describe.each(Object.entries(sources))('%s: configured limits', (name, [concurrent, depth]) => {
  it('above those of the source do not count', async () => {
    const own = [`${concurrent} dialect`, `${depth} dialect`];
    const config = { maxConcurrent: concurrent + 2, maxDepth: depth + 2 };
    expect([await limitsOfRoot(name, { config }), await limitsOfClient(name, { config })]).toEqual([own, own]);
  });

  it('below them count', async () => {
    const lower = [`${concurrent - 1} config`, `${depth - 1} config`];
    const config = { maxConcurrent: concurrent - 1, maxDepth: depth - 1 };
    expect([await limitsOfRoot(name, { config }), await limitsOfClient(name, { config })]).toEqual([lower, lower]);
  });

  it('give way to the limits of a command', async () => {
    const given = { config: { maxConcurrent: 1, maxDepth: 0 }, brief: { maxConcurrent: 30, maxDepth: 4 } };
    expect(await limitsOfRoot(name, given)).toEqual(['30 brief', '4 brief']);
    expect(await limitsOfClient(name, given)).toEqual(['30 command', '4 command']);
  });
});

it('the settings of a dialect raise its limits, and configured limits still lower them', async () => {
  expect(await limitsOfRoot('dex', { config: {}, settings: { max_concurrent: 12 } })).toEqual(['12 dialect', '1 dialect']);
  expect(await limitsOfRoot('dex', { config: { maxConcurrent: 7 }, settings: { max_concurrent: 12 } })).toEqual(['7 config', '1 dialect']);
  expect(await limitsOfRoot('dex', { config: { maxConcurrent: 7 }, settings: { max_concurrent: 1 } })).toEqual(['1 dialect', '1 dialect']);
});

it('limits that the dialect does not have come from the configuration', async () => {
  expect(await limitsOfRoot('rx', { config: { maxConcurrent: 12 } })).toEqual(['12 config', '1 dialect']);
  expect(await limitsOfRoot('native', { config: { maxConcurrent: 12, maxDepth: 3 } })).toEqual(['12 config', '3 config']);
});

it.each([
  ['ralph', createCall('subagent', { task: 'look' }), /Too many subagents: 1 are running \(max_subagents\)/, /At most 1 run/],
  ['codex', createCall('spawn_agent', { message: 'look' }), /All 1 agents .* \(max_threads\)/, /At most 1 agents run/],
  ['claude', createCall('Agent', { description: 'd', prompt: 'look' }), /1 agents are running.*\(max_concurrent_subagents\)/, null],
])('%s: a refusal and the description name the limit that applies', async (name, call, refusal, description) => {
  const slow = [
    { when: { task: 'work' }, steps: [createCalls(call, call), { text: 'ok' }, { text: 'ok' }] },
    { when: { task: 'look' }, steps: [{ delayMs: 50, text: 'seen' }] },
  ];
  await using world = await openWorld(makeDialect(name), slow, { limits: { maxConcurrent: 1 } });
  await (await world.runtime.start({ task: 'work' })).outcome;
  const results = selectResults(world);
  expect(results.map(({ status }) => status)).toEqual(['ok', 'error']);
  expect(results[1]?.output).toMatch(refusal);
  const hash = selectFacts(world, 'run.started', rootId)[0]?.data.tools;
  const tools = Buffer.from((await world.store.blob(hash ?? '')) ?? []).toString();
  if (description) expect(tools).toMatch(description);
});
