// rx's behavioural tests and guardrails with a parent model: real kernel, scripted models.
import { describe, expect, it } from 'vitest';
import { RetinueError } from '../../src/contract/error.ts';
import { taskHash } from '../../src/dialects/rx/envelope.ts';
import { rx } from '../../src/dialects/rx.ts';
import { inlineExecutor } from '../../src/hosts/inline.ts';
import type { ToolExecutor } from '../../src/ports/tool-executor.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import {
  createCall,
  createCalls,
  createChildId,
  openWorld,
  parseResult,
  playScript,
  rootId,
  selectFacts,
  selectResults,
} from './kernel-support.ts';

const root = (...steps: object[]) => ({ when: { task: 'work' }, steps });
const child = (task: string, ...steps: object[]) => ({ when: { task }, steps });
const ask = (task: string, more: object = {}) => createCall('subagent', { task, ...more });

it('successful delegation returns stable summary/artifacts shape', async () => {
  const { results } = await playScript(rx(), [
    root(createCalls(ask('make')), { text: 'ok' }),
    child('make', createCalls(createCall('write', { path: 'a.txt', content: 'x' })), { text: 'made it' }),
  ]);
  const given = parseResult<{ artifacts: { kind: string; value: string }[] }>(results[0]);
  expect(Object.keys(given)).toEqual(['success', 'summary', 'artifacts', 'duration_ms']);
  expect(given).toMatchObject({ success: true, summary: 'made it' });
  expect(given.artifacts[0]).toEqual({ kind: 'path', value: 'a.txt' });
});

it('timeout returns deterministic timeout payload', async () => {
  const clock = createHandClock();
  const world = await openWorld(
    rx(),
    [root(createCalls(ask('look', { timeout_seconds: 5 })), { text: 'ok' }), child('look', { hang: 'start' })],
    { clock },
  );
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(5000);
  await run.outcome;
  expect(parseResult(selectResults(world)[0])).toEqual({
    success: false,
    summary: '',
    artifacts: [],
    error: 'timed out',
    timed_out: true,
    duration_ms: 5000,
  });
  await world[Symbol.asyncDispose]();
});

describe('depth limit blocks recursive subagent loops deterministically', () => {
  it('a subagent does not have the tool at the deepest level', async () => {
    const { world } = await playScript(rx(), [
      root(createCalls(ask('look')), { text: 'ok' }),
      child('look', createCalls(ask('more')), { text: 'seen' }),
    ]);
    expect(selectFacts(world, 'run.created').map((fact) => fact.data.grant.tools.includes('subagent'))).toEqual([true, false]);
    expect(selectFacts(world, 'child.created')).toHaveLength(1);
  });

  it('with max_depth 2 a subagent may delegate once more and no further', async () => {
    const { world } = await playScript(rx({ max_depth: 2 }), [
      root(createCalls(ask('one')), { text: 'ok' }),
      child('one', createCalls(ask('two')), { text: 'seen' }),
      child('two', { text: 'deep' }),
    ]);
    expect(selectFacts(world, 'run.created').map((fact) => [fact.data.depth, fact.data.grant.tools.includes('subagent')])).toEqual([
      [0, true],
      [1, true],
      [2, false],
    ]);
  });

  it('with max_depth 0 no agent delegates', async () => {
    const world = await openWorld(rx({ max_depth: 0 }), [child('x', { text: 'x' })]);
    const client = await world.runtime.openClient();
    expect(await client.delegation.start([{ task: 'x' }])).toMatchObject([{ ok: false, error: { code: 'depth' } }]);
    await world[Symbol.asyncDispose]();
  });
});

it('disabled calls return clear structured errors, and no model is called', async () => {
  const { results, world } = await playScript(rx({ enabled: false }), [root(createCalls(ask('look')), { text: 'ok' })]);
  expect(results[0]?.status).toBe('error');
  expect(parseResult(results[0])).toEqual({ success: false, summary: '', artifacts: [], error: 'not enabled', duration_ms: 0 });
  expect(selectFacts(world, 'child.created')).toHaveLength(0);
});

