// What keys do: to the screen, and to the runs behind it.
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { release } from './release.ts';
import { createScreenWorld, type ScreenWorld, type TestScreen } from './support.ts';

async function openRelease(at: ScreenWorld): Promise<TestScreen> {
  await at.start('prepare release 1.2.0');
  await at.pass(1_000);
  return at.open();
}

const finished = (at: ScreenWorld) =>
  (at.world.facts.filter(({ type }) => type === 'tool.finished') as FactOf<'tool.finished'>[]).map(({ data }) => data);
/** Longer than the time for which keys before a question are ignored. */
const readMs = 400;

describe('moving', () => {
  it('goes up and down, to the ends, to siblings, to the parent and to the first child', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    expect(screen.selected()).toContain('prepare release');
    await screen.type('up');
    expect(screen.selected()).toContain('prepare release');
    await screen.type('d');
    expect(screen.selected()).toContain('check the licences');
    await screen.type('n', 'j');
    expect(screen.selected()).toContain('update the changelog');
    await screen.type('p', 'k');
    expect(screen.selected()).toContain('check the licences');
    await screen.type('p');
    expect(screen.text()).toContain('this is the first one');
    await screen.type('G');
    expect(screen.selected()).toContain('survey the examples');
    await screen.type('u');
    expect(screen.selected()).toContain('prepare release');
    await screen.type('u');
    expect(screen.text()).toContain('it has no parent');
  });

  it('folds and unfolds, and the left key goes to the parent', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.select('clean up');
    await screen.type('left');
    expect(screen.selected()).toContain('prepare release');
    await screen.type('left');
    expect(screen.selected()).toContain('(+8)');
    await screen.type('right', 'right');
    expect(screen.selected()).toContain('check the licences');
  });

  it('scrolls, so that the cursor is always on the screen', async () => {
    await using at = await createScreenWorld(release);
    await at.start('prepare release 1.2.0');
    const screen = await at.open({ size: { columns: 80, rows: 7 } });
    await screen.type('end');
    expect(screen.selected()).toContain('survey the examples');
    await screen.type('pageup');
    expect(screen.selected()).not.toContain('survey');
    await screen.type('home');
    expect(screen.lines()[1]).toContain('prepare release');
  });

  it('opens a run, shows its siblings and its parent there, and comes back to its row', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.select('fix the date');
    await screen.type('enter');
    expect(screen.lines()[0]).toContain('prepare release 1.2.0 › fix the date format');
    await screen.type('n');
    expect(screen.lines()[0]).toContain('update the changelog');
    await screen.type('p', '2');
    expect(screen.text()).toContain('[2 calls]');
    await screen.type('shift-tab', 'u');
    expect(screen.lines()[0]).toMatch(/◐ prepare release 1\.2\.0 {2}/);
    await screen.type('d', 'n', 'q');
    expect(screen.selected()).toContain('fix the date format');
  });

  it('follows new text at its end, and stays where the reader is otherwise', async () => {
    const steps = [
      { text: 'word\n'.repeat(60), delayMs: 1_000 },
      { text: 'more\n'.repeat(60), delayMs: 1_000 },
    ];
    const calls = [{ tool: 'glob', args: { pattern: '*' } }];
    await using at = await createScreenWorld({
      script: { runs: [{ steps: [{ ...steps[0], calls }, steps[1]] }] },
      outputs: { glob: { output: 'nothing' } },
    });
    await at.start('write');
    const screen = await at.open();
    await screen.type('enter');
    await at.pass(1_000);
    expect(screen.text()).toMatch(/word\n.*word[\s\S]*glob \*/);
    await screen.type('home');
    expect(screen.text()).toContain('Prompt');
    await at.pass(1_000);
    expect(screen.text()).toContain('Prompt');
    await screen.type('end');
    expect(screen.text()).toContain('Completed');
  });
});

