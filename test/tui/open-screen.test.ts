// The screen on a terminal: what is written leaves exactly the frame on it, whatever happened before, and the terminal is as it was afterwards.
import { afterEach, describe, expect, it } from 'vitest';
import { openScreen } from '../../src/tui/open-screen.tsx';
import { release } from './release.ts';
import { createScreenWorld, type ScreenWorld, type ScreenWorldOptions } from './support.ts';
import { createMemoryTerminal, type MemoryTerminal } from './support-streams.ts';

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

async function show(at: ScreenWorld, size: { columns: number; rows: number }, colour = false) {
  const memory = createMemoryTerminal(size);
  const stop = new AbortController();
  stops.push(stop);
  const { clock } = at;
  const timers = { now: clock.now, after: (ms: number, run: () => void) => clock.at(clock.monotonic() + ms, run) };
  const closed = openScreen({ api: at.api, attach: null, colour, streams: memory.streams, signal: stop.signal, timers });
  await at.pass();
  /** Waits until the terminal shows this. */
  const until = (text: string) => expect.poll(() => memory.terminal.text(), { timeout: 20_000 }).toContain(text);
  const press = async (keys: string) => {
    memory.type(keys);
    await at.pass();
  };
  return { ...memory, closed, stop, until, press };
}

async function openRelease(at: ScreenWorld) {
  await at.start('prepare release 1.2.0');
  await at.pass(1_000);
}

/** The frame without a terminal, of another screen in the same state. */
async function expectSame(memory: MemoryTerminal, at: ScreenWorld, size: { columns: number; rows: number }, keys: string[]) {
  const other = await at.open({ size });
  await other.type(...keys);
  const expected = other.lines().map((line) => line.trimEnd());
  await expect.poll(() => memory.terminal.lines(), { timeout: 20_000 }).toEqual(expected);
  expect(memory.terminal.unknown).toEqual([]);
  expect(memory.terminal.overflows).toBe(0);
}

describe('on the terminal', () => {
  it('there is the frame, after any sequence of sizes, without remains of others', { timeout: 120_000 }, async () => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const memory = await show(at, { columns: 100, rows: 30 });
    await memory.until('prepare release');
    for (const [columns, rows] of [
      ...[
        [60, 20],
        [200, 40],
        [80, 10],
        [61, 10],
        [120, 50],
        [100, 5],
        [60, 30],
        [199, 8],
        [40, 24],
        [100, 30],
      ],
    ] as [number, number][]) {
      memory.resize(columns, rows);
      await at.pass();
      await expectSame(memory, at, { columns, rows }, []);
    }
  });

  it('there is the frame after keys: another page, a dialog, and back', { timeout: 120_000 }, async () => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const size = { columns: 80, rows: 24 };
    const memory = await show(at, size);
    await memory.until('prepare release');
    const keys: string[] = [];
    for (const [typed, ...named] of [
      ['\x1b[B', 'down'],
      ['\x1b[6~', 'pagedown'],
      ['\r', 'enter'],
      ['\t', 'tab'],
      ['?', '?'],
      ['q', 'q'],
      ['\x1b[Z', 'shift-tab'],
      ['q', 'q'],
      ['c', 'c'],
      ['n', 'n'],
      ['/', '/'],
      ['s', 's'],
      ['\x7f', 'backspace'],
    ] as [string, ...string[]][]) {
      keys.push(...named);
      await memory.press(typed);
      await expectSame(memory, at, size, keys);
    }
  });

  it('Ctrl-L draws it again after another program has written there', async () => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const size = { columns: 80, rows: 24 };
    const memory = await show(at, size);
    await memory.until('prepare release');
    memory.terminal.write('\x1b[5;1Hnoise\nof another program\n');
    await memory.press('\x0c');
    await expectSame(memory, at, size, []);
  });

  it('sequences that are not keys do nothing', async () => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const size = { columns: 80, rows: 24 };
    const memory = await show(at, size);
    await memory.until('prepare release');
    // The last ones are what is left if the escape character arrives alone.
    const ignored = [
      ...[
        '\x1b[I',
        '\x1b[O',
        '\x1b[?62;4c',
        '\x1b[>0;276;0c',
        '\x1b[<0;12;3M',
        '\x1b[27;5;99~',
        '\x1b[24;1R',
        '\x1bc',
        '\x1bOP',
        '\x1b[15~',
      ],
      ...['[A', '[?62;4c', '[24;1R'],
    ];
    for (const sequence of ignored) {
      await memory.press(sequence);
      // A key that does something proves that the sequence was read.
      await memory.press('\x1b[B');
      await memory.press('\x1b[A');
    }
    await expectSame(memory, at, size, ['down', 'up']);
  });

  it('without colours there are no styles', async () => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const memory = await show(at, { columns: 80, rows: 24 });
    await memory.until('prepare release');
    await memory.press('\r');
    await memory.until('Prompt');
    expect(memory.terminal.styles).toEqual([]);
  });

  it('with colours there are only those of the screen', async () => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const memory = await show(at, { columns: 80, rows: 24 }, true);
    await memory.until('prepare release');
    const used = [...new Set(memory.terminal.styles)].map((each) => each.slice(2, -1)).sort();
    expect(used.filter((each) => !['1', '2', '7', '22', '27', '31', '33', '36', '39', '0'].includes(each))).toEqual([]);
    expect(used).toContain('33');
  });
});

