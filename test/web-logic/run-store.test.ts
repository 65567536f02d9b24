// The facts of a run as conversation and log in the dashboard.
import { expect, it } from 'vitest';
import type { ErasedFact, StoredFact } from '../../src/contract/fact.ts';
import { createRunStore } from '../../web/src/data/run-store.ts';
import { createFact, createTestHub, createTestScheduler, deferred, settle } from './support.ts';

const asked = (turn: number, position: number, at?: string) =>
  createFact(
    { type: 'model.asked', data: { turn, attempt: 1, purpose: 'turn', cause: null }, ...(at === undefined ? {} : { at }) },
    position,
  );
const answered = (turn: number, text: string, position: number) =>
  createFact(
    { type: 'model.answered', data: { turn, content: [{ type: 'text', text }], usage: { input: 1, output: 1 }, costUsd: null } },
    position,
  );
const delta = (turn: number, text: string) => ({ type: 'delta', runId: 'a', turn, kind: 'text', text }) as const;

function openStore(load: () => Promise<(StoredFact | ErasedFact)[]>) {
  const hub = createTestHub();
  const scheduler = createTestScheduler();
  const store = createRunStore('a', { client: { facts: load }, hub, createScheduler: scheduler.create });
  store.open();
  return { hub, scheduler, store };
}

it('joins loaded facts and events without gap or repetition', async () => {
  const loading = deferred<StoredFact[]>();
  const { hub, store } = openStore(() => loading.promise);
  await settle();
  hub.send(answered(1, 'one', 2), asked(2, 3), delta(2, 'tw'));
  loading.resolve([asked(1, 1), answered(1, 'one', 2)]);
  await settle();
  hub.send(delta(2, 'o'));
  const { conversation, log } = store.record();
  expect(log.map(({ fact }) => fact.position)).toEqual(['1', '2', '3']);
  expect(conversation.items.map((item) => item.kind)).toEqual(['answer']);
  expect(conversation.streaming?.text).toBe('two');
  hub.send(answered(2, 'two!', 4));
  expect(conversation.streaming).toBeNull();
  expect(conversation.items).toHaveLength(2);
});

it('knows whether the beginning of a streamed answer is missing', async () => {
  const late = openStore(async () => [asked(1, 1)]);
  await settle();
  late.hub.send(delta(1, 'iddle'));
  expect(late.store.record().isStreamCut).toBe(true);

  const early = openStore(async () => []);
  await settle();
  early.hub.send(asked(1, 1, new Date().toISOString()), delta(1, 'beginning'));
  expect(early.store.record().isStreamCut).toBe(false);
});

it('shows what remains of erased facts, and ignores other runs', async () => {
  const erased = { runId: 'a', seq: 1, at: '', v: 1, type: 'run.created', hash: 'h', erased: true, position: '1' } as const;
  const { hub, store } = openStore(async () => [erased]);
  await settle();
  hub.send(createFact({ type: 'run.paused', runId: 'other', data: { reason: '', resumeAt: null } }, 2));
  expect(store.record().log).toEqual([{ fact: erased, text: '' }]);
});
