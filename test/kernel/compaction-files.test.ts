// The files that a hand-over lists when the run has read more than it has room for.
import { expect, it } from 'vitest';
import { createGateClock } from '../support/gate-clock.ts';
import { createWorld } from '../support/world.ts';

const name = (n: number) => `f${String(n).padStart(3, '0')}.txt`;
const count = 120;
const reads = (from: number) => ({ calls: Array.from({ length: 40 }, (_, i) => ({ tool: 'read', args: { path: name(from + i) } })) });
const look = { calls: [{ tool: 'list', args: { path: '.' } }] };

it('lists changed files first, then those that were read last', async () => {
  const files = Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), `${n} ${'.'.repeat(500)}\n`]));
  const change = { calls: [{ tool: 'write', args: { path: 'zz.txt', content: 'changed\n' } }] };
  const steps = [change, reads(0), reads(40), reads(80), { delayMs: 1, ...look }, { text: 'done' }];
  const scriptClock = createGateClock();
  await using world = await createWorld({ script: { runs: [{ steps, compact: [{ text: '# Goal\nread all' }] }] }, scriptClock, files });
  const run = await world.runtime.start({ task: 'x' });
  await expect.poll(() => world.types().filter((type) => type === 'model.asked').length).toBe(5);
  expect(run.compact()).toBe(true);
  scriptClock.open();
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
  const [compacted] = world.facts.filter((fact) => fact.type === 'context.compacted');
  const listed = compacted?.data.summary.match(/^- \S+(?=: [0-9a-f]{12}$)/gm)?.map((line) => line.slice(2));
  // The calls of one answer are made at the same time, so they finish in any order.
  const ofAnswer = (from: number) => Array.from({ length: 40 }, (_, n) => name(from + n));
  expect(listed).toHaveLength(100);
  expect(listed?.[0]).toBe('zz.txt');
  expect(listed?.slice(1, 41).sort()).toEqual(ofAnswer(80));
  expect(listed?.slice(41, 81).sort()).toEqual(ofAnswer(40));
  expect(ofAnswer(0)).toEqual(expect.arrayContaining(listed?.slice(81) ?? []));
  expect(compacted?.data.summary).toContain('- 21 more');
});
