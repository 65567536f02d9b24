// The tools as a run uses them: through the kernel, with its limits and facts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld } from '../support/world.ts';

const rulesets: Ruleset[] = [{ kind: 'owner', owner: 'test', rules: [{ action: 'allow', tool: '*', pattern: null }] }];
const tools = [createBash({ sandbox: null })];

async function play(steps: object[], more: { toolTimeoutMs?: number; before?(workspace: string): void } = {}) {
  await using world = await createWorld({
    script: { runs: [{ steps: [...steps, { text: 'done' }] }] },
    tools,
    rulesets,
    limits: more.toolTimeoutMs === undefined ? {} : { toolTimeoutMs: more.toolTimeoutMs },
  });
  more.before?.(world.workspace);
  const outcome = await (await world.runtime.start({ task: 'go' })).outcome;
  const results = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  return { outcome, results };
}

test('a command that takes too long returns its status, output and time limit', async () => {
  const command = 'trap "" TERM; echo partial; while :; do sleep 0.1; done';
  // On a busy machine the command may need longer to start than the first time limit.
  for (const toolTimeoutMs of [500, 5_000, 30_000]) {
    const { results } = await play([{ calls: [{ tool: 'bash', args: { command } }] }], { toolTimeoutMs });
    const output = expect.stringMatching(`\\[stopped before it was done\\]\\n\\[bash took longer than ${toolTimeoutMs} ms`);
    expect(results).toMatchObject([{ status: 'timeout', output }]);
    if (results[0]?.output.startsWith('partial\n[stopped before it was done]\n')) return;
  }
  throw new Error('the output of the command is missing');
});

test('long output is cut for the model and kept as an artifact', async () => {
  const { outcome, results } = await play([{ calls: [{ tool: 'bash', args: { command: 'echo first; seq 100000; echo last' } }] }]);
  expect(results[0]?.output).toMatch(/^first\n1\n2\n[\s\S]*bytes left out[\s\S]*\n100000\nlast$/);
  expect(Buffer.byteLength(results[0]?.output ?? '')).toBeLessThan(33_000);
  expect(results[0]?.truncated?.originalBytes).toBe(588_905);
  expect(outcome.artifacts).toMatchObject([{ kind: 'note', title: 'whole output of bash', bytes: 588_905 }]);
});

test('reading and changing share one memo per run, and the outcome has the artifacts', async () => {
  const { outcome, results } = await play(
    [
      { calls: [{ tool: 'edit', args: { path: 'f', old: 'a', new: 'b' } }] },
      { calls: [{ tool: 'read', args: { path: 'f' } }] },
      { calls: [{ tool: 'edit', args: { path: 'f', old: 'a', new: 'b' } }] },
      { calls: [{ tool: 'bash', args: { command: 'echo other > f' } }] },
      { calls: [{ tool: 'write', args: { path: 'f', content: 'mine' } }] },
    ],
    { before: (workspace) => writeFileSync(join(workspace, 'f'), 'a\n') },
  );
  expect(results.map(({ status }) => status)).toEqual(['error', 'ok', 'ok', 'ok', 'error']);
  expect(results[0]?.output).toContain('read it first');
  expect(results[4]?.output).toBe('f changed since you read it; read it again');
  expect(outcome.artifacts.map(({ kind, title }) => [kind, title])).toEqual([
    ['path', 'changed'],
    ['diff', 'f'],
    ['path', 'changed'],
  ]);
});
