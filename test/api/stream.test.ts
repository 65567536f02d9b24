// The event stream of the API: every fact once and in order for every reader, whatever it does; live text between its request and its answer.
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api, StreamEvent } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import type { Delta } from '../../src/contract/delta.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { native } from '../../src/dialects/native.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createFacts, createId, createRow, createUnit } from '../../src/testing/store-suite/fixtures.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const rest = { clock: systemClock, ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native };
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

/** A store of a driving process, and the API of another one. */
function createPair(): { store: Store; api: Api } {
  const memory = createMemoryData();
  return { store: createMemoryStore({ memory }), api: readingApi(createMemoryStore({ memory })) };
}

function readingApi(store: Store): Api {
  return createApi({ ...rest, store, runtime: () => Promise.reject(new Error('only reads')) });
}

/** Collects events until `isEnough`, with at most `limit` of them. */
async function collect(api: Api, options: { tree?: string; after?: string }, count: number): Promise<StreamEvent[]> {
  const stop = new AbortController();
  stops.push(stop);
  const events: StreamEvent[] = [];
  if (count === 0) return events;
  for await (const event of api.stream({ ...options, signal: stop.signal })) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}

async function readAll(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const names = (events: StreamEvent[]) =>
  events.map((event) => (event.type === 'message.received' ? `${event.runId}/${event.seq}` : event.type));

describe('stream', () => {
  it('gives no fact twice to a reader that is ahead of the shared buffer', async () => {
    const memory = createMemoryData();
    const writer = createMemoryStore({ memory });
    const reading = createMemoryStore({ memory });
    let announce: (() => void) | null = null;
    let pages = 0;
    const api = readingApi({
      ...reading,
      watch(changed) {
        announce = changed;
        return () => {};
      },
      async facts(query) {
        const page = await reading.facts(query);
        pages++;
        return page;
      },
    });
    const other = collect(api, {}, 1);
    await expect.poll(() => pages).toBe(1);
    const owner = await writer.open();
    const root = createId(1);
    await writer.append(owner, [createUnit(root, { facts: createFacts(root, 1, 1_300), rows: [createRow(root)] })]);
    // Reads three pages of the store. The shared buffer has none of them yet.
    const ahead = collect(api, { after: '0' }, 1_301);
    await expect.poll(() => pages).toBe(4);
    await writer.append(owner, [createUnit(root, { facts: createFacts(root, 1_301) })]);
    (announce as unknown as () => void)();
    expect((await ahead).map((event) => ('seq' in event ? event.seq : 0))).toEqual(Array.from({ length: 1_301 }, (_, n) => n + 1));
    await other;
  });

  it('gives every fact once and in order to readers that stop and go on at any point, from two processes', async () => {
    const step = fc.record({ tree: fc.integer({ min: 0, max: 3 }), facts: fc.integer({ min: 1, max: 40 }), other: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 }),
        async (steps, cuts) => {
          const memory = createMemoryData();
          const stores = [createMemoryStore({ memory }), createMemoryStore({ memory })] as const;
          const api = readingApi(createMemoryStore({ memory }));
          const owners = [await stores[0].open(), await stores[1].open()] as const;
          const seqs = new Map<string, number>();
          const total = steps.reduce((sum, { facts }) => sum + facts, 0);
          const appending = (async () => {
            for (const { tree, facts, other } of steps) {
              const at = other ? 1 : 0;
              const id = createId(100 + tree * 2 + at);
              const seq = seqs.get(id) ?? 0;
              seqs.set(id, seq + facts);
              await stores[at].append(owners[at], [
                createUnit(id, { facts: createFacts(id, seq + 1, seq + facts), rows: [createRow(id)] }),
              ]);
            }
          })();
          const read: StoredFact[] = [];
          for (let turn = 0; read.length < total; turn++) {
            const count = Math.min(cuts[turn % cuts.length] as number, total - read.length);
            const events = await collect(api, { after: read.at(-1)?.position ?? '0' }, count);
            read.push(...(events as StoredFact[]));
          }
          await appending;
          expect(names(read)).toEqual(names(await stores[0].facts({})));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('catches up with more facts than it keeps, while others follow the tail', async () => {
    const { store, api } = createPair();
    const owner = await store.open();
    const id = createId(1);
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 1), rows: [createRow(id)] })]);
    const slow = api.stream({ after: '0', signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect((await slow.next()).value).toMatchObject({ seq: 1 });
    const fast = collect(api, { after: '0' }, 5_001);
    for (let n = 0; n < 50; n++) await store.append(owner, [createUnit(id, { facts: createFacts(id, 2 + n * 100, 101 + n * 100) })]);
    expect((await fast).map((event) => (event as StoredFact).seq)).toEqual(Array.from({ length: 5_001 }, (_, n) => n + 1));
    for (let seq = 2; seq <= 5_001; seq++) expect((await slow.next()).value).toMatchObject({ seq });
    await slow.return?.(undefined);
  });

  it('gives a tree from its first fact, and nothing of another tree', async () => {
    const { store, api } = createPair();
    const owner = await store.open();
    const [one, two] = [createId(1), createId(2)];
    for (const id of [one, two]) await store.append(owner, [createUnit(id, { facts: createFacts(id, 1, 3), rows: [createRow(id)] })]);
    const reading = collect(api, { tree: two }, 5);
    for (const id of [one, two]) await store.append(owner, [createUnit(id, { facts: createFacts(id, 4, 5) })]);
    expect(names(await reading)).toEqual([1, 2, 3, 4, 5].map((seq) => `${two}/${seq}`));
  });

  it('gives a tree once, although the store shows all trees much later than one', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const behind = createMemoryStore({ memory });
    // As in PostgreSQL, while an earlier transaction of somebody else is open.
    let hidden = true;
    let pages = 0;
    const late: Store = {
      ...behind,
      async facts(query) {
        if (query.rootId !== undefined) pages++;
        return hidden && query.rootId === undefined ? [] : behind.facts(query);
      },
      cursor: async (after) => ({ ...(await behind.cursor(after)), newest: '0' }),
    };
    const owner = await store.open();
    const id = createId(1);
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 1, 1_300), rows: [createRow(id)] })]);
    const reading = collect(readingApi(late), { tree: id }, 1_305);
    await expect.poll(() => pages).toBe(3);
    hidden = false;
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 1_301, 1_305) })]);
    expect(names(await reading)).toEqual(Array.from({ length: 1_305 }, (_, n) => `${id}/${n + 1}`));
  });

  it('begins with the present if it is for all trees and has no cursor', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const owner = await store.open();
    const id = createId(1);
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 1, 3), rows: [createRow(id)] })]);
    const watched = createMemoryStore({ memory });
    const began = Promise.withResolvers<void>();
    let looks = 0;
    const cursor: Store['cursor'] = async (after) => {
      const found = await watched.cursor(after);
      // The tail looks first, then the stream.
      if (++looks === 2) began.resolve();
      return found;
    };
    const events = readingApi({ ...watched, cursor })
      .stream({ signal: new AbortController().signal })
      [Symbol.asyncIterator]();
    const first = events.next();
    await began.promise;
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 4) })]);
    expect((await first).value).toMatchObject({ seq: 4 });
    await events.return?.(undefined);
  });

  it.each(['nonsense', '999', '-1', ''])('says reset for the unknown cursor "%s", and goes on from the newest fact', async (after) => {
    const { store, api } = createPair();
    const owner = await store.open();
    const id = createId(1);
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 1, 3), rows: [createRow(id)] })]);
    const events = api.stream({ after, signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual({ type: 'reset', position: '3' });
    await store.append(owner, [createUnit(id, { facts: createFacts(id, 4) })]);
    expect((await events.next()).value).toMatchObject({ seq: 4 });
    await events.return?.(undefined);
  });

  it('ends at once with its signal, also while it waits', async () => {
    const api = readingApi(createMemoryStore());
    const stop = new AbortController();
    const reading = readAll(api.stream({ signal: stop.signal }));
    stop.abort();
    expect(await reading).toEqual([]);
    expect(await readAll(api.stream({ signal: AbortSignal.abort() }))).toEqual([]);
  });

  it('gives live text of another process between its request and its answer', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const script = { runs: [{ steps: [{ text: 'one two three four five', chunkSize: 5 }] }] };
    await using world = await createWorld({ store, script });
    const driving = createApi({ ...rest, store, runtime: async () => world.runtime });
    const watching = readingApi(createMemoryStore({ memory }));
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    const reading = (async () => {
      for await (const event of watching.stream({ after: '0', signal: stop.signal })) {
        events.push(event);
        if (event.type === 'run.ended') break;
      }
    })();
    const { outcome } = await driving.start({ task: 'x' });
    await outcome;
    await reading;
    const asked = events.findIndex(({ type }) => type === 'model.asked');
    const answered = events.findIndex(({ type }) => type === 'model.answered');
    const deltas = events.flatMap((event, at) => (event.type === 'delta' ? [{ ...event, at }] : []));
    expect(deltas.every(({ at }) => at > asked && at < answered)).toBe(true);
    expect(deltas.map(({ text }: Delta) => text).join('')).toBe('one two three four five');
  });

  it.each([['one tree'], ['all trees']])('gives the first delta of a run that began before the stream of %s', async (which) => {
    const gate = Promise.withResolvers<void>();
    const waits = tool('wait', async () => {
      await gate.promise;
      return { output: 'waited' };
    });
    const steps = [{ calls: [{ tool: 'wait', args: {} }] }, { text: 'said' }];
    await using world = await createWorld({ script: { runs: [{ steps }] }, tools: [waits], agents: [anyAgent] });
    const api = createApi({ ...rest, store: world.store, runtime: async () => world.runtime });
    const { id } = await api.start({ task: 'x', agent: 'any' });
    await expect.poll(() => world.types(id)).toContain('tool.asked');
    const stop = new AbortController();
    const types: string[] = [];
    for await (const { type } of api.stream({ ...(which === 'one tree' ? { tree: id } : {}), after: '0', signal: stop.signal })) {
      types.push(type);
      if (type === 'tool.asked') gate.resolve();
      if (type === 'run.ended') break;
    }
    expect(types.slice(types.indexOf('tool.finished'))).toEqual(['tool.finished', 'model.asked', 'delta', 'model.answered', 'run.ended']);
  });
});

