// A compaction by order: `retinue message ID --compact`, from another process and over HTTP.
import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { native } from '../../src/dialects/native.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createTestServer, tokenOf } from '../server/support.ts';
import { anyAgent, settled, tool } from '../support/adversary.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const call = (n: number) => ({ calls: [{ tool: 'step', args: { n } }] });

/** A run whose third call waits for `open`. */
function waitingRun(): { options: WorldOptions; open(): void; isWaiting(): boolean } {
  const gate = Promise.withResolvers<void>();
  let isWaiting = false;
  const step = tool('step', async ({ n }: { n?: number }) => {
    isWaiting = n === 3;
    if (isWaiting) await gate.promise;
    return { output: `result ${n} ${'.'.repeat(2000)}` };
  });
  const script = { runs: [{ steps: [call(1), call(2), call(3), call(4), { text: 'done' }], compact: [{ text: '# Goal\nstep to 4' }] }] };
  return { options: { script, tools: [step], agents: [anyAgent] }, open: gate.resolve, isWaiting: () => isWaiting };
}

/** The API of a process that drives nothing. */
function otherProcess({ store }: Pick<World, 'store'>) {
  const runtime = () => Promise.reject(new Error('it drives nothing'));
  return createApi({ store, clock: systemClock, ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native, runtime });
}

const purposes = (facts: Fact[]) => facts.flatMap((fact) => (fact.type === 'model.asked' ? [fact.data.purpose] : []));

it('compacts before the next turn, once, and consumes the order with its first fact', async () => {
  const { options, open, isWaiting } = waitingRun();
  await using world = await createWorld(options);
  const run = await world.runtime.start({ task: 'x', agent: 'any' });
  await expect.poll(isWaiting).toBe(true);
  const api = otherProcess(world);
  expect(await api.compact(run.id)).toEqual({ runId: run.id, result: 'asked' });
  expect((await world.store.orders(world.runtime.owner)).map(({ kind }) => kind)).toEqual(['compact']);
  // The process that drives the run has seen the order.
  await settled();
  open();
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done', turns: 5 });
  expect(purposes(world.facts)).toEqual(['turn', 'turn', 'turn', 'compact', 'turn', 'turn']);
  expect(await world.store.orders(world.runtime.owner)).toEqual([]);
  const compacted = world.facts.find((fact) => fact.type === 'context.compacted');
  expect(compacted?.data).toMatchObject({ kept: [{ turn: 3, index: 0 }], summary: expect.stringContaining('step to 4') });
  await expect(api.compact(run.id)).rejects.toMatchObject({ code: 'parent_ended' });
});

it('waits until there is something to compact, and changes nothing if there never is', async () => {
  await using world = await createWorld({ script: { runs: [{ steps: [{ delayMs: 50, text: 'done' }] }] } });
  const run = await world.runtime.start({ task: 'x' });
  expect(run.compact()).toBe(true);
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  expect(purposes(world.facts)).toEqual(['turn']);
  expect(run.compact()).toBe(false);
});

it('can be ordered over HTTP, with the role `steer`', async () => {
  const { options, open, isWaiting } = waitingRun();
  await using server = await createTestServer(options);
  const run = await server.world.runtime.start({ task: 'x', agent: 'any' });
  await expect.poll(isWaiting).toBe(true);
  const path = `/api/runs/${run.id}/compact`;
  expect((await server.ask(path, { method: 'POST', body: {}, token: tokenOf('read') })).status).toBe(403);
  expect((await server.ask(path, { method: 'POST', body: {} })).json()).toEqual({ runId: run.id, result: 'asked' });
  open();
  expect((await run.outcome).status).toBe('completed');
  expect(purposes(server.world.facts)).toContain('compact');
});
