// The live state of a tree in the dashboard: no event is lost, and none is applied twice.
import { expect, it } from 'vitest';
import type { TreeSnapshot } from '../../src/contract/view.ts';
import { applyEvent, createLiveState, listDepthFirst } from '../../src/views/live-state.ts';
import { createTreeStore } from '../../web/src/data/tree-store.ts';
import { createdFact, createFact, createTestHub, createTestScheduler, deferred, settle } from './support.ts';

function snapshot(position: number, ...facts: ReturnType<typeof createFact>[]): TreeSnapshot {
  const state = createLiveState();
  for (const fact of facts) applyEvent(state, fact);
  return { rootId: 'a', position: String(position), runs: listDepthFirst(state) };
}

function openStore(load: () => Promise<TreeSnapshot>) {
  const hub = createTestHub();
  const scheduler = createTestScheduler();
  const store = createTreeStore('a', { client: { tree: load }, hub, createScheduler: scheduler.create });
  store.open();
  return { hub, scheduler, store };
}

it('applies events that arrive while the snapshot loads, but not those that it has', async () => {
  const loading = deferred<TreeSnapshot>();
  const { hub, store } = openStore(() => loading.promise);
  await settle();
  hub.send(createdFact('b', 'a', 2), createdFact('c', 'a', 3));
  loading.resolve(snapshot(2, createdFact('a', null, 1), createdFact('b', 'a', 2)));
  await settle();
  expect(store.state().runs.get('a')?.children).toEqual(['b', 'c']);
});

it('ignores other trees', async () => {
  const { hub, scheduler, store } = openStore(async () => snapshot(1, createdFact('a', null, 1)));
  await settle();
  expect(scheduler.flush()).toBe(true);
  hub.send(createdFact('x', null, 2, 'x'), createFact({ type: 'run.started', runId: 'x', data: { model: 'm', deadline: null } }, 3));
  expect(scheduler.flush()).toBe(false);
  expect([...store.state().runs.keys()]).toEqual(['a']);
});

it('tells listeners once for many changes', async () => {
  const { hub, scheduler, store } = openStore(async () => snapshot(1, createdFact('a', null, 1)));
  await settle();
  scheduler.flush();
  let calls = 0;
  store.subscribe(() => calls++);
  const before = store.version();
  hub.send(...Array.from({ length: 100 }, (_, i) => createdFact(`c${i}`, 'a', i + 2)));
  scheduler.flush();
  expect(calls).toBe(1);
  expect(store.version()).toBe(before + 1);
  expect(store.state().runs.size).toBe(101);
});

it('loads again after a reset, and ignores an answer that a later one has overtaken', async () => {
  const first = deferred<TreeSnapshot>();
  const answers = [first.promise, Promise.resolve(snapshot(9, createdFact('a', null, 1), createdFact('new', 'a', 9)))];
  const { hub, store } = openStore(() => answers.shift() as Promise<TreeSnapshot>);
  await settle();
  hub.reset();
  await settle();
  first.resolve(snapshot(1, createdFact('a', null, 1)));
  await settle();
  expect([...store.state().runs.keys()]).toEqual(['a', 'new']);
});

it('keeps an error until it can load, and can be opened again after it was closed', async () => {
  const answers: (() => Promise<TreeSnapshot>)[] = [
    () => Promise.reject(new Error('down')),
    async () => snapshot(1, createdFact('a', null, 1)),
  ];
  const { hub, store } = openStore(() => (answers.shift() as () => Promise<TreeSnapshot>)());
  await settle();
  expect(store.error()?.message).toBe('down');
  store.close();
  expect(hub.size()).toBe(0);
  store.open();
  await settle();
  expect(store.error()).toBeNull();
  expect(store.rootId()).toBe('a');
});
