// Arguments with secrets: what the model wrote is executed, what is recorded has no secret, and a lost original is never guessed (invariant 11).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemIds } from '../../src/system/clock.ts';
import { createWorld, type World } from '../support/world.ts';

const secret = 'kq7-vault-94x';
const env = { DB_PASSWORD: secret };
const compose = `image: ${secret}:16\n`;
const write = (content: string, path = 'compose.yml') => ({ tool: 'write', args: { path, content } });
const script = (...calls: object[]) => ({ runs: [{ steps: [...calls.map((call) => ({ calls: [call] })), { text: 'done' }] }] });
const facts = <T extends 'tool.asked' | 'tool.finished' | 'approval.asked'>(world: World, type: T) =>
  world.facts.filter((fact) => fact.type === type) as unknown as FactOf<T>[];

function asks(...rules: string[]) {
  const builtIn = builtInRuleset([], []);
  return [{ ...builtIn, rules: [...builtIn.rules, ...rules.map(parseRule)] }];
}

describe('a call whose arguments hold a secret of the environment', () => {
  it('is executed as the model wrote it, and recorded without the secret', async () => {
    await using world = await createWorld({ env, script: script(write(compose)) });
    const run = await world.runtime.start({ task: 'x' });
    expect((await run.outcome).success).toBe(true);
    expect(readFileSync(join(world.workspace, 'compose.yml'), 'utf8')).toBe(compose);
    expect(JSON.stringify(world.facts)).not.toContain(secret);
    const [asked] = facts(world, 'tool.asked');
    expect(asked?.data.arguments).toEqual({ path: 'compose.yml', content: 'image: [secret DB_PASSWORD]:16\n' });
    expect(asked?.data.original).toMatch(/^[0-9a-f]{64}$/);
    expect(asked?.v).toBe(2);
  });

  it('has a keyed hash: two processes record different ones for the same call', async () => {
    const hashes = new Set<string | undefined>();
    for (let n = 0; n < 2; n++) {
      await using world = await createWorld({ env, script: script(write(compose)), options: { ids: systemIds } });
      await (await world.runtime.start({ task: 'x' })).outcome;
      hashes.add(facts(world, 'tool.asked')[0]?.data.original);
    }
    expect(hashes.size).toBe(2);
  });

  it('hides the secret behind JSON escapes as well', async () => {
    const input = `{"path": "compose.yml", "content": "\\u006bq7-vault-94x"}`;
    await using world = await createWorld({
      env,
      script: { runs: [{ steps: [{ calls: [{ tool: 'write', raw: input }] }, { text: 'done' }] }] },
    });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(readFileSync(join(world.workspace, 'compose.yml'), 'utf8')).toBe(secret);
    const text = JSON.stringify(world.facts);
    expect(text).not.toContain(secret);
    expect(text).not.toContain('u006bq7');
  });

  it('shows questions without the secret, pins the original, and executes it once approved', async () => {
    await using world = await createWorld({
      env,
      script: script(write(compose, `${secret}.yml`)),
      rulesets: asks('ask write'),
      options: { questions: { canAnswer: () => true } },
    });
    const run = await world.runtime.start({ task: 'x' });
    await expect.poll(() => facts(world, 'approval.asked').length).toBe(1);
    const question = facts(world, 'approval.asked')[0]?.data as FactOf<'approval.asked'>['data'];
    expect(question.hash).toBe(facts(world, 'tool.asked')[0]?.data.original);
    expect(question.subjects).toEqual(['[secret DB_PASSWORD].yml']);
    expect(await run.answer(question, { allowed: true, by: 'a test' })).toBe(true);
    await run.outcome;
    expect(readFileSync(join(world.workspace, `${secret}.yml`), 'utf8')).toBe(compose);
    expect(JSON.stringify(world.facts)).not.toContain(secret);
  });

  it('is not made after its process has died: the model is told to make it again', async () => {
    const store = createMemoryStore();
    const questions = { canAnswer: () => true };
    const first = await createWorld({
      env,
      store: { ...store, close: async () => {} },
      script: script(write(compose)),
      rulesets: asks('ask write'),
      options: { questions },
      excuses: { ended: 'interrupted', told: 'interrupted' },
    });
    const { id } = await first.runtime.start({ task: 'x' });
    await expect.poll(() => facts(first, 'approval.asked').length).toBe(1);
    await first.runtime.drain('the machine restarts');
    await first.runtime.close();
    await using second = await createWorld({
      env,
      store,
      script: script(write(compose)),
      rulesets: asks('ask write'),
      options: { questions },
      settings: { workspace: first.workspace },
    });
    const resumed = await second.runtime.resume(id, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    const handle = resumed.handles[0];
    const question = facts(first, 'approval.asked')[0]?.data as FactOf<'approval.asked'>['data'];
    await expect.poll(async () => handle?.answer(question, { allowed: true, by: 'a test' })).toBe(true);
    await handle?.outcome;
    const [finished] = facts(second, 'tool.finished');
    expect(finished?.data).toMatchObject({ status: 'error', output: expect.stringContaining('Make the call again.') });
    expect(() => readFileSync(join(first.workspace, 'compose.yml'))).toThrow();
  });

  it('is recorded without the secret in its name and id, too', async () => {
    const call = { tool: `tool-${secret}`, args: {}, id: `id-${secret}` };
    await using world = await createWorld({ env, script: script(call) });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(JSON.stringify(world.facts)).not.toContain(secret);
    expect(facts(world, 'tool.asked')[0]?.data).toMatchObject({ rejected: 'unknown', tool: 'tool-[secret DB_PASSWORD]' });
  });

  it('never expands a placeholder that the model wrote', async () => {
    await using world = await createWorld({ env, script: script(write('[secret DB_PASSWORD]')) });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(readFileSync(join(world.workspace, 'compose.yml'), 'utf8')).toBe('[secret DB_PASSWORD]');
    expect(facts(world, 'tool.asked')[0]?.data.original).toBeUndefined();
  });
});