describe('afterwards', () => {
  it.each([
    ['q', 'q', false],
    ['Ctrl-C', '\x03', true],
  ])('%s gives the terminal back as it was', async (_, key, isInterrupted) => {
    await using at = await createScreenWorld(release);
    await openRelease(at);
    const memory = await show(at, { columns: 80, rows: 24 });
    await memory.until('prepare release');
    expect(memory.terminal.modes).toMatchObject({ isAlternate: true, isCursorVisible: false });
    expect(memory.isRaw()).toBe(true);
    memory.type(key);
    expect(await memory.closed).toEqual({ live: 7, driven: [], isInterrupted });
    expect(memory.terminal.modes).toEqual({ isAlternate: false, isCursorVisible: true, isBracketedPaste: false });
    expect(memory.isRaw()).toBe(false);
    expect(memory.terminal.text()).toBe('');
  });

  it('a signal does, too', async () => {
    await using at = await createScreenWorld();
    const memory = await show(at, { columns: 80, rows: 24 });
    await memory.until('No run is live');
    memory.stop.abort();
    expect(await memory.closed).toMatchObject({ isInterrupted: false });
    expect(memory.terminal.modes).toEqual({ isAlternate: false, isCursorVisible: true, isBracketedPaste: false });
    expect(memory.isRaw()).toBe(false);
  });
});

const many = 480;
/** One root whose children wait, but for the first one, which makes a call when it is told to. */
const manyRuns: ScreenWorldOptions = {
  limits: { maxConcurrent: 600, maxRuns: 1_000 },
  script: {
    runs: [
      { when: { label: 'part 0-0' }, steps: [{ delayMs: 9_500, calls: [{ tool: 'grep', args: { pattern: 'needle' } }] }] },
      { when: { task: 'part' }, times: 'any', steps: [{ hang: 'start' }] },
      {
        steps: [
          {
            calls: Array.from({ length: many / 16 }, (_, i) => ({
              tool: 'delegate',
              args: {
                tasks: Array.from({ length: 16 }, (_each, n) => ({ task: `part ${i}-${n}`, label: `part ${i}-${n}`, agent: 'any' })),
              },
            })),
          },
        ],
      },
    ],
  },
};

describe('with 481 runs', () => {
  it('an update costs few bytes, and none is written for what is out of sight or unchanged', { timeout: 180_000 }, async () => {
    await using at = await createScreenWorld({ ...manyRuns, excuses: { budget: 'the runs are cut off' } });
    await at.start('all of it');
    await at.pass(100);
    const memory = await show(at, { columns: 120, rows: 40 }, true);
    await memory.until(`${many + 1} runs`);
    const settled = async () => {
      for (let before = -1; before !== memory.bytes(); ) {
        before = memory.bytes();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await settled();
    expect(memory.bytes()).toBeLessThan(30_000);
    // Two seconds: the elapsed times of the 30 visible rows and of the selected run, once.
    const beforeTick = memory.bytes();
    await at.pass(1_900);
    await settled();
    const ofTick = memory.bytes() - beforeTick;
    expect(ofTick).toBeGreaterThan(100);
    expect(ofTick).toBeLessThan(2_500);
    // Less than that: nothing.
    const beforeNothing = memory.bytes();
    await at.pass(30);
    await settled();
    expect(memory.bytes() - beforeNothing).toBe(0);
    // A key moves the cursor: two rows and the selected run below.
    const beforeKey = memory.bytes();
    await memory.press('\x1b[B');
    await settled();
    expect(memory.bytes() - beforeKey).toBeLessThan(2_000);
  });
});
