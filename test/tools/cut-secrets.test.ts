// A secret that an agent was granted and that a tool cuts in two: neither half is recorded.
import { describe, expect, it } from 'vitest';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createBash } from '../../src/tools/bash.ts';
import { anyAgent } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const token = 'q7Zk-canary-0123456789-vW4x';
const mebibyte = 1_048_576;

async function record(calls: object[], files: Record<string, string> = {}): Promise<string> {
  const builtIn = builtInRuleset([], ['bash']);
  await using world = await createWorld({
    env: { DEPLOY_TOKEN: token },
    files,
    agents: [anyAgent],
    tools: [createBash({ sandbox: null, env: { PATH: process.env.PATH ?? '' }, secrets: () => ({ DEPLOY_TOKEN: token }) })],
    rulesets: [{ ...builtIn, rules: [...builtIn.rules, parseRule('allow bash')] }],
    script: { runs: [{ when: { agent: 'any' }, steps: [{ calls }, { text: 'done' }] }] },
  });
  await (await world.runtime.start({ task: 'x', agent: 'any' })).outcome;
  const blobs = world.facts.flatMap((fact) => (fact.type === 'artifact.recorded' && fact.data.blob !== null ? [fact.data.blob] : []));
  const texts = await Promise.all(blobs.map((hash) => world.store.blob(hash)));
  return JSON.stringify(world.facts) + texts.join('\n');
}

describe('a secret that is cut in two', () => {
  it.each([
    ['at the end of the first mebibyte', `${mebibyte - 9}`, '3000000'],
    ['at the beginning of the last mebibyte', '3000000', `${mebibyte - 9}`],
  ])('by bash, %s', async (_, before, after) => {
    const fill = (count: string) => `head -c ${count} /dev/zero | tr '\\0' .`;
    const recorded = await record([{ tool: 'bash', args: { command: `${fill(before)}; printf %s "$DEPLOY_TOKEN"; ${fill(after)}` } }]);
    expect(recorded).toContain('bytes left out');
    expect(recorded).toContain('[secret DEPLOY_TOKEN]');
    for (const part of ['q7Zk-can', 'canary', '789-vW4x']) expect(recorded).not.toContain(part);
  });

  it('by read, at the longest line it shows', async () => {
    const recorded = await record([{ tool: 'read', args: { path: 'long.txt' } }], { 'long.txt': `${'.'.repeat(1985)}${token} and more` });
    expect(recorded).toContain('[secret DEPLOY_TOKEN] … [line cut');
    expect(recorded).not.toContain('q7Zk-can');
  });
});
