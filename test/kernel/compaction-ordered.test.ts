// What follows a compaction that was ordered while a model call was open.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGateClock } from '../support/gate-clock.ts';
import { factsOf } from '../support/note-reader.ts';
import { createWorld } from '../support/world.ts';

const read = (path: string) => ({ calls: [{ tool: 'read', args: { path } }] });

/** Reads two files of the folder `web`, which has rules, and is compacted between them. */
async function compactBetween(summary: object) {
  const steps = [
    read('web/a.txt'),
    { calls: [{ tool: 'glob', args: { pattern: '*.txt' } }] },
    { delayMs: 1, calls: [{ tool: 'list', args: { path: '.' } }] },
    read('web/b.txt'),
    { text: 'done' },
  ];
  const scriptClock = createGateClock();
  await using world = await createWorld({ script: { runs: [{ steps, compact: [summary] }] }, scriptClock });
  mkdirSync(join(world.workspace, 'web'));
  writeFileSync(join(world.workspace, 'web', 'AGENTS.md'), 'Use tabs in web.');
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(world.workspace, 'web', name), 'word '.repeat(1000));
  const run = await world.runtime.start({ task: 'x' });
  await expect.poll(() => factsOf(world.facts, 'model.asked').length).toBe(3);
  expect(run.compact()).toBe(true);
  scriptClock.open();
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  const withRules = factsOf(world.facts, 'tool.finished').filter(({ data }) => data.output.includes('[Rules for files in web'));
  return { compacted: factsOf(world.facts, 'context.compacted'), turnsWithRules: withRules.map(({ data }) => data.turn) };
}

it('shows the rules of folders again, because the summary has replaced them', async () => {
  const { compacted, turnsWithRules } = await compactBetween({ text: '# Goal\nread all' });
  expect(compacted).toHaveLength(1);
  expect(Object.keys(compacted[0]?.data.memo ?? {})).toEqual(['read:web/a.txt']);
  expect(turnsWithRules).toEqual([1, 4]);
});

it('does not use an answer that a content filter has cut off', async () => {
  const { compacted, turnsWithRules } = await compactBetween({ text: '# Goal\nread all', finish: 'content-filter' });
  expect(compacted).toEqual([]);
  expect(turnsWithRules).toEqual([1]);
});
