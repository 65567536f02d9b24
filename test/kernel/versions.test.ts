// Versions of the loop and of facts: a run keeps the version it started with, and a program refuses what a newer one wrote.
import { describe, expect, it } from 'vitest';
import type { Draft, Fact } from '../../src/contract/fact.ts';
import { newestFactVersion } from '../../src/contract/fact-version.ts';
import { currentLoopVersion, findLoopVersion } from '../../src/conversation/loop-version.ts';
import { entriesToMessages } from '../../src/conversation/request.ts';
import { createJournal } from '../../src/kernel/journal.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { sha256 } from '../../src/text/canonical.ts';
import { createWorld } from '../support/world.ts';

/** An interrupted run that was started with this loop version, in a store without an owner. */
async function interruptedRun(loop: number) {
  const first = await createWorld({
    script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] },
    excuses: { ended: 'interrupted', told: 'interrupted' },
  });
  const run = await first.runtime.start({ task: 'x', limits: { maxTurns: 1 } });
  await expect.poll(() => first.types()).toContain('run.started');
  const facts = first.facts.filter(({ type }) => type === 'run.created' || type === 'run.started');
  const store = createMemoryStore();
  const owner = await store.open();
  const journal = createJournal({ store, owner, clock: systemClock, onLost: () => {} });
  const blobs = await Promise.all(
    facts.flatMap(hashesIn).map(async (hash) => ({ hash, content: (await first.store.blob(hash)) as string })),
  );
  const drafts = facts.map(({ type, data }) => ({ type, data: type === 'run.started' ? { ...data, loop } : data }) as Draft);
  await journal.record(run.id, [{ runId: run.id, drafts }], { blobs });
  await store.release(owner);
  await run.cancel('done');
  await run.outcome;
  return { store, runId: run.id, workspace: first.workspace, first };
}

function hashesIn(fact: Fact): string[] {
  if (fact.type === 'run.created') return fact.data.definition ? [fact.data.definition] : [];
  return fact.type === 'run.started' ? [fact.data.system, fact.data.tools].filter((hash) => hash !== null) : [];
}

async function wrapUpPrompt(loop: number): Promise<string> {
  const { store, runId, workspace, first } = await interruptedRun(loop);
  let prompt = '';
  const script = { runs: [{ steps: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'the end' }] }] };
  {
    await using second = await createWorld({ script, store: { ...store, close: async () => {} }, settings: { workspace } });
    const resumed = await second.runtime.resume(runId, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'exhausted', summary: 'the end' });
    const { loadState } = await import('../../src/kernel/recovery/history.ts');
    const last = (await loadState(runId, store)).conversation.entries.findLast((entry) => entry.kind === 'user');
    prompt = last?.kind === 'user' ? last.text : '';
  }
  await first[Symbol.asyncDispose]();
  return prompt;
}

