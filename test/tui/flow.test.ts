// A flow on the screen: its steps, its question, and keys on rows that are no runs.
import { expect, it } from 'vitest';
import { defineFlow } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { createScreen } from '../../src/tui/screen/screen.ts';
import { anyModel } from '../flows/support.ts';

const flow = defineFlow('publish', null, async (flow) => {
  for (let i = 1; i <= 6; i++) await flow.step(`convert chapter ${i}`, () => i);
  await flow.step('upload', () => Promise.reject(new Error('no network'))).catch(() => null);
  const { approved } = await flow.ask('Publish to all customers?', { timeoutMs: 3_600_000 });
  return approved ? 'published' : 'kept';
});

it('shows what a flow waits for, and takes the answer to its question', async () => {
  await using retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: createMemoryStore() });
  const run = await retinue.flow(flow, null);
  const after = (ms: number, act: () => void) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  };
  const timers = { now: Date.now, after };
  const screen = createScreen({ api: retinue.api, timers, attach: null, colour: false, size: { columns: 100, rows: 24 } });
  const text = () => screen.lines().join('\n');
  try {
    await expect.poll(text).toContain('◆ 1 question needs an answer: a');
    expect(text()).toMatch(/◆ publish .*asks: Publish to all customers\?/);
    expect(text()).toMatch(/▸ ✓ 6 steps .*completed/);
    expect(text()).toMatch(/✗ upload .*failed: no network/);
    expect(text()).toMatch(/◆ Publish to all customers\? .*waits for an answer · /);
    expect(text()).not.toContain('convert chapter');
    // The row is cut; the detail says it once.
    expect(text().split('1 step failed')).toHaveLength(2);
    screen.press('down');
    screen.press('right');
    expect(text()).toContain('✓ convert chapter 6');
    screen.press('c');
    expect(text()).toContain('this is a step of a flow; ← goes to its flow');
    screen.press('left');
    expect(text()).not.toContain('convert chapter');

    screen.press('a');
    await expect.poll(text).toContain('Answer this question?');
    expect(text()).toContain('the flow “publish”');
    expect(text()).not.toContain('always in this run');
    await new Promise((resolve) => setTimeout(resolve, 400));
    screen.press('A');
    expect(text()).toContain('a flow asks each time: a approves, r refuses');
    screen.press('r');
    expect((await run.outcome).summary).toBe('kept');
  } finally {
    screen.close();
  }
});