describe('the filter', () => {
  it('finds runs by name, agent, task, status and tool, and Escape shows all again', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    for (const [text, name] of [
      ['CHANGELOG', 'update the changelog'],
      ['failed', 'check the licences'],
      ['todo|fix', 'collect what is left'],
      ['iso 8601', 'fix the date format'],
    ] as const) {
      await screen.type('/', ...text, 'enter');
      expect(screen.selected()).toContain(name);
      expect(screen.lines()[0]).toContain('1 match');
      await screen.type('escape');
      expect(screen.text()).toContain('survey the examples');
    }
    await screen.type('/', ...'nothing like it');
    expect(screen.text()).toContain('No run contains “nothing like it”');
    await screen.type('escape');
    expect(screen.text()).toContain('survey the examples');
  });
});

describe('cancelling', () => {
  it('asks first, and ends one run', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.select('collect what');
    await screen.type('c', 'n');
    expect(screen.text()).toContain('nothing was changed');
    expect(at.world.types()).not.toContain('cancel.asked');
    await screen.type('c', 'y');
    expect(screen.line('collect what')).toContain('⊘');
    expect(screen.text()).toContain('  cancelled: requested on the terminal screen\n');
    expect(screen.line('map the parser')).toContain('●');
  });

  it('ends a whole tree from any of its runs', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.select('collect what');
    await screen.type('C');
    expect(screen.text()).toContain('Cancel the whole tree of “prepare release 1.2.0”');
    await screen.type('y');
    await at.pass(1_000);
    expect(at.world.types().filter((type) => type === 'run.ended')).toHaveLength(9);
    expect(screen.line('prepare release')).toContain('⊘');
    await screen.type('c');
    expect(screen.text()).toContain('has already ended: cancelled');
  });
});

describe('messages and pauses', () => {
  it('sends what was typed and pasted', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.select('collect what');
    await screen.type('m', ...'only src', 'left', 'left', 'left');
    screen.paste('in\r\n');
    await screen.type('enter');
    const [message] = at.world.facts.filter(({ type }) => type === 'message.received') as FactOf<'message.received'>[];
    expect(message?.data).toMatchObject({ text: 'only in\nsrc', from: 'the user' });
    expect(screen.text()).toContain('will read it before its next turn');
  });

  it('sends nothing after Escape, and nothing empty', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.type('m', ...'no', 'escape', 'm', ' ', 'enter');
    expect(at.world.types()).not.toContain('message.received');
    expect(screen.text()).toContain('no message was sent');
  });

  it('pauses a run, says how it continues, and continues it', async () => {
    await using at = await createScreenWorld({
      script: {
        runs: [
          {
            steps: [
              { delayMs: 5_000, calls: [{ tool: 'glob', args: { pattern: '*' } }] },
              { delayMs: 5_000, text: 'done' },
            ],
          },
        ],
      },
      outputs: { glob: { output: 'nothing' } },
    });
    await at.start('wait');
    const screen = await at.open();
    await screen.type('P');
    expect(screen.text()).toContain('calls that are running finish first');
    await at.pass(6_000);
    expect(screen.selected()).toMatch(/‖ wait .*paused: requested on the terminal sc/);
    expect(screen.lines().at(-1)).toContain('P continue');
    await at.pass(60_000);
    expect(screen.selected()).toContain('‖');
    await screen.type('P');
    expect(screen.selected()).toContain('● wait');
    await at.pass(6_000);
    expect(screen.selected()).toContain('✓ wait');
  });
});