describe('tree', () => {
  it('brings a snapshot up to date with the events after its position', async () => {
    const { applyEvent, snapshotToState, listDepthFirst } = await import('../../src/views/live-state.ts');
    const script = {
      runs: [
        {
          when: { task: 'root' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'child' }, { task: 'child' }] } }] }, { text: 'done' }],
        },
        { when: { task: 'child' }, times: 2, steps: [{ text: 'a child answers' }] },
      ],
    };
    await using world = await createWorld({ script });
    const api = createApi({ ...rest, store: world.store, runtime: async () => world.runtime });
    const { id, outcome } = await api.start({ task: 'root' });
    const early = await api.tree(id);
    await outcome;
    const late = await api.tree(id);
    const state = snapshotToState(early);
    for (const fact of await world.store.facts({ rootId: id, after: early.position })) applyEvent(state, fact);
    expect(listDepthFirst(state)).toEqual(late.runs);
    expect(late.runs.map(({ status, depth }) => [status, depth])).toEqual([
      ['completed', 0],
      ['completed', 1],
      ['completed', 1],
    ]);
  });
});

describe('costs and search', () => {
  it('counts what each agent used itself, and finds runs by their text', async () => {
    const script = {
      runs: [
        {
          when: { task: 'root' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'child', agent: 'explore' }] } }] }, { text: 'done' }],
        },
        { when: { task: 'child' }, steps: [{ text: 'the answer is Forty-Two' }] },
      ],
    };
    await using world = await createWorld({ script });
    const api = createApi({ ...rest, store: world.store, runtime: async () => world.runtime });
    const { outcome } = await api.start({ task: 'root' });
    const { tokens } = await outcome;
    const costs = await api.costs();
    expect(costs.map(({ agent, runs }) => [agent, runs])).toEqual([
      ['general', 1],
      ['explore', 1],
    ]);
    expect(costs.reduce((sum, row) => sum + row.tokens.input + row.tokens.output, 0)).toBe(tokens.input + tokens.output);
    const hits = await api.search('forty-two', { limit: 10 });
    expect(hits.map(({ type }) => type)).toContain('model.answered');
    expect(hits[0]?.excerpt).toContain('Forty-Two');
    expect(await api.search('  ', { limit: 10 })).toEqual([]);
  });
});
