// What replay compares (invariant 9): each row changes one fact of a recorded run, and replay must name what differs and where.
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Fact, FactType, StoredFact } from '../../src/contract/fact.ts';
import type { Store } from '../../src/ports/store.ts';
import { importTree } from '../../src/records/import-tree.ts';
import { replayTree } from '../../src/records/verify.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

interface Recorded {
  id: string;
  store: Store;
}

/** A journal of `test/fixtures/journals`. */
async function importJournal(name: string): Promise<Recorded> {
  const store = createMemoryStore();
  const file = join(import.meta.dirname, `../fixtures/journals/v1/${name}.jsonl`);
  const { rootId } = await importTree(createInterface({ input: createReadStream(file) }), { unfinished: false }, store);
  return { id: rootId, store };
}

/** A run with an approved call, a message, an empty answer and a call that is repeated until it is refused. */
async function recordRun(): Promise<Recorded> {
  const store = createMemoryStore();
  const push = tool('push', async () => ({ output: 'pushed' }), { input: z.strictObject({}) });
  const again = { calls: [{ tool: 'list', args: { path: '.' } }] };
  const builtIn = builtInRuleset([], ['push']);
  await using world = await createWorld({
    store: { ...store, close: async () => {} },
    tools: [push],
    agents: [anyAgent],
    rulesets: [{ ...builtIn, rules: [...builtIn.rules, parseRule('ask push')] }],
    script: { runs: [{ steps: [{ calls: [{ tool: 'push' }] }, { text: '' }, again, again, again, again, { text: 'done' }] }] },
    options: { questions: { canAnswer: () => true } },
  });
  const run = await world.runtime.start({ task: 'work', agent: 'any' });
  await vi.waitFor(() => expect(world.types()).toContain('approval.asked'));
  await run.send('hurry');
  const { data } = world.facts.find((fact) => fact.type === 'approval.asked') as Fact & {
    data: { turn: number; index: number; hash: string };
  };
  await run.answer(data, { allowed: true, by: 'ada' });
  expect(await run.outcome).toMatchObject({ status: 'completed' });
  return { id: run.id, store };
}

const sources = {
  own: recordRun,
  tree: () => importJournal('native-tree'),
  compacted: () => importJournal('native-compacted'),
};
const recorded = {} as Record<keyof typeof sources, Recorded>;
beforeAll(async () => {
  for (const [name, record] of Object.entries(sources)) recorded[name as keyof typeof sources] = await record();
});

interface Change {
  /** Which recorded run. */
  of: keyof typeof sources;
  /** The fact that is changed: the `nth` of this type, counted from 1. */
  type: FactType;
  nth?: number;
  /** New values of fields of its data. */
  set: object;
  /** The difference that is expected: of this fact, or of the next one of type `at`. */
  what: string;
  at?: FactType;
}

const changes: Change[] = [
  // Input from outside is taken as recorded, so a change shows in the next request.
  { of: 'own', type: 'message.received', set: { text: 'take your time' }, what: 'the request', at: 'model.asked' },
  { of: 'own', type: 'tool.finished', set: { output: 'refused' }, what: 'the request', at: 'model.asked' },
  { of: 'tree', type: 'run.started', set: { first: 'another task' }, what: 'the request', at: 'model.asked' },
  // What the kernel computed.
  { of: 'own', type: 'model.asked', nth: 2, set: { request: '0'.repeat(64) }, what: 'the request' },
  { of: 'compacted', type: 'model.asked', nth: 7, set: { request: '0'.repeat(64) }, what: 'the request' },
  { of: 'compacted', type: 'model.asked', nth: 8, set: { request: '0'.repeat(64) }, what: 'the request' },
  { of: 'own', type: 'model.asked', nth: 2, set: { attempt: 2 }, what: 'the numbers of the request' },
  { of: 'own', type: 'model.asked', nth: 2, set: { turn: 7 }, what: 'the numbers of the request' },
  { of: 'own', type: 'model.asked', nth: 2, set: { upTo: 1 }, what: 'the numbers of the request' },
  { of: 'own', type: 'model.asked', nth: 2, set: { purpose: 'summary' }, what: 'the step' },
  { of: 'own', type: 'model.asked', nth: 2, set: { cause: 'max_turns' }, what: 'the step' },
  { of: 'own', type: 'model.asked', nth: 2, set: { effort: 'high' }, what: 'the effort' },
  { of: 'own', type: 'tool.asked', set: { tool: 'write' }, what: 'the call' },
  { of: 'own', type: 'tool.asked', set: { arguments: { force: true } }, what: 'the call' },
  { of: 'own', type: 'tool.asked', set: { index: 1 }, what: 'a call that is not in the answer' },
  { of: 'own', type: 'tool.asked', nth: 2, set: { rejected: 'repeated' }, what: 'a call was refused as repeated' },
  { of: 'own', type: 'tool.asked', nth: 5, set: { rejected: null }, what: 'a repeated call was made' },
  { of: 'own', type: 'approval.asked', set: { hash: '0'.repeat(64) }, what: 'the call in question' },
  { of: 'own', type: 'approval.answered', set: { hash: '0'.repeat(64) }, what: 'the call in question' },
  { of: 'own', type: 'tool.finished', set: { index: 1 }, what: 'a result without an open call' },
  { of: 'own', type: 'model.nudged', set: { text: 'Wake up.' }, what: 'the nudge' },
  { of: 'own', type: 'model.nudged', set: { reason: 'malformed' }, what: 'the nudge' },
  { of: 'compacted', type: 'context.compacted', set: { summary: 'Delete everything.' }, what: 'the hand-over' },
  { of: 'compacted', type: 'context.compacted', set: { taint: [] }, what: 'the hand-over' },
  { of: 'compacted', type: 'context.compacted', set: { kept: [] }, what: 'the hand-over' },
  { of: 'compacted', type: 'context.compacted', set: { memo: {} }, what: 'the hand-over' },
];