it('hard delegated iteration cap: partial work is kept', async () => {
  const { results } = await playScript(rx(), [
    root(createCalls(ask('look', { max_iterations: 1 })), { text: 'ok' }),
    child('look', createCalls(createCall('list', { path: '.' })), { text: 'so far' }),
  ]);
  expect(parseResult(results[0])).toMatchObject({
    success: false,
    summary: 'so far',
    error: 'max_turns: the limit of 1 turns was reached',
  });
});

it('output size cap with truncation metadata', async () => {
  const { results } = await playScript(rx(), [
    root(createCalls(ask('look')), { text: 'ok' }),
    child('look', { text: '"\n'.repeat(20_000) }),
  ]);
  const { summary } = parseResult<{ summary: string }>(results[0]);
  // The model's text is stored without trailing whitespace.
  expect(summary).toMatch(/\[truncated: kept 16384 of 39999 bytes\]$/);
});

it('fresh context: task, context and file hints, nothing else', async () => {
  const { world } = await playScript(
    rx(),
    [
      root({ text: 'a secret', ...createCalls(ask('look', { context: 'c', files: ['a.txt'] })) }, { text: 'ok' }),
      child('look', { text: 'seen' }),
    ],
    { files: { 'a.txt': 'inside' } },
  );
  expect(selectFacts(world, 'run.started', createChildId(1))[0]?.data.first).toBe(
    '# Task\n\nlook\n\n# Context\n\nc\n\n# Files\n\n## a.txt\n```\ninside\n```',
  );
});

it('structured metadata for each call: correlation id, task hash, timing and status, in the facts', async () => {
  const { world } = await playScript(rx(), [
    root(createCalls(ask('look a'), ask('look b')), { text: 'ok' }),
    child('look a', { text: 'a' }),
    child('look b', { text: 'b' }),
  ]);
  const created = selectFacts(world, 'run.created').slice(1);
  expect(created.map((fact) => fact.data.brief.tags)).toEqual([
    [`rx.correlation=${rootId}/1.0`, `rx.task=${taskHash('look a')}`],
    [`rx.correlation=${rootId}/1.1`, `rx.task=${taskHash('look b')}`],
  ]);
  const ended = selectFacts(world, 'child.ended')[0]?.data.outcome;
  expect(ended).toMatchObject({ success: true, error: null, startedAt: expect.any(String), durationMs: expect.any(Number) });
  expect(selectFacts(world, 'tool.asked', rootId)[0]?.data.arguments).toEqual({ task: 'look a' });
});

it('repeated same mocked child response yields identical normalized output', async () => {
  const once = async () => {
    const clock = createHandClock();
    const world = await openWorld(rx(), [root(createCalls(ask('look')), { text: 'ok' }), child('look', { delayMs: 50, text: 'seen' })], {
      clock,
    });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(50);
    await run.outcome;
    await world[Symbol.asyncDispose]();
    return selectResults(world)[0]?.output;
  };
  expect(await once()).toBe(await once());
});

describe('failure injection: a failure of the host becomes a structured error', () => {
  const broken = (error: RetinueError): ToolExecutor => ({
    name: 'process',
    open: () => ({ call: () => Promise.reject(error), failed: Promise.resolve(error), close: async () => {} }),
  });
  it.each([
    ['child runner unavailable', new RetinueError('crashed', 'it could not be started'), 'crashed: it could not be started'],
    ['child runner returns invalid JSON', new RetinueError('invalid_reply', 'line: is not JSON'), 'validation: line'],
    ['child ends without an outcome', new RetinueError('no_result', 'it exited with 0'), 'no_result: it exited with 0'],
  ])('%s', async (_, error, told) => {
    const dialect = { ...rx(), setup: { ...rx().setup, host: 'process' as const } };
    const findExecutor = (name: string) => (name === 'process' ? broken(error) : inlineExecutor);
    const { results } = await playScript(dialect, [root(createCalls(ask('look')), { text: 'ok' })], { options: { findExecutor } });
    expect(parseResult(results[0])).toMatchObject({ success: false, summary: '', artifacts: [], error: told });
  });
});
