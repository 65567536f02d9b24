// Briefs that a worker drives: admitted by one process, driven by another, once.
import { describe, expect, it } from 'vitest';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { idle } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const script = { runs: [{ times: 'any' as const, steps: [{ text: 'done' }] }] };
const job = { queue: 'q' };

describe('a brief in a queue', () => {
  it('waits without an owner, and is driven by the process that claims it', async () => {
    const memory = createMemoryData();
    await using client = await createWorld({ script, store: createMemoryStore({ memory }), excuses: { ended: 'a worker drives it' } });
    const { runId, isNew } = await client.runtime.enqueue({ task: 'x', workspace: client.workspace, idempotencyKey: 'k' }, { job });
    expect(isNew).toBe(true);
    expect(client.runtime.stats()).toEqual(idle);
    const store = createMemoryStore({ memory });
    expect(await store.run(runId)).toMatchObject({ status: 'queued', endedAt: null });
    expect(await store.holders([runId])).toEqual(new Map([[runId, null]]));
    expect(await client.runtime.enqueue({ task: 'x', workspace: client.workspace, idempotencyKey: 'k' }, { job })).toEqual({
      runId,
      isNew: false,
    });

    await using worker = await createWorld({ script, store: createMemoryStore({ memory }), settings: { workspace: client.workspace } });
    const jobs = (await store.queue?.take({ queue: 'q', limit: 10 })) ?? [];
    expect(jobs).toMatchObject([{ rootId: runId }]);
    const resumed = await worker.runtime.resume(runId, 'a worker');
    if (!resumed.ok) throw new Error('not claimed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  });

  it('is refused like any other brief, and then nothing is stored', async () => {
    const memory = createMemoryData();
    await using client = await createWorld({ script, store: createMemoryStore({ memory }) });
    await expect(client.runtime.enqueue({ task: ' ' }, { job })).rejects.toMatchObject({ code: 'invalid_brief' });
    await expect(client.runtime.enqueue({ task: 'x', agent: 'nobody' }, { job })).rejects.toMatchObject({ code: 'unknown_agent' });
    await expect(client.runtime.enqueue({ task: 'x' }, { job })).rejects.toMatchObject({
      code: 'invalid_brief',
      message: expect.stringContaining('name a `repository`'),
    });
    expect(memory.jobs.size + memory.facts.length).toBe(0);
  });

  it('is refused by a store without a queue', async () => {
    const { queue: _, ...store } = createMemoryStore();
    await using client = await createWorld({ script, store });
    await expect(client.runtime.enqueue({ task: 'x' }, { job })).rejects.toMatchObject({ code: 'usage' });
  });

  it('can be handed back by its worker and continued by another one, without repeating anything', async () => {
    const memory = createMemoryData();
    const hanging = { runs: [{ times: 'any' as const, steps: [{ hang: 'start' as const }] }] };
    const excuses = { ended: 'another worker continues it' };
    await using client = await createWorld({ script, store: createMemoryStore({ memory }), excuses });
    const settings = { workspace: client.workspace };
    const { runId } = await client.runtime.enqueue({ task: 'x', workspace: client.workspace }, { job });
    await using first = await createWorld({ script: hanging, store: createMemoryStore({ memory }), settings, excuses });
    await first.runtime.resume(runId, 'the first');
    await expect.poll(() => first.types().includes('model.asked')).toBe(true);
    await first.runtime.handBack(runId, 'the worker stops');
    expect(first.runtime.stats()).toEqual(idle);
    await using second = await createWorld({ script, store: createMemoryStore({ memory }), settings });
    const resumed = await second.runtime.resume(runId, 'the second');
    if (!resumed.ok) throw new Error('not claimed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    const facts = await createMemoryStore({ memory }).facts({ runId, types: ['run.resumed'] });
    // Handing back is no takeover.
    expect(facts.every((fact) => fact.type === 'run.resumed' && fact.data.takeover === undefined)).toBe(true);
  });
});
