// How much room a run leaves for answers, thoughts and summaries, and how often it makes room.
import { describe, expect, it } from 'vitest';
import { noteName } from '../../examples/demo/long/model.ts';
import type { EffortPlan } from '../../src/ports/model.ts';
import { compactionsAsked, factsOf, notes, readerWorld, task, window } from '../support/note-reader.ts';

type Plan = Extract<EffortPlan, { ok: true }>;

const planWith = (thinking: Plan['thinking']) => (): EffortPlan => ({ ok: true, settings: {}, thinking, note: null });

/** The output limits of turns and of summaries. */
async function limitsOf({ handle, world }: NonNullable<Parameters<typeof readerWorld>[0]>, effort?: 'high' | 'none') {
  const made = await readerWorld({ handle, world });
  await using _ = made.world;
  const run = await made.world.runtime.start({ ...task, ...(effort && { effort }) });
  expect((await run.outcome).summary).toContain('heron-7');
  const isSummary = (prompt: string[]) => prompt.at(-1)?.includes('[compaction]') ?? false;
  const limits = (of: boolean) => new Set(made.limits.filter((_, index) => isSummary(made.prompts[index] as string[]) === of));
  return { turns: [...limits(false)], summaries: [...limits(true)] as number[] };
}

describe('a configured window', () => {
  it('limits answers to a quarter of it', async () => {
    const compaction = { models: { 'test/test': { contextWindow: window } } };
    const { turns } = await limitsOf({ handle: { contextWindow: null, maxOutputTokens: 8192 }, world: { settings: { compaction } } });
    expect(turns).toEqual([window / 4]);
  });

  it('leaves shorter limits as they are', async () => {
    const compaction = { models: { 'test/test': { contextWindow: window } } };
    const { turns } = await limitsOf({ handle: { contextWindow: null, maxOutputTokens: 512 }, world: { settings: { compaction } } });
    expect(turns).toEqual([512]);
  });
});

describe('the limit of a summary', () => {
  it('has room for thinking that counts as output', async () => {
    const handle = { maxOutputTokens: 4000, planEffort: planWith({ tokens: 900, isExtra: false }) };
    const { summaries } = await limitsOf({ handle }, 'high');
    expect(summaries).toEqual([window / 8 + 900]);
  });

  it('has no such room if thinking is counted apart, or turned off', async () => {
    const apart = await limitsOf({ handle: { maxOutputTokens: 4000, planEffort: planWith({ tokens: 100, isExtra: true }) } }, 'high');
    const off = await limitsOf({ handle: { maxOutputTokens: 4000 } }, 'none');
    expect([apart.summaries, off.summaries]).toEqual([[window / 8], [window / 8]]);
  });

  it('has room for a model that nobody told how much to think, as far as the window and its own limit allow', async () => {
    const compaction = { startAt: 0.5 };
    const { summaries } = await limitsOf({ handle: { maxOutputTokens: 1300 }, world: { settings: { compaction } } });
    for (const limit of summaries) {
      expect(limit).toBeGreaterThan(window / 8);
      expect(limit).toBeLessThanOrEqual(1300);
    }
  });
});

describe('room is made', () => {
  it('earlier if the thinking of an answer comes on top of its limit', async () => {
    const first = async (thinking: Plan['thinking']) => {
      const { world } = await readerWorld({ handle: { maxOutputTokens: 1000, planEffort: planWith(thinking) } });
      await using _ = world;
      await (await world.runtime.start({ ...task, effort: 'high' })).outcome;
      return compactionsAsked(world.facts)[0]?.data.turn ?? 0;
    };
    const within = await first({ tokens: 3000, isExtra: false });
    expect(await first({ tokens: 3000, isExtra: true })).toBeLessThan(within);
  });

  it('less often if a compaction gains little, but before a request is refused', async () => {
    // The task alone takes three quarters of the room.
    const { world } = await readerWorld({ notes: 40 });
    await using _ = world;
    const run = await world.runtime.start({ ...task, context: 'x'.repeat(14_500) });
    expect((await run.outcome).summary).toContain('heron-7');
    const turns = compactionsAsked(world.facts).map(({ data }) => data.turn);
    expect(turns.length).toBeGreaterThan(1);
    expect(world.types()).not.toContain('model.failed');
    for (const [index, turn] of turns.entries()) if (index > 0) expect(turn - (turns[index - 1] as number)).toBeGreaterThan(4);
  });

  it('with a gap to the next time, also where the room for answers is what is short', async () => {
    // Long results that pruning can remove; the answers may take most of the window.
    const files = Object.fromEntries(
      Array.from({ length: notes }, (_, i) => [noteName(i + 1), `The code word is heron-7. ${'x'.repeat(700)}`]),
    );
    const { world } = await readerWorld({
      notes: 25,
      handle: { maxOutputTokens: 3000 },
      world: { files, settings: { compaction: { enabled: false, startAt: 0.9 } } },
    });
    await using _ = world;
    await (await world.runtime.start(task)).outcome;
    const pruned = factsOf(world.facts, 'context.pruned');
    expect(pruned.length).toBeGreaterThan(0);
    expect(pruned.length).toBeLessThan(6);
    for (const { data } of pruned) expect(data.calls.length).toBeGreaterThan(1);
  });
});
