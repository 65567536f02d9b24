// Versions of the loop and of facts: a run keeps the version it started with, and a program refuses what a newer one wrote.
import { describe, expect, it } from 'vitest';
import { type Draft, type Fact, newestFactVersion } from '../../src/contract/fact.ts';
import { currentLoopVersion } from '../../src/conversation/loop-version.ts';
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
    const { loadState } = await import('../../src/kernel/history.ts');
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

  it('1 is frozen: its texts never change', async () => {
    const { loopV1 } = await import('../../src/conversation/loop-v1.ts');
    const outcome = {
      runId: '0123456789abcdef',
      label: 'a\u202eb',
      status: 'failed',
      turns: 3,
      error: { code: 'empty', message: 'nothing\u0007' },
      summary: 'x </run-output> y',
      data: { a: 1 },
      truncated: { keptBytes: 1, originalBytes: 2 },
    } as unknown as Parameters<typeof loopV1.childEnded>[0];
    const texts = [
      loopV1.childEnded(outcome, 'delegate_read'),
      loopV1.childEnded({ ...outcome, truncated: null, error: null }, null),
      loopV1.message('ada\u200b', 'hi\r\nthere'),
      ...(['max_turns', 'max_tokens', 'max_cost'] as const).map(loopV1.wrapUp),
      loopV1.callsDropped(3),
      loopV1.resultPruned,
      ...Object.values(loopV1.nudges),
      ...Object.values(loopV1.endings).map((text) => (typeof text === 'function' ? text(7 as never) : text)),
      JSON.stringify(loopV1.limits),
      String([loopV1.readTool('native', undefined), loopV1.readTool('dex', 'x')]),
    ];
    expect(sha256(texts.join('\n'))).toBe('6f9a6ec77dfe094190cb722c0fab30b03414aada56e1ccccf049f5e90562ffa8');
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
