// What each page of the screen shows, at the widths that it is made for. The frames are the files in frames/, to be read by people.
import { describe, expect, it } from 'vitest';
import type { ScreenOptions } from '../../src/tui/screen/screen.ts';
import { release } from './release.ts';
import { createScreenWorld, type ScreenWorld, type TestScreen } from './support.ts';

/** The screen is open from the beginning, so that it gets streamed text. */
async function openRelease(at: ScreenWorld, columns: number, more: Partial<ScreenOptions> = {}): Promise<TestScreen> {
  const screen = await at.open({ size: { columns, rows: 24 }, ...more });
  await at.start('prepare release 1.2.0');
  await at.pass(7_000);
  return screen;
}

/** Styles are written as ‹31› in the files. */
function expectFrame(screen: TestScreen, name: string) {
  const lines = screen.lines().map((line) => line.trimEnd().replace(/\x1b\[(\d+)m/g, '‹$1›'));
  return expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`frames/${name}.txt`);
}

describe('the tree', () => {
  it.each([60, 80, 120, 200])('at %d columns', async (columns) => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, columns);
    expect(screen.lines()).toHaveLength(24);
    await expectFrame(screen, `tree-${columns}`);
  });

  it('in colours', async () => {
    await using at = await createScreenWorld(release);
    await expectFrame(await openRelease(at, 80, { colour: true }), 'tree-colour');
  });

  it('on a terminal with few rows', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, 80, { size: { columns: 80, rows: 8 } });
    await expectFrame(screen, 'tree-low');
  });

  it('folded, with the number of the runs below', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, 80);
    await screen.type(' ');
    expect(screen.line('prepare')).toContain('▸ ◐ prepare release 1.2.0 (+8)');
    expect(screen.text()).not.toContain('changelog');
    await screen.type(' ');
    expect(screen.text()).toContain('update the changelog');
  });

  it('without any run says what to do', async () => {
    await using at = await createScreenWorld();
    await expectFrame(await at.open({ size: { columns: 60, rows: 14 } }), 'empty');
  });
});

describe('the page of a run', () => {
  it.each([60, 120])('shows streamed text at %d columns', async (columns) => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, columns);
    await screen.select('map the parser');
    await screen.type('enter');
    await expectFrame(screen, `run-streaming-${columns}`);
  });

  it('shows calls, results and changes', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, 100, { size: { columns: 100, rows: 32 } });
    await screen.select('fix the date');
    await screen.type('enter');
    await expectFrame(screen, 'run-conversation');
    await screen.type('tab');
    await expectFrame(screen, 'run-calls');
    await screen.type('tab');
    await expectFrame(screen, 'run-log');
    await screen.type('tab');
    await expectFrame(screen, 'run-outcome');
  });

  it('names denied calls with the rule', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, 80);
    await screen.select('clean up');
    await screen.type('enter');
    await expectFrame(screen, 'run-denied');
  });
});

describe('dialogs', () => {
  it.each([60, 100])('a call that needs approval, in full, at %d columns', async (columns) => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, columns);
    await screen.type('a');
    await expectFrame(screen, `question-${columns}`);
  });

  it('the help, with all keys and marks', async () => {
    await using at = await createScreenWorld();
    const screen = await at.open({ size: { columns: 80, rows: 60 } });
    await screen.type('?');
    await expectFrame(screen, 'help');
  });

  it('a question before a tree is cancelled names what ends', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, 80);
    await screen.type('C');
    await expectFrame(screen, 'cancel-tree');
  });

  it('a filter shows matching runs with their ancestors', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at, 80);
    await screen.type('/', ...'survey');
    await expectFrame(screen, 'filter');
  });
});
