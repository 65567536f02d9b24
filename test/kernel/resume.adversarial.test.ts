// Failures while a tree is resumed or lost, which the simulation found.
import { describe, expect, it } from 'vitest';
import { RetinueError } from '../../src/contract/error.ts';
import type { Order } from '../../src/contract/order.ts';
import type { RunHandle } from '../../src/kernel/runtime.ts';
import type { Store, TreeAppend } from '../../src/ports/store.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { idle, settled } from '../support/adversary.ts';
import { createWorld, type World } from '../support/world.ts';

const hanging = { script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] } };
const excuses = { ended: 'a tree that is lost takes no further facts; another process goes on with it' };

const order = (kind: Order['kind'], runId: string, text = kind as string): Order => ({
  ...{ id: `${kind} ${text}`, runId, rootId: runId, kind, by: 'the user', text },
  at: '2026-01-01T00:00:00.000Z',
});

async function asked(world: World): Promise<void> {
  await expect.poll(() => world.types().includes('model.asked')).toBe(true);
}

/** A tree whose process no longer exists. */
async function interrupted(store: Store): Promise<{ id: string; workspace: string }> {
  const first = await createWorld({ ...hanging, store });
  const { id } = await first.runtime.start({ task: 'x' });
  await asked(first);
  await store.release(first.runtime.owner);
  return { id, workspace: first.workspace };
}

