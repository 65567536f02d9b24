// Facts as lines of text: `logs`, and progress without a terminal.
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/contract/json.ts';
import { describeCall } from '../../src/views/describe-call.ts';
import { createFactDescriber } from '../../src/views/describe-fact.ts';
import { fact } from '../cli/samples.ts';

describe('a call in a few words', () => {
  const table: [tool: string, input: Json, text: string][] = [
    ['grep', { path: '.', pattern: 'TODO|FIXME' }, 'grep TODO|FIXME'],
    ['grep', { path: 'src', pattern: 'TODO' }, 'grep TODO in src'],
    ['glob', { pattern: '**/*.ts', path: 'test' }, 'glob **/*.ts in test'],
    ['bash', { command: 'npm test', description: 'run the tests' }, 'bash npm test'],
    ['read', { path: 'a.ts', offset: 3 }, 'read a.ts'],
    ['webfetch', { url: 'https://example.com' }, 'webfetch https://example.com'],
    ['delegate', { tasks: [{ task: 'count', label: 'counter' }] }, 'delegate counter'],
    ['delegate', { tasks: [{ task: 'a' }, { task: 'b' }] }, 'delegate ×2'],
    ['mcp__demo__find', { limit: 3, text: 'needle' }, 'mcp__demo__find needle'],
    ['list', {}, 'list'],
    ['submit_result', { n: 1 }, 'submits its result'],
    ['odd', 'text', 'odd'],
  ];
  it.each(table)('%s %j', (tool, input, text) => expect(describeCall(tool, input)).toBe(text));
});

describe('results of calls are sentences', () => {
  const allow = { action: 'allow' as const, rule: null, owner: 'built-in' };
  const asked = (tool: string, rejected: 'submit' | 'unknown' | 'malformed' | 'repeated' | 'duplicate' | null) =>
    fact('tool.asked', { turn: 1, index: 0, tool, arguments: {}, decision: allow, rejected, idempotent: true, waits: false });
  const finished = (status: 'ok' | 'unknown' | 'timeout' | 'error', output = '') =>
    fact('tool.finished', { turn: 1, index: 0, status, output, truncated: null, taint: [], told: [] });

  it.each([
    [[asked('submit_result', 'submit')], 'submits its result'],
    [[asked('submit_result', 'submit'), finished('ok', 'accepted')], 'submits its result · ok · accepted'],
    [[asked('raed', 'unknown')], 'raed · not executed: there is no such tool'],
    [[asked('read', 'malformed')], 'read · not executed: its arguments are wrong'],
    [[asked('read', 'repeated')], 'read · not executed: the same call was made too often'],
    [[asked('bash', null), finished('unknown')], 'bash · cut off, result unknown'],
    [[asked('bash', null), finished('timeout')], 'bash · timed out'],
    [[finished('unknown')], 'a call from before · cut off, result unknown'],
  ])('%#: %s', (facts, text) => {
    const describeFact = createFactDescriber();
    expect(facts.map(describeFact).at(-1)).toBe(text);
  });
});

it('a result of a check names its command, or its reviewer and what that must find true', () => {
  const describeFact = createFactDescriber();
  const started = (index: number, command: string, agent?: string) =>
    describeFact(fact('check.started', { index, round: 1, command, ...(agent !== undefined && { agent }) }));
  const finished = (index: number, round = 1) => describeFact(fact('check.finished', { index, round, status: 'failed', output: 'why' }));
  expect(started(0, 'npm test')).toBe('round 1 · npm test');
  expect(finished(0)).toBe('round 1 · npm test · failed · why');
  started(1, 'npm run lint');
  expect(finished(1)).toBe('round 1 · npm run lint · failed · why');
  started(2, 'It is short.', 'review');
  expect(finished(2)).toBe('round 1 · review by review · It is short. · failed · why');
  expect(finished(0, 2)).toBe('round 2 · failed · why');
});
