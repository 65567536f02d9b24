// The event stream: each fact exactly once and in order, whatever happens to the connection.
import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { native } from '../../src/dialects/native.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createFacts, createId, createRow, createUnit } from '../../src/testing/store-suite/fixtures.ts';
import { openStream, type SentEvent } from './sse.ts';
import { createTestServer, type TestServer } from './support.ts';

/** A root that works for `turns` turns. Its calls cost little: the files do not exist. */
const worker = (turns: number, delayMs = 0) => ({
  steps: [
    ...Array.from({ length: turns }, (_, i) => ({ delayMs, calls: [{ tool: 'read', args: { path: `missing-${i}` } }] })),
    { text: 'a long answer, in pieces', chunkSize: 4 },
  ],
});

const isEnd = (event: SentEvent | undefined) => (event?.data as Fact | undefined)?.type === 'run.ended';
const factIds = (events: SentEvent[]) => events.filter(({ event }) => event === 'fact').map(({ id }) => id);

async function storedIds(server: TestServer, rootId?: string): Promise<string[]> {
  const facts = await server.world.store.facts(rootId === undefined ? {} : { rootId });
  return facts.map(({ position }) => position);
}

it('sends a tree from its first fact, then live facts and deltas', async () => {
  await using server = await createTestServer({ script: { runs: [worker(2)] } });
  const { id } = await server.api.start({ task: 'work' });
  const stream = await openStream(server.server.url, `/api/events?tree=${id}`);
  await stream.until((events) => isEnd(events.at(-1)));
  expect(stream.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(factIds(stream.events)).toEqual(await storedIds(server));
  const deltas = stream.events.filter(({ event }) => event === 'delta');
  const texts = deltas.map(({ data }) => data as { kind: string; text: string }).filter(({ kind }) => kind === 'text');
  expect(texts.map(({ text }) => text).join('')).toBe('a long answer, in pieces');
  expect(deltas.every(({ id: position }) => position === null)).toBe(true);
  const first = stream.events[0]?.data as Fact;
  expect(Object.keys(first)).toEqual(['runId', 'seq', 'at', 'v', 'type', 'data', 'hash']);
  stream.cut();
});

it('sends each fact exactly once and in order to a reader that is cut 1,000 times', async () => {
  await using server = await createTestServer({ script: { runs: [worker(400, 2)] }, limits: { maxTurns: 500, maxRuns: 10 } });
  const random = createRandom(20261116);
  const { id } = await server.api.start({ task: 'work' });
  const read: SentEvent[] = [];
  const isOver = () => isEnd(read.at(-1));
  let cuts = 0;
  let lastEventId: string | undefined;
  while (cuts < 1_000 || !isOver()) {
    // A reader that has everything reads the newest facts again.
    if (isOver()) {
      const back = Math.floor(random() * Math.min(read.length, 50));
      read.splice(read.length - back - 1);
      lastEventId = read.at(-1)?.id ?? undefined;
    }
    let left = 1 + Math.floor(random() * 8);
    const stream = await openStream(server.server.url, `/api/events?tree=${id}`, {
      ...(lastEventId === undefined ? {} : { lastEventId }),
      onEvent(event, cut) {
        if (event.event === 'fact') {
          read.push(event);
          lastEventId = event.id as string;
        }
        if (--left === 0 || (event.data as Fact).type === 'run.ended') cut();
      },
    });
    await stream.ended;
    cuts++;
  }
  expect(cuts).toBeGreaterThanOrEqual(1_000);
  expect(factIds(read)).toEqual(await storedIds(server, id));
  const stored = await server.world.store.facts({ rootId: id });
  expect(read.map(({ data }) => (data as Fact).hash)).toEqual(stored.map(({ hash }) => hash));
});

it('keeps two trees apart', async () => {
  await using server = await createTestServer({ script: { runs: [worker(20), worker(20)] } });
  const [one, two] = [await server.api.start({ task: 'one' }), await server.api.start({ task: 'two' })];
  const streams = await Promise.all([one, two].map(({ id }) => openStream(server.server.url, `/api/events?tree=${id}`)));
  for (const [i, { id }] of [one, two].entries()) {
    const stream = streams[i] as (typeof streams)[number];
    await stream.until((events) => isEnd(events.at(-1)));
    expect(new Set(stream.events.map(({ data }) => (data as Fact).runId))).toEqual(new Set([id]));
    expect(factIds(stream.events)).toEqual(await storedIds(server, id));
    stream.cut();
  }
});

it('sends all trees from now on, and with ?after= what was missed', async () => {
  await using server = await createTestServer({ script: { runs: [worker(1), worker(1)] } });
  await (await server.api.start({ task: 'before' })).outcome;
  const position = await server.api.position();
  const stream = await openStream(server.server.url, '/api/events');
  await expect.poll(async () => (await server.ask('/metrics')).text).toContain('retinue_event_subscribers 1');
  await (await server.api.start({ task: 'after' })).outcome;
  await stream.until((events) => isEnd(events.at(-1)));
  const later = (await storedIds(server)).filter((id) => Number(id) > Number(position));
  expect(factIds(stream.events)).toEqual(later);
  stream.cut();
  const again = await openStream(server.server.url, `/api/events?after=${position}`);
  await again.until((events) => events.length === later.length);
  expect(factIds(again.events)).toEqual(later);
  again.cut();
});

it.each(['999999', 'nonsense'])('sends reset for the unknown position %s', async (position) => {
  await using server = await createTestServer({ script: { runs: [worker(1), worker(1)] } });
  await (await server.api.start({ task: 'before' })).outcome;
  const newest = await server.api.position();
  const stream = await openStream(server.server.url, '/api/events', { lastEventId: position });
  await stream.until((events) => events.length > 0);
  expect(stream.events[0]).toEqual({ id: newest, event: 'reset', data: { type: 'reset', position: newest } });
  stream.cut();
});

it('sends `reset` to a reader of all trees that is too far behind, and the facts to a reader of one tree', async () => {
  const store = createMemoryStore();
  const api = createApi({
    ...{ store, clock: systemClock, ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native },
    runtime: () => Promise.reject(new Error('nothing is run here')),
  });
  await using server = await createTestServer({ listen: { api } });
  const owner = await store.open();
  const id = createId(1);
  const [batch, batches] = [10_000, 6];
  for (let i = 0; i < batches; i++) {
    const facts = createFacts(id, i * batch + 1, (i + 1) * batch);
    await store.append(owner, [createUnit(id, { facts, rows: [createRow(id)] })]);
  }
  const newest = await api.position();
  const far = await openStream(server.server.url, '/api/events', { lastEventId: '1' });
  await far.until((events) => events.length > 0);
  expect(far.events).toEqual([{ id: newest, event: 'reset', data: { type: 'reset', position: newest } }]);
  far.cut();
  const near = await openStream(server.server.url, '/api/events', { lastEventId: String(batch * batches - 100) });
  await near.until((events) => events.length >= 100);
  expect(near.events.every(({ event }) => event === 'fact')).toBe(true);
  near.cut();
  // A tree is never too long to be read again.
  const stop = new AbortController();
  for await (const event of api.stream({ tree: id, after: '1', signal: stop.signal })) {
    expect(event).toMatchObject({ type: 'message.received', position: '2' });
    break;
  }
});

it('sends heartbeats without an id, and stops them with the last reader', async () => {
  await using server = await createTestServer({ listen: { events: { heartbeatMs: 5 } } });
  const stream = await openStream(server.server.url, '/api/events');
  await expect.poll(() => stream.comments.filter((comment) => comment === ': heartbeat').length).toBeGreaterThan(2);
  stream.cut();
  await expect.poll(async () => (await server.ask('/metrics')).text).toContain('retinue_event_subscribers 0');
});

it('cuts a reader that takes nothing, and the run goes on', async () => {
  const steps = [{ text: 'x'.repeat(200_000), usage: { input: 1, output: 1 } }];
  await using server = await createTestServer({
    script: { runs: [{ times: 'any', steps }] },
    listen: { events: { maxBlockedMs: 1_000 } },
  });
  const slow = await openStream(server.server.url, '/api/events', { paused: true });
  const fast = await openStream(server.server.url, '/api/events');
  await expect.poll(async () => (await server.ask('/metrics')).text).toContain('retinue_event_subscribers 2');
  const talk = async () => {
    const { id, outcome } = await server.api.start({ task: 'talk' });
    expect(await outcome).toMatchObject({ status: 'completed', error: null });
    // The other reader is at no moment far behind, so it is not cut on a busy machine either.
    await fast.until((events) => (events.at(-1)?.data as Fact | undefined)?.runId === id && isEnd(events.at(-1)));
  };
  // As much as the buffers of the sockets take, and until the time is over.
  while (!(await server.ask('/metrics')).text.includes('retinue_event_cuts_total 1')) await talk();
  await talk();
  expect(factIds(fast.events)).toEqual(await storedIds(server));
  expect((await server.ask('/metrics')).text).toContain('retinue_event_cuts_total 1');
  slow.response.resume();
  await slow.ended;
  fast.cut();
});

it('ends all streams when the server closes', async () => {
  await using server = await createTestServer();
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(server.server.url, '/api/events')));
  await server.server.close();
  await Promise.all(streams.map(({ ended }) => ended));
});

/** A small seeded generator, so that a failure can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
