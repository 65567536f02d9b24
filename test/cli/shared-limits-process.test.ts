// Limits of a provider over several real processes on one PostgreSQL database, with a provider that counts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type Scenario, startProviderServer } from '../../src/testing/provider-server.ts';
import { createTestDatabase } from '../support/postgres/database.ts';
import { createPlace } from './support-process.ts';

const apiKey = 'sk-ant-a-key-of-this-test';

interface Call {
  from: number;
  to: number;
}

/** Each run makes `turns` calls that take `ms`. */
function createScenario(turns: number, ms: number): { answer: Scenario; calls: Call[] } {
  const calls: Call[] = [];
  const answer: Scenario = async ({ body }) => {
    const call = { from: performance.now(), to: Number.POSITIVE_INFINITY };
    calls.push(call);
    await sleep(ms);
    call.to = performance.now();
    const { messages } = body as { messages: unknown[] };
    const turn = (messages.length + 1) / 2;
    return turn < turns ? { calls: [{ tool: 'list', args: { path: `missing-${turn}` } }] } : { text: 'done' };
  };
  return { answer, calls };
}

async function createSetup(rate: object, answer: Scenario) {
  const server = await startProviderServer({ answer });
  const database = await createTestDatabase();
  const env = {
    RETINUE_DB: database.url,
    RETINUE_MODEL: 'anthropic/claude-test',
    ANTHROPIC_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: server.url,
  };
  const place = createPlace({ runs: [{ steps: [] }] }, env);
  mkdirSync(join(place.folder, '.config', 'retinue'), { recursive: true });
  const config = { providers: { anthropic: { kind: 'anthropic', rate } }, prices: { '*': { input: 1, output: 1 } } };
  writeFileSync(join(place.folder, '.config', 'retinue', 'config.json'), JSON.stringify(config));
  onTestFinished(async () => {
    place[Symbol.dispose]();
    await server.close();
    await database.remove();
  });
  // One process creates the tables.
  await place.run('budget', 'set', 'unused', '--usd', '1');
  return { place, database };
}

it('the concurrent calls of four processes stay below the limit, and nothing in the database shows the key', {
  timeout: 120_000,
}, async () => {
  const { answer, calls } = createScenario(6, 120);
  const { place, database } = await createSetup({ concurrent: 2 }, answer);
  const ended = await Promise.all(['a', 'b', 'c', 'd'].map((task) => place.run('run', '--json', task)));
  expect(ended.map(({ out }) => JSON.parse(out).status)).toEqual(['completed', 'completed', 'completed', 'completed']);
  expect(calls).toHaveLength(24);
  for (const { from } of calls) expect(calls.filter((other) => other.from <= from && other.to > from).length).toBeLessThanOrEqual(2);
  const rows = (await database.sql('SELECT key, text FROM retinue.provider_limits')) as { key: string; text: string }[];
  expect(rows).toHaveLength(1);
  expect(rows[0]?.key).toMatch(/^[0-9a-f]{32}$/);
  expect(JSON.stringify(rows)).not.toContain(apiKey);
});

it('the requests of three processes stay below the rate', { timeout: 120_000 }, async () => {
  const { answer, calls } = createScenario(5, 5);
  const perMinute = 72;
  const { place } = await createSetup({ requestsPerMinute: perMinute }, answer);
  const ended = await Promise.all(['a', 'b', 'c'].map((task) => place.run('run', '--json', task)));
  expect(ended.map(({ out }) => JSON.parse(out).status)).toEqual(['completed', 'completed', 'completed']);
  expect(calls).toHaveLength(15);
  // What a bucket holds, what flows in, and what was granted shortly before.
  const most = (ms: number) => 6 + ((ms + 2_000) * 67) / 64_000 + 1;
  for (const { from } of calls)
    for (const ms of [500, 2_000, 5_000])
      expect(calls.filter((other) => other.from >= from && other.from < from + ms).length).toBeLessThanOrEqual(most(ms));
});

it('a refusal in one process stops another, and one of both probes', { timeout: 120_000 }, async () => {
  const times: { at: number; isRefused: boolean }[] = [];
  let isRefusing = false;
  const answer: Scenario = async ({ body }) => {
    const isRefused = isRefusing;
    times.push({ at: performance.now(), isRefused });
    isRefusing = false;
    if (isRefused) return { fault: { kind: 'status', status: 429, retryAfterMs: 5_000 } };
    await sleep(150);
    const turn = ((body as { messages: unknown[] }).messages.length + 1) / 2;
    return turn < 60 && performance.now() < end ? { calls: [{ tool: 'list', args: { path: `missing-${turn}` } }] } : { text: 'done' };
  };
  const { place } = await createSetup({}, answer);
  const end = performance.now() + 25_000;
  const both = ['a', 'b'].map((task) => place.start('run', '--json', '--max-turns', '100', task));
  await expect.poll(() => times.length, { timeout: 30_000 }).toBeGreaterThan(8);
  isRefusing = true;
  const ended = await Promise.all(both.map(({ finished }) => finished));
  expect(ended.map(({ out }) => JSON.parse(out).status)).toEqual(['completed', 'completed']);
  const refused = times.find(({ isRefused }) => isRefused)?.at as number;
  // Calls that were on their way, and then none for the time that the provider asked for.
  const later = times.filter(({ at }) => at > refused + 2_000).map(({ at }) => at - refused);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(4_990);
  const [probe, next] = later.sort((a, b) => a - b) as [number, number];
  expect(next - probe).toBeGreaterThan(100);
});