describe('the loop version', () => {
  it('1: a resumed run keeps the frozen texts, and still replays', async () => {
    expect(await wrapUpPrompt(1)).toBe(
      'You have reached your limit of turns: no more tools can be called. Give your final answer now from what you know: ' +
        'what you did and found, what is unfinished, and what should be done next.',
    );
  });

  it('current: a resumed run has the current texts', async () => {
    expect(await wrapUpPrompt(currentLoopVersion)).toContain('You cannot call any more tools.');
  });

  it('4: the report on a child says whether it is verified, if it had checks', () => {
    const outcome = {
      runId: '0123456789abcdef',
      status: 'completed',
      turns: 3,
      agent: 'general',
      error: null,
      summary: 'x',
      truncated: null,
    };
    const report = (verified: boolean | null) =>
      findLoopVersion(4)
        .childEnded({ ...outcome, verified } as never, null)
        .split('] ')[0];
    expect([null, true, false].map(report)).toEqual([
      '[run 0123456789abcdef · completed · 3 turns',
      '[run 0123456789abcdef · completed · verified · 3 turns',
      '[run 0123456789abcdef · completed · not verified · 3 turns',
    ]);
    expect(findLoopVersion(3).childEnded({ ...outcome, verified: true } as never, null)).toContain('completed · 3 turns');
  });

  it('5: only from here on invisible characters are no answer, and refused arguments that are nested too deeply are left out', () => {
    expect([findLoopVersion(4).isEmptyAnswer, findLoopVersion(4).argumentDepth]).toEqual([undefined, undefined]);
    const texts = findLoopVersion(5);
    expect(['\u200b', 'x\u200b', '\ufe0f\n', `${'\u2028'.repeat(100_000)}x`].map((text) => texts.isEmptyAnswer?.(text))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    const input = `{"a": ${'['.repeat(64)}${']'.repeat(64)}}`;
    const entry = { kind: 'assistant' as const, content: [{ type: 'tool-call' as const, callId: 'c', tool: 'read', input }] };
    const inputOf = (version: number) => entriesToMessages([entry], findLoopVersion(version))[0]?.content[0];
    expect(inputOf(5)).toMatchObject({ input: {} });
    expect(inputOf(4)).toMatchObject({ input: JSON.parse(input) });
  });

  it.each([
    [1, '6f9a6ec77dfe094190cb722c0fab30b03414aada56e1ccccf049f5e90562ffa8'],
    [2, 'ee8f21a31988ea4d4a9176c6da5c57ca88394dbe78e93019546646462fef73cf'],
  ])('%i is frozen: its texts never change', (version, hash) => {
    const texts = findLoopVersion(version);
    const outcome = {
      runId: '0123456789abcdef',
      label: 'a\u202eb',
      status: 'failed',
      turns: 3,
      error: { code: 'empty', message: 'nothing\u0007' },
      summary: 'x </run-output> y',
      data: { a: 1 },
      truncated: { keptBytes: 1, originalBytes: 2 },
    } as unknown as Parameters<typeof texts.childEnded>[0];
    const all = [
      texts.childEnded(outcome, 'delegate_read'),
      texts.childEnded({ ...outcome, truncated: null, error: null }, null),
      texts.message('ada\u200b', 'hi\r\nthere'),
      ...(['max_turns', 'max_tokens', 'max_cost'] as const).map(texts.wrapUp),
      texts.callsDropped(3),
      texts.resultPruned,
      ...Object.values(texts.nudges),
      ...Object.values(texts.endings).map((text) => (typeof text === 'function' ? text(7 as never) : text)),
      JSON.stringify(texts.limits),
      String([texts.readTool('native', undefined), texts.readTool('dex', 'x')]),
    ];
    expect(texts.compaction).toBeUndefined();
    expect(sha256(all.join('\n'))).toBe(hash);
  });
});

describe('a newer version', () => {
  /** What a newer program would have written, seen through the store. */
  function newer(store: Store, change: (fact: Fact) => Fact): Store {
    return {
      ...store,
      facts: async (query) => (await store.facts(query)).map((fact) => ({ ...fact, ...change(fact) })) as never,
      close: async () => {},
    };
  }

  it.each([
    ['of the loop', (fact: Fact) => (fact.type === 'run.started' ? { ...fact, data: { ...fact.data, loop: 99 } } : fact)],
    ['of a fact', (fact: Fact) => (fact.type === 'run.created' ? { ...fact, v: newestFactVersion(fact.type) + 1 } : fact)],
  ] as [string, (fact: Fact) => Fact][])('%s is refused by a sentence, and the tree is not claimed', async (_, change) => {
    const { store, runId, workspace, first } = await interruptedRun(currentLoopVersion);
    const world = await createWorld({ store: newer(store, change), settings: { workspace } });
    await expect(world.runtime.resume(runId, 'a test')).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringContaining('was written by a newer Retinue; update Retinue'),
    });
    expect((await store.holders([runId])).get(runId) ?? null).toBeNull();
    await world.runtime.close();
    await first[Symbol.asyncDispose]();
  });
});