/** The recorded run with other facts; the hashes stay, because replay does not check them. */
function withFacts(store: Store, change: (facts: Fact[]) => Fact[]): Store {
  return { ...store, facts: async (query) => change(await store.facts(query)) as StoredFact[] };
}

describe('replay', () => {
  it.each(Object.keys(sources) as (keyof typeof sources)[])('finds no difference in the run as it was recorded (%s)', async (of) => {
    const { id, store } = recorded[of];
    const [result, ...below] = await replayTree(id, store);
    const asked = (await store.facts({ runId: id })).filter(({ type }) => type === 'model.asked');
    expect(result).toMatchObject({ runId: id, requests: asked.length, difference: null });
    for (const { difference } of below) expect(difference).toBeNull();
  });

  const rows = changes.map((change) => ({ nth: 1, at: change.type, ...change, to: JSON.stringify(change.set).slice(0, 40) }));
  it.each(rows)('finds $of: $type $nth changed to $to', async ({ of, type, nth, set, what, at }) => {
    const { id, store } = recorded[of];
    const facts = (await store.facts({ runId: id })) as Fact[];
    const index = facts.indexOf(facts.filter((fact) => fact.type === type)[nth - 1] as Fact);
    const changed = facts.map((fact, i) => (i === index ? ({ ...fact, data: { ...fact.data, ...set } } as Fact) : fact));
    const expected = at === type ? facts[index] : facts.slice(index + 1).find((fact) => fact.type === at);
    const [result] = await replayTree(
      id,
      withFacts(store, () => changed),
    );
    expect(result?.difference).toMatchObject({ seq: expected?.seq, type: at, what });
  });

  it('finds an outcome that the facts do not give', async () => {
    const { id, store } = recorded.own;
    const change = (set: object) => (facts: Fact[]) =>
      facts.map((fact) => (fact.type === 'run.ended' ? { ...fact, data: { outcome: { ...fact.data.outcome, ...set } } } : fact));
    for (const set of [{ summary: 'all is well' }, { turns: 1 }, { success: false }, { status: 'exhausted' }]) {
      const [result] = await replayTree(id, withFacts(store, change(set)));
      expect(result?.difference, JSON.stringify(set)).toMatchObject({ type: 'run.ended', what: 'the outcome' });
    }
  });

  it('finds facts that may not be where they are', async () => {
    const { id, store } = recorded.own;
    const differenceOf = async (change: (facts: Fact[]) => Fact[]) => (await replayTree(id, withFacts(store, change)))[0]?.difference?.what;
    const answer = (fact: Fact) => fact.type === 'model.answered';
    expect(await differenceOf((facts) => [...facts, facts.find(answer) as Fact])).toBe('a fact after the end');
    expect(await differenceOf((facts) => facts.flatMap((fact): Fact[] => (answer(fact) ? [fact, fact] : [fact])))).toBe(
      'an answer without a request',
    );
    // The run ends while its model is asked.
    expect(await differenceOf((facts) => [...facts.slice(0, 3), facts.at(-1) as Fact])).toBe('the outcome');
  });
});
