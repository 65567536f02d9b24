// The timeline of a tree in the dashboard: facts in pages and then events, each exactly once.
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { applyToTimeline, createTimeline } from '../../src/views/timeline.ts';
import { createEventHub } from '../../web/src/data/event-hub.ts';
import { createTimelineStore, pageSize } from '../../web/src/timeline/store.ts';
import { createTestServer, tokenOf } from '../server/support.ts';
import { createdFact, createFact, createTestHub, createTestScheduler, deferred, settle } from './support.ts';

function fold(facts: StoredFact[]) {
  const timeline = createTimeline();
  for (const fact of facts) applyToTimeline(timeline, fact);
  return timeline;
}

type Load = (after: string | undefined) => Promise<StoredFact[]>;

function openStore(load: Load, now = () => Date.parse('2026-01-01T00:00:05.000Z')) {
  const hub = createTestHub();
  const scheduler = createTestScheduler();
  const asked: (string | undefined)[] = [];
  const facts = (_: string, options: { after?: string } = {}) => {
    asked.push(options.after);
    return load(options.after);
  };
  const store = createTimelineStore('a', { client: { facts }, hub, createScheduler: scheduler.create, now });
  store.open();
  return { hub, scheduler, store, asked };
}

const lanes = ({ store, scheduler }: ReturnType<typeof openStore>) => {
  scheduler.flush();
  return [...store.state().timeline.lanes.keys()];
};

it('shows a tree of a real server while it runs, and to its end', async () => {
  const tasks = ['one', 'two'].map((label) => ({ task: label, label, agent: 'explore' }));
  const script = {
    runs: [
      { when: { agent: 'general' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'done' }] },
      { when: { label: 'one' }, steps: [{ text: 'ok' }] },
      { when: { label: 'two' }, steps: [{ hang: 'start' }] },
    ],
  };
  await using server = await createTestServer({ script });
  const { id, outcome } = await server.api.start({ task: 'lead' });
  await expect.poll(() => server.world.types().filter((type) => type === 'model.asked').length).toBe(3);
  const client = createClient({ url: server.server.url, token: tokenOf('read') });
  const hub = createEventHub(client);
  hub.start();
  const createScheduler = (run: () => void) => ({ schedule: () => queueMicrotask(run), cancel: () => {} });
  const store = createTimelineStore(id, { client, hub, createScheduler, now: Date.now });
  store.open();
  await expect.poll(() => store.state().isComplete).toBe(true);
  expect(store.state().timeline.lanes.get(id)?.endedAt).toBeNull();
  await createClient({ url: server.server.url, token: tokenOf('steer') }).cancel(id, { reason: 'enough' });
  await outcome;
  await expect.poll(() => store.state().timeline.lanes.get(id)?.status).toBe('cancelled');
  expect(store.state().timeline).toEqual(fold(await server.world.store.facts({ rootId: id })));
  store.close();
  hub.stop();
});

it('loads page after page', async () => {
  const all = [createdFact('a', null, 1), ...Array.from({ length: 2 * pageSize }, (_, i) => createdFact(`c${i}`, 'a', i + 2))];
  const opened = openStore(async (after) => all.filter(({ position }) => Number(position) > Number(after ?? 0)).slice(0, pageSize));
  await expect.poll(() => opened.scheduler.flush() && opened.store.state().isComplete).toBe(true);
  expect(lanes(opened)).toHaveLength(all.length);
  expect(opened.asked).toEqual([undefined, String(pageSize), String(2 * pageSize)]);
});

describe('events', () => {
  it('that arrive while a page loads are applied after it, but not those that it has', async () => {
    const page = deferred<StoredFact[]>();
    const opened = openStore(() => page.promise);
    await settle();
    opened.hub.send(createdFact('b', 'a', 2), createdFact('c', 'a', 3), createdFact('x', null, 4, 'x'));
    page.resolve([createdFact('a', null, 1), createdFact('b', 'a', 2)]);
    await settle();
    expect(lanes(opened)).toEqual(['a', 'b', 'c']);
    expect(opened.store.state().timeline.lanes.get('a')?.children).toEqual(['b', 'c']);
    opened.hub.send(createdFact('d', 'a', 5), createdFact('y', null, 6, 'y'));
    expect(lanes(opened)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('tell how far the clock of the browser is ahead', async () => {
    const opened = openStore(async () => [createdFact('a', null, 1)]);
    await settle();
    const started = (at: string, position: number) => createFact({ type: 'run.started', data: { model: 'm' }, at }, position);
    opened.hub.send(started('2026-01-01T00:00:02.000Z', 2));
    opened.scheduler.flush();
    expect(opened.store.state().aheadMs).toBe(3000);
    opened.hub.send(started('2026-01-01T00:00:01.000Z', 3), started('2026-01-01T00:00:06.000Z', 4));
    opened.scheduler.flush();
    expect(opened.store.state().aheadMs).toBe(-1000);
  });
});

it('loads again after a reset, and ignores an answer that a later one has overtaken', async () => {
  const first = deferred<StoredFact[]>();
  const answers = [first.promise, Promise.resolve([createdFact('a', null, 1), createdFact('new', 'a', 9)])];
  const opened = openStore(() => answers.shift() as Promise<StoredFact[]>);
  await settle();
  opened.hub.reset();
  await settle();
  first.resolve([createdFact('a', null, 1)]);
  await settle();
  expect(lanes(opened)).toEqual(['a', 'new']);
});

it('keeps an error until it can load', async () => {
  const answers: (() => Promise<StoredFact[]>)[] = [() => Promise.reject(new Error('down')), async () => [createdFact('a', null, 1)]];
  const opened = openStore(() => (answers.shift() as () => Promise<StoredFact[]>)());
  await settle();
  opened.scheduler.flush();
  expect(opened.store.state().error?.message).toBe('down');
  opened.store.reload();
  await settle();
  expect([lanes(opened), opened.store.state().error]).toEqual([['a'], null]);
  opened.store.close();
  expect(opened.hub.size()).toBe(0);
});
