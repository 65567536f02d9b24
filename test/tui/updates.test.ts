// When the screen draws a new frame: together for many events, and not at all if nothing that it shows has changed.
import { describe, expect, it } from 'vitest';
import { createScreenWorld } from './support.ts';

const hour = 3_600_000;

describe('frames', () => {
  it('are not drawn while nothing is live', async () => {
    await using at = await createScreenWorld({ script: { runs: [{ times: 'any', steps: [{ text: 'done' }] }] } });
    const screen = await at.open();
    await at.start('short');
    await at.pass(1_000);
    const before = screen.frames();
    await at.pass(hour);
    expect(screen.frames()).toBe(before);
    expect(screen.line('short')).toContain('✓');
  });

  it('are drawn once a second while a run is live and nothing happens', async () => {
    await using at = await createScreenWorld({ script: { runs: [{ steps: [{ delayMs: 20_000, text: 'done' }] }] } });
    const screen = await at.open();
    await at.start('long');
    const before = screen.frames();
    await at.pass(10_000);
    // In the first second the time that is shown may not change.
    expect([9, 10]).toContain(screen.frames() - before);
    expect(screen.line('long')).toMatch(/ (9|10)s$/);
  });

  it('are not drawn for text that streams into a run that is not open', async () => {
    const text = 'words '.repeat(2_000);
    await using at = await createScreenWorld({ script: { runs: [{ steps: [{ delayMs: 400, text, chunkSize: 4, hang: 'middle' }] }] } });
    const screen = await at.open();
    await at.start('write');
    await at.pass(100);
    const before = screen.frames();
    await at.pass(300);
    // 1,500 pieces: it is writing now, and that is all there is to see.
    expect(screen.frames() - before).toBe(1);
    expect(screen.line('write ')).toContain('writing');
  });

  it('show pieces of text that arrive together in one frame', async () => {
    const text = 'words '.repeat(2_000);
    await using at = await createScreenWorld({ script: { runs: [{ steps: [{ delayMs: 400, text, chunkSize: 4, hang: 'middle' }] }] } });
    const screen = await at.open();
    await at.start('write');
    await screen.type('enter');
    const before = screen.frames();
    await at.pass(400);
    expect(screen.frames() - before).toBeLessThanOrEqual(2);
    expect(screen.text()).toContain('words words words');
  });

  it('are not drawn for what is out of sight', async () => {
    const tasks = Array.from({ length: 16 }, (_, i) => ({ task: `part ${i}`, label: `part ${i}`, agent: 'any' }));
    await using at = await createScreenWorld({
      limits: { maxConcurrent: 16 },
      script: {
        runs: [
          { when: { label: 'part 15' }, steps: [{ delayMs: 300, calls: [{ tool: 'grep', args: { pattern: 'x' } }] }] },
          { when: { task: 'part' }, times: 'any', steps: [{ delayMs: 29_000, text: 'done' }] },
          { times: 'any', steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'done' }] },
        ],
      },
    });
    const screen = await at.open({ size: { columns: 80, rows: 7 } });
    await at.start('all');
    const before = screen.frames();
    await at.pass(600);
    // Only its tokens, which the root counts too.
    expect(screen.frames() - before).toBeLessThanOrEqual(1);
    await screen.type('end');
    expect(screen.selected()).toContain('grep x');
  });
});

describe('an open run', () => {
  it('has the text that streamed before it was opened', async () => {
    await using at = await createScreenWorld({
      script: { runs: [{ steps: [{ delayMs: 200, text: 'first words and then more words', chunkSize: 4, hang: 'middle' }] }] },
    });
    const screen = await at.open();
    await at.start('write');
    await at.pass(2_000);
    await screen.type('enter');
    expect(screen.text()).toContain('\n  first words');
  });

  it('says so if the screen was opened in the middle of an answer', async () => {
    await using at = await createScreenWorld({
      script: { runs: [{ steps: [{ delayMs: 200, text: 'first words and then more words', chunkSize: 4, hang: 'middle' }] }] },
    });
    await at.start('write');
    await at.pass(2_000);
    const screen = await at.open();
    await screen.type('enter');
    expect(screen.text()).toContain('Turn 1  thinking');
  });
});

it('only the newest hundred ended trees are kept', { timeout: 120_000 }, async () => {
  await using at = await createScreenWorld({ script: { runs: [{ times: 'any', steps: [{ text: 'done' }] }] } });
  const screen = await at.open({ size: { columns: 80, rows: 30 } });
  for (let n = 0; n < 104; n++) await at.start(`task ${n}.`);
  expect(screen.lines()[0]).toContain('100 runs in 100 trees');
  await screen.type('home');
  expect(screen.selected()).toContain('task 4.');
});
