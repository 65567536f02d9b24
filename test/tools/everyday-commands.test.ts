// Commands that coding agents use every day run in the sandbox without a question.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/ports/sandbox.ts';
import { builtInRuleset } from '../../src/rules/policy.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld } from '../support/world.ts';

const commands = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/everyday-commands.json'), 'utf8')) as string[];

/** A sandbox that starts `true` instead: this test is about questions, not about what the commands do. */
const harmless: Sandbox = {
  name: 'none',
  version: async () => '0',
  limits: 'none',
  confine: async ({ env }) => ({ ok: true, confined: { argv: ['true'], env, join: [], namespace: false, release: async () => [] } }),
};

test('60 of 60 everyday commands pass without a question', { timeout: 60_000 }, async () => {
  expect(new Set(commands).size).toBe(60);
  await using world = await createWorld({
    script: { runs: [{ steps: [{ calls: commands.map((command) => ({ tool: 'bash', args: { command } })) }, { text: 'done' }] }] },
    tools: [createBash({ sandbox: harmless })],
    rulesets: [builtInRuleset([], [], { sandboxed: true })],
  });
  await (await world.runtime.start({ task: 'go' })).outcome;
  const decisions = world.facts.flatMap((fact) => (fact.type === 'tool.asked' ? [fact.data.decision.action] : []));
  const statuses = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.status] : []));
  expect(commands.filter((_, n) => decisions[n] !== 'allow' || statuses[n] !== 'ok')).toEqual([]);
  expect(statuses).toHaveLength(60);
});
