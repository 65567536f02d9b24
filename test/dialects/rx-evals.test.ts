// Runs the evaluation set of rx: a parent model makes each call, and reads exactly the result that the set names.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rx } from '../../src/dialects/rx.ts';
import { createCall, parseResult, playScript, selectFacts } from './kernel-support.ts';

interface Case {
  name: string;
  input: object;
  steps: object[];
  result: { artifacts: unknown };
}

const page = readFileSync(join(import.meta.dirname, '../../evals/tools/subagent.md'), 'utf8');
const cases = page
  .split('\n')
  .filter((line) => /^\| .* \| `/.test(line))
  .map((line): Case => {
    const [, name = '', input = '', steps = '', result = ''] = /^\| (.+?) \| `(.+?)` \| `(.+?)` \| `(.+?)` \|$/.exec(line) ?? [];
    return { name, input: JSON.parse(input), steps: JSON.parse(steps), result: JSON.parse(result) };
  });

describe('the evaluation set', () => {
  test('has cases', () => expect(cases.length).toBeGreaterThan(7));

  test.each(cases)('$name', async ({ input, steps, result }) => {
    const parent = { when: { agent: 'rx/main' }, steps: [{ calls: [createCall('subagent', input)] }, { text: 'done' }] };
    const child = steps.length === 0 ? [] : [{ when: { agent: 'general' }, steps }];
    const { results } = await playScript(rx(), [parent, ...child], { files: {} });
    const { duration_ms, artifacts, ...read } = parseResult<{ duration_ms: number; artifacts: { kind: string; value: string }[] }>(
      results[0],
    );
    const shown = typeof result.artifacts === 'string' ? `${artifacts[0]?.kind} ${artifacts[0]?.value}` : artifacts;
    expect({ ...read, artifacts: shown }).toEqual(result);
    expect(Number.isInteger(duration_ms)).toBe(true);
  });
});

test('the parent prompt says when to delegate and how to read a result', async () => {
  const { world } = await playScript(rx(), [{ steps: [{ text: 'done' }] }]);
  const [created] = selectFacts(world, 'run.created');
  expect(created?.data.agent).toBe('rx/main');
  const prompt = rx().setup?.agents?.[0]?.prompt ?? '';
  for (const word of ['subagent', 'max_iterations', 'success', 'timed_out', 'truncated', 'data']) expect(prompt).toContain(word);
});
