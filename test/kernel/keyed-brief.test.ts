// An idempotency key stands for one brief: the same brief again gets the same run, and any other one is refused.
import { expect, it } from 'vitest';
import type { Agent } from '../../src/contract/agent.ts';
import { parseRule } from '../../src/rules/policy.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld, type WorldOptions } from '../support/world.ts';

const checks = [{ command: 'true' }];
const result = { schema: { type: 'object' } };
const job = { queue: 'q' };
const options: WorldOptions = {
  script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] },
  tools: [createBash({ sandbox: null })],
  rulesets: [{ kind: 'owner', owner: 'test', rules: [parseRule('allow *')] }],
  excuses: { ended: 'a worker drives what is queued' },
};

const table = [{ checks }, { result }, { files: ['a.txt'] }, { checks, maxCheckRounds: 2 }, { label: 'a' }];
const both = table.flatMap((more) => [[{}, more] as const, [more, {}] as const]);

it.each(both)('%j, then %j: the second one is refused', async (one, other) => {
  await using world = await createWorld({ ...options, files: { 'a.txt': 'a' } });
  const { runtime, workspace } = world;
  const conflict = { code: 'key_conflict', message: expect.stringMatching(/: `(checks|result|files|maxCheckRounds|label)` differs/) };
  const first = { task: 'x', workspace, ...one };
  const second = { task: 'x', workspace, ...other };

  const run = await runtime.start({ ...first, idempotencyKey: 'k' });
  expect((await runtime.start({ ...first, idempotencyKey: 'k' })).id).toBe(run.id);
  await expect(runtime.start({ ...second, idempotencyKey: 'k' })).rejects.toMatchObject(conflict);

  const atOnce = [first, second].map((brief) => runtime.start({ ...brief, idempotencyKey: 'at once' }));
  expect(await Promise.allSettled(atOnce)).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: conflict }]);

  const { runId } = await runtime.enqueue({ ...first, idempotencyKey: 'queued' }, { job });
  expect(await runtime.enqueue({ ...first, idempotencyKey: 'queued' }, { job })).toEqual({ runId, isNew: false });
  await expect(runtime.enqueue({ ...second, idempotencyKey: 'queued' }, { job })).rejects.toMatchObject(conflict);

  const client = await runtime.openClient();
  const child = { task: 'x', idempotencyKey: 'k' };
  const { id } = await client.delegate({ ...child, ...one });
  expect((await client.delegate({ ...child, ...one })).id).toBe(id);
  await expect(client.delegate({ ...child, ...other })).rejects.toMatchObject(conflict);
  await client.close();
});

it('what the definition of the agent adds is not compared, also after it was edited', async () => {
  const agent: Agent = {
    name: 'own',
    description: 'd',
    prompt: '{{ topic }}',
    source: 'test',
    checks,
    result,
    parameters: [{ name: 'topic' }],
  };
  const memory = createMemoryData();
  const open = (agents: Agent[]) => createWorld({ ...options, agents, store: createMemoryStore({ memory }) });
  await using world = await open([agent]);
  const brief = { task: 'x', agent: 'own', params: { topic: 'y' }, workspace: world.workspace, idempotencyKey: 'k' };
  const { runId } = await world.runtime.enqueue(brief, { job });
  const conflict = { code: 'key_conflict' };
  const same = { runId, isNew: false };
  expect(await world.runtime.enqueue(brief, { job })).toEqual(same);
  await expect(world.runtime.enqueue({ ...brief, maxCheckRounds: 1 }, { job })).rejects.toMatchObject(conflict);
  await expect(world.runtime.enqueue({ ...brief, params: { topic: 'z' } }, { job })).rejects.toMatchObject(conflict);
  for (const agents of [[{ ...agent, prompt: 'another', checks: [], parameters: [] }], []]) {
    await using edited = await open(agents);
    expect(await edited.runtime.enqueue(brief, { job })).toEqual(same);
    await expect(edited.runtime.enqueue({ ...brief, task: 'y' }, { job })).rejects.toMatchObject(conflict);
  }
});