describe('approvals', () => {
  it('are given with the whole call in view, and the call is made', async () => {
    await using at = await createScreenWorld({ ...release, limits: {}, outputs: { ...release.outputs, write: { output: 'written' } } });
    const screen = await openRelease(at);
    await screen.type('a');
    expect(screen.text()).toContain('│ - The parser reports line numbers.');
    await at.pass(readMs);
    await screen.type('a');
    expect(finished(at)).toContainEqual(expect.objectContaining({ status: 'ok', output: 'written' }));
    expect(screen.text()).toContain('write approved');
    expect(screen.line('update the changelog')).toContain('✓');
  });

  it('are refused with a reason, which the model reads', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.select('clean up');
    await screen.type('r');
    expect(screen.text()).toContain('npm run clean -- --all');
    await at.pass(readMs);
    await screen.type('R', ...'not today', 'enter');
    expect(finished(at)).toContainEqual(expect.objectContaining({ status: 'denied', output: expect.stringContaining('not today') }));
  });

  it('can be left for later', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.type('a');
    await at.pass(readMs);
    await screen.type('escape');
    expect(screen.text()).toContain('2 calls need approval');
    expect(at.world.types()).not.toContain('approval.answered');
  });

  it('close by themselves when another one has answered', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.type('a');
    const [first] = await at.api.questions();
    await at.api.answer(first?.id ?? '', { allowed: false });
    await at.pass();
    expect(screen.text()).toContain('this call no longer waits for an answer');
    expect(screen.text()).toContain('1 call needs approval');
  });

  it('ignore keys from before the question could be read, keys that arrive together, and pasted text', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    await screen.type('a', 'a', 'a', 'a');
    expect(screen.text()).toContain('keys typed before you could read the question are ignored');
    await at.pass(readMs);
    screen.press('o', 'k', 'a');
    await at.pass();
    expect(screen.text()).toContain('several keys arrived at once');
    screen.paste('a');
    await at.pass();
    expect(at.world.types()).not.toContain('approval.answered');
    expect(screen.text()).toContain('Approve this call?');
  });

  it('need the call to be read to its end if it is longer than the screen', async () => {
    const content = Array.from({ length: 80 }, (_, i) => `line ${i}`).join('\n');
    await using at = await createScreenWorld({
      rules: ['ask write'],
      script: { runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'a', content } }] }, { text: 'done' }] }] },
      outputs: { write: { output: 'written' } },
    });
    await at.start('write');
    const screen = await at.open();
    await screen.type('a');
    await at.pass(readMs);
    await screen.type('a');
    expect(screen.text()).toContain('read it to its end first');
    await screen.type('end', 'a');
    // What was between was not on the screen.
    expect(screen.text()).toContain('read it to its end first');
    await screen.type('home', 'pagedown', 'pagedown', 'pagedown', 'pagedown');
    expect(screen.text()).toContain('│ line 79');
    await screen.type('a');
    expect(finished(at)).toMatchObject([{ status: 'ok' }]);
  });
});

describe('leaving', () => {
  it('is q or Ctrl-C; one Escape too many does not leave', async () => {
    await using at = await createScreenWorld(release);
    const screen = await openRelease(at);
    let left: string | null = null;
    void screen.left.then((how) => {
      left = how;
    });
    await screen.type('enter', 'escape', 'escape', 'escape');
    expect([left, screen.text().includes('q leaves the screen')]).toEqual([null, true]);
    await screen.type('q');
    expect(left).toBe('quit');
    expect(screen.close()).toEqual({ live: 7, driven: [] });
    const other = await at.open();
    other.press('x', 'ctrl-c');
    expect(await other.left).toBe('interrupt');
  });
});

it('e shows trees that ended earlier, and opens one of them', async () => {
  await using at = await createScreenWorld({ script: { runs: [{ times: 'any', steps: [{ text: 'It is **done**.' }] }] } });
  await at.start('first task');
  await at.start('second task');
  const screen = await at.open();
  expect(screen.text()).toContain('No run is live');
  await screen.type('e');
  expect(screen.selected()).toContain('✓ second task');
  await screen.type('down', 'enter', '4');
  expect(screen.lines()[0]).toContain('✓ first task');
  expect(screen.text()).toContain('It is **done**.');
  await screen.type('q', 'e');
  expect(screen.text()).toContain('No run is live');
});

it('a screen of one tree shows only that one, with the run selected that was named', async () => {
  await using at = await createScreenWorld(release);
  const rootId = await at.start('prepare release 1.2.0');
  await at.start('another tree');
  const [, first] = (await at.api.tree(rootId)).runs;
  const screen = await at.open({ attach: { rootId, runId: first?.id ?? '' } });
  expect(screen.selected()).toContain('check the licences');
  await screen.type('e');
  expect(screen.text()).not.toContain('another tree');
  expect(screen.lines()[0]).toContain(`retinue attach ${rootId.slice(0, 8)}`);
});
