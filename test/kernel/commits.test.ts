// When facts are committed (J6, invariant 2): what a later step depends on before that step, everything else with the next commit or a moment later.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Clock } from '../../src/ports/clock.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld } from '../support/world.ts';

/** Facts that can wait are held back until the test says that their time is over. */
function createHoldingClock() {
  const hand = createHandClock();
  let held: (() => void)[] = [];
  const clock: Clock = { ...hand, defer: (run, delayMs) => (delayMs === undefined ? hand.defer(run) : void held.push(run)) };
  return {
    clock,
    advance: hand.advance,
    async endWait() {
      const due = held;
      held = [];
      for (const run of due) run();
      await hand.advance(0);
    },
  };
}

const anyAgent = { name: 'any', description: '', prompt: 'You work.', source: 'test' };

/** A run that calls one tool and then waits 100 ms for its second answer. `commits`: the types of facts, commit by commit. */
async function startRun(readOnly: boolean) {
  const { clock, advance, endWait } = createHoldingClock();
  const commits: string[][] = [];
  const memory = createMemoryStore({ clock });
  const store: typeof memory = {
    ...memory,
    append(owner, units) {
      commits.push(units.flatMap((unit) => unit.facts.map(({ type }) => type)));
      return memory.append(owner, units);
    },
  };
  const seenByTool: string[] = [];
  const tool: AnyTool = {
    ...{ name: 'poke', description: '', input: z.strictObject({}), readOnly, idempotent: readOnly, subjects: () => [] },
    execute: async () => {
      seenByTool.push(...commits.flat());
      return { output: 'poked' };
    },
  };
  const script = {
    runs: [
      {
        steps: [
          { text: '', calls: [{ tool: 'poke', args: {} }] },
          { delayMs: 100, text: 'done' },
        ],
      },
    ],
  };
  const rulesets = [{ kind: 'owner' as const, owner: 'test', rules: [{ action: 'allow' as const, pattern: null, tool: 'poke' }] }];
  const world = await createWorld({ clock, store, tools: [tool], agents: [anyAgent], script, rulesets });
  const run = await world.runtime.start({ task: 'work', agent: 'any' });
  await advance(50);
  return { world, run, commits, seenByTool, advance, endWait };
}

describe('the facts of a turn', () => {
  it('before a tool: its call is stored with the answer that asked for it', async () => {
    const { world, run, seenByTool, advance } = await startRun(true);
    await using _ = world;
    expect(seenByTool.slice(-2)).toEqual(['model.answered', 'tool.asked']);
    await advance(100);
    expect((await run.outcome).status).toBe('completed');
  });

  it('after a tool that only reads: the next request does not wait for them, and they are stored a moment later', async () => {
    const { world, run, commits, endWait, advance } = await startRun(true);
    await using _ = world;
    expect(commits.at(-1)?.at(-1)).toBe('tool.asked');
    await endWait();
    expect(commits.at(-1)).toEqual(['tool.finished', 'model.asked']);
    await advance(100);
    expect((await run.outcome).status).toBe('completed');
  });

  it('after a tool that only reads: they are stored with the next facts, if those come first', async () => {
    const { world, run, commits, advance } = await startRun(true);
    await using _ = world;
    await advance(100);
    expect((await run.outcome).status).toBe('completed');
    expect(commits.at(-1)).toEqual(['tool.finished', 'model.asked', 'model.answered', 'run.ended']);
  });

  it('after a tool that changes something: they are stored at once', async () => {
    const { world, run, commits, advance } = await startRun(false);
    await using _ = world;
    expect(commits.flat()).toContain('tool.finished');
    await advance(100);
    expect((await run.outcome).status).toBe('completed');
  });
});
