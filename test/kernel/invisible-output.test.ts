// Output of commands that is nothing but invisible characters: the run goes on, and the model gets a short text.

import { expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { parseRule } from '../../src/rules/policy.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld } from '../support/world.ts';

const megabytes = 4;

it.each([
  ['a control character', '\\0', '0000'],
  ['escape', '\\x1b', '001B'],
  ['carriage return', '\\r', '000D'],
  ['a soft hyphen', '\\u00ad', '00AD'],
  ['a line separator', '\\u2028', '2028'],
  ['a joiner', '\\u200d', '200D'],
  ['a zero-width space', '\\u200b', '200B'],
  ['a bidirectional control', '\\u202e', '202E'],
  ['a selector', '\\ufe0f', 'FE0F'],
  ['a tag', '\\u{e0041}', 'E0041'],
  ['a selector of the supplement', '\\u{e0100}', 'E0100'],
])('%s', { timeout: 60_000 }, async (_, char, code) => {
  const program = `const c = "${char}"; process.stdout.write(c.repeat(${megabytes} * 1e6 / Buffer.byteLength(c)))`;
  const command = `'${process.execPath}' -e '${program}'`;
  await using world = await createWorld({
    script: { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command } }] }, { text: 'done' }] }] },
    tools: [createBash({ sandbox: null, closed: null })],
    rulesets: [{ kind: 'owner', owner: 'test', rules: [parseRule('allow *')] }],
  });
  const run = await world.runtime.start({ task: 'go' });
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  const finished = world.facts.find((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>;
  const { status, output } = finished.data;
  expect(status).toBe('ok');
  expect(output).toContain(`⟦U+${code}⟧`);
  expect(output).toMatch(/⟦\d+ more invisible characters⟧/);
  expect(output.length).toBeLessThan(20_000);
});