describe('resuming a tree', () => {
  it('that cannot be recorded leaves nothing behind, and the runtime can close', async () => {
    const memory = createMemoryStore();
    const { id, workspace } = await interrupted(memory);
    const store: Store = {
      ...memory,
      append: async (owner, units) => {
        if (units.some((unit) => unit.facts.some((fact) => fact.type === 'run.resumed'))) throw new RetinueError('store_io', 'no room');
        return memory.append(owner, units);
      },
    };
    await using world = await createWorld({ ...hanging, store, settings: { workspace }, excuses });
    await expect(world.runtime.resume(id, 'a test')).rejects.toMatchObject({ code: 'store_io' });
    expect(world.runtime.stats()).toEqual(idle);
    await world.runtime.drain('the test ends');
  });

  it('applies an order that was waiting for it', async () => {
    const memory = createMemoryStore();
    const { id, workspace } = await interrupted(memory);
    await memory.order(order('cancel', id, 'enough'));
    await settled();
    await using world = await createWorld({ ...hanging, store: memory, settings: { workspace } });
    const resumed = await world.runtime.resume(id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
  });

  it('overrides a pause that was ordered from an earlier process', async () => {
    const memory = createMemoryStore();
    const { id, workspace } = await interrupted(memory);
    await memory.order(order('pause', id));
    const script = { runs: [{ steps: [{ text: 'done' }] }] };
    await using world = await createWorld({ script, store: memory, settings: { workspace } });
    const resumed = await world.runtime.resume(id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed' });
    expect(await memory.orders(world.runtime.owner)).toEqual([]);
    expect(world.types(id)).not.toContain('run.paused');
  });

  it('loses no order that is read before its runs are registered', async () => {
    const memory = createMemoryStore();
    const { id, workspace } = await interrupted(memory);
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const store: Store = {
      ...memory,
      facts: async (query) => {
        if (isHeld) await gate.promise;
        return memory.facts(query);
      },
    };
    await using world = await createWorld({ ...hanging, store, settings: { workspace } });
    isHeld = true;
    const resuming = world.runtime.resume(id, 'a test');
    await settled();
    await memory.order(order('cancel', id, 'enough'));
    await settled();
    isHeld = false;
    gate.resolve();
    const resumed = await resuming;
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
  });

  it('that ends at once still removes waiting orders', async () => {
    const memory = createMemoryStore();
    const { id, workspace } = await interrupted(memory);
    await memory.order(order('cancel', id, 'enough'));
    await memory.order(order('message', id, 'too late'));
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    // The first one belongs to the resume.
    const store: Store = {
      ...memory,
      orders: (owner) => (++reads > 1 ? gate.promise : Promise.resolve()).then(() => memory.orders(owner)),
    };
    const world = await createWorld({ ...hanging, store, settings: { workspace } });
    await world.runtime.resume(id, 'a test');
    const closed = world.runtime.close();
    await settled();
    gate.resolve();
    await closed;
    const observer = await memory.open();
    expect(await memory.claim(observer, id)).toMatchObject({ ok: true });
    expect(await memory.orders(observer)).toEqual([]);
  });
});

describe('a pause', () => {
  it.each(['resume', 'message'] as const)('that is overtaken by a %s before it is recorded leaves no order behind', async (kind) => {
    const store = createMemoryStore();
    await using world = await createWorld({ ...hanging, store });
    const run = await world.runtime.start({ task: 'x' });
    await asked(world);
    await store.order(order('pause', run.id));
    await settled();
    await store.order(order(kind, run.id));
    await settled();
    expect(await store.orders(world.runtime.owner)).toEqual([]);
    expect(world.types(run.id)).not.toContain('run.paused');
  });

  it('that is not recorded yet is awaited by a process that drains', async () => {
    const memory = createMemoryStore();
    const gate = Promise.withResolvers<void>();
    const has = (units: TreeAppend[], type: string) => units.some((unit) => unit.facts.some((fact) => fact.type === type));
    let other: RunHandle | null = null;
    const store: Store = {
      ...memory,
      append: async (owner, units) => {
        // The next commit is a slow one, a message to the other run, and everything after it has to wait.
        if (has(units, 'run.created')) void other?.send('on its way');
        if (has(units, 'message.received')) await gate.promise;
        return memory.append(owner, units);
      },
    };
    const limited = { error: { status: 429, message: 'quota', retryAfterMs: 120_000 } };
    const script = { runs: [{ when: { task: 'x' }, steps: [{ hang: 'start' as const }] }, { steps: [limited] }] };
    await using world = await createWorld({ script, store, excuses: { ended: 'a paused run goes on in another process' } });
    other = await world.runtime.start({ task: 'x' });
    other.outcome.catch(() => {});
    await asked(world);
    const run = await world.runtime.start({ task: 'y' });
    await expect.poll(() => world.runtime.stats().active).toBe(1);
    const drained = world.runtime.drain('the process ends');
    await settled();
    gate.resolve();
    await drained;
    await expect(run.outcome).rejects.toMatchObject({ code: 'paused' });
    expect(await store.run(run.id)).toMatchObject({ status: 'paused' });
  });
});

describe('a process that lost its trees', () => {
  it('and notices it while facts are being written breaks nothing else', async () => {
    const memory = createMemoryStore();
    const gate = Promise.withResolvers<void>();
    let slow = false;
    let isTaken = false;
    const store: Store = {
      ...memory,
      append: async (owner, units) => {
        const results = await memory.append(owner, units);
        if (slow) await gate.promise;
        return results;
      },
      holders: async (rootIds) =>
        isTaken ? new Map(rootIds.map((rootId) => [rootId, { owner: 'another', pid: 1, alive: true }])) : memory.holders(rootIds),
    };
    await using world = await createWorld({ ...hanging, store, excuses });
    const run = await world.runtime.start({ task: 'x' });
    await asked(world);
    slow = true;
    const sent = [run.send('one')];
    await settled();
    sent.push(run.send('two'));
    isTaken = true;
    await memory.order(order('message', run.id));
    await expect(run.outcome).rejects.toMatchObject({ code: 'fenced' });
    slow = false;
    gate.resolve();
    expect((await Promise.allSettled(sent)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(world.runtime.stats()).toEqual(idle);
  });

  it('continues a tree that it has claimed again, and its other trees were never interrupted', async () => {
    const memory = createMemoryData();
    const script = { runs: [{ times: 'any' as const, steps: [{ hang: 'start' as const }, { text: 'done' }] }] };
    await using first = await createWorld({ script, store: createMemoryStore({ memory }), excuses });
    const [lost, kept] = await Promise.all(['lost', 'kept'].map((task) => first.runtime.start({ task })));
    if (!lost || !kept) throw new Error('not started');
    await expect.poll(() => first.types().filter((type) => type === 'model.asked').length).toBe(2);
    const own = memory.owners.get(first.runtime.owner.id) as { isDead: boolean };

    own.isDead = true;
    const second = await createWorld({ script, store: createMemoryStore({ memory }), settings: { workspace: first.workspace }, excuses });
    expect(await second.runtime.resume(lost.id, 'the second')).toMatchObject({ ok: true });
    own.isDead = false;
    await expect(lost.outcome).rejects.toMatchObject({ code: 'fenced' });
    await second.runtime.drain('the second process ends');
    await second.runtime.close();

    const resumed = await first.runtime.resume(lost.id, 'the first');
    if (!resumed.ok) throw new Error('not resumed');
    await resumed.handles[0]?.cancel('enough');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'cancelled' });
    await kept.cancel('enough');
    expect(await kept.outcome).toMatchObject({ status: 'cancelled' });
    const kinds = (await createMemoryStore({ memory }).facts({ runId: kept.id })).map(({ type }) => type);
    expect(kinds).not.toContain('run.resumed');
    expect(first.runtime.stats()).toEqual(idle);
  });

  it('notices it also if the process that took the tree over has released it again', async () => {
    const memory = createMemoryData();
    await using first = await createWorld({ ...hanging, store: createMemoryStore({ memory }), excuses });
    const run = await first.runtime.start({ task: 'x' });
    await asked(first);
    const own = memory.owners.get(first.runtime.owner.id) as { isDead: boolean };
    own.isDead = true;
    const store = createMemoryStore({ memory });
    const other = await store.open();
    expect(await store.claim(other, run.id)).toMatchObject({ ok: true });
    await store.release(other);
    own.isDead = false;
    await store.order(order('message', run.id));
    await expect(run.outcome).rejects.toMatchObject({ code: 'fenced' });
    expect(first.runtime.stats()).toEqual(idle);
  });
});
