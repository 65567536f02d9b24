// The real program on a real terminal: keys, sizes, Ctrl-C, and what is left of it.
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { startHeldModel } from '../cli/support-held-model.ts';
import { createPlace, type Place } from '../cli/support-process.ts';
import { hasPty, type Pty, type PtyOptions, startOnPty } from '../support/pty.ts';

const tasks = ['one', 'two'].map((label) => ({ task: `do ${label}`, label, agent: 'explore' }));
const script = {
  runs: [
    {
      when: { label: 'one' },
      times: 'any',
      steps: [{ text: 'The first words of a long answer, which never ends.', chunkSize: 4, hang: 'middle' }],
    },
    { when: { label: 'two' }, times: 'any', steps: [{ text: 'The second answer never ends, either.', chunkSize: 4, hang: 'middle' }] },
    { times: 'any', steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all is done' }] },
  ],
};

const asking = (facts: StoredFact[]) => facts.filter(({ type }) => type === 'model.asked').length >= 3;

/** Another process works on a tree; the screen is opened on it. */
async function watch(place: Place, args: string[], more: Partial<PtyOptions> = {}): Promise<Pty> {
  place.start('run', 'go');
  await place.facts(asking);
  const pty = startOnPty(args, { folder: place.folder, ...more });
  await pty.until('q quit');
  await pty.until(/● two/);
  return pty;
}

const initial = { isAlternate: false, isCursorVisible: true, isBracketedPaste: false };

describe.skipIf(!hasPty)('top and attach', { timeout: 120_000 }, () => {
  it('show and steer the runs of another process, and Ctrl-C leaves them alone', async () => {
    using place = createPlace(script);
    await using pty = await watch(place, ['top']);
    expect(pty.terminal.modes).toMatchObject({ isAlternate: true, isCursorVisible: false });
    pty.type('\x1b[B');
    await pty.until(/›\s+● one/);
    pty.type('\r');
    await pty.until('Prompt');
    pty.type('n');
    await pty.until(/go › two/);
    pty.type('c');
    await pty.until('Cancel “two”');
    pty.type('y');
    await place.facts((facts) => facts.some(({ type }) => type === 'cancel.asked'));
    await pty.until('⊘ go › two');
    pty.type('\x03');
    expect(await pty.ended()).toEqual({ code: 130, isRestored: true });
    expect(pty.terminal.modes).toEqual(initial);
    await pty.until('retinue: 2 runs continue; `retinue top` shows them again');
    expect(pty.terminal.text()).not.toContain('go › two');
    expect(pty.terminal.unknown).toEqual([]);
  });

  it('draw the whole frame at any size, without remains', async () => {
    using place = createPlace(script);
    await using pty = await watch(place, ['attach', 'last']);
    for (const [columns, rows] of [
      [60, 20],
      [200, 50],
      [80, 9],
      [120, 24],
    ] as const) {
      await pty.resize(columns, rows);
      const isWhole = () => {
        const lines = pty.terminal.lines();
        const count = (text: string) => lines.filter((line) => line.includes(text)).length;
        const isLast = (lines.at(-1) ?? '').endsWith('q quit');
        // At this size a rule fills the width; a low terminal has none.
        const hasRule = rows < 18 || lines.includes('─'.repeat(columns));
        return (
          lines[0]?.startsWith('retinue attach') && isLast && hasRule && count('q quit') === 1 && count('● two') === 1 && count('›') === 1
        );
      };
      await expect.poll(isWhole, { timeout: 30_000 }).toBe(true);
    }
    pty.type('q');
    expect(await pty.ended()).toEqual({ code: 0, isRestored: true });
    await pty.until('`retinue attach');
  });

  it('give the terminal back at SIGTERM', async () => {
    using place = createPlace(script);
    await using pty = await watch(place, ['top']);
    process.kill(await pty.pid(), 'SIGTERM');
    expect(await pty.ended()).toEqual({ code: 143, isRestored: true });
    expect(pty.terminal.modes).toEqual(initial);
  });

  it('give the terminal back when the program fails, and show why', async () => {
    using place = createPlace(script);
    const crash = `data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('a defect of the program')})`;
    await using pty = await watch(place, ['top'], { env: { NODE_OPTIONS: `--import "${crash.replaceAll(' ', '%20')}"` } });
    process.kill(await pty.pid(), 'SIGUSR2');
    const { code, isRestored } = await pty.ended();
    expect([code === 0, isRestored]).toEqual([false, true]);
    expect(pty.terminal.modes).toEqual(initial);
    await pty.until('a defect of the program');
  });

  it('suspend, and show the frame again afterwards', async () => {
    using place = createPlace(script);
    await using pty = await watch(place, ['top']);
    const pid = await pty.pid();
    process.kill(pid, 'SIGTSTP');
    await expect.poll(() => pty.terminal.modes, { timeout: 30_000 }).toEqual(initial);
    expect(pty.terminal.text()).not.toContain('q quit');
    await expect
      .poll(
        () => {
          // `script` stops with what it runs.
          pty.host.kill('SIGCONT');
          process.kill(pid, 'SIGCONT');
          return pty.terminal.modes.isAlternate;
        },
        { timeout: 30_000, interval: 200 },
      )
      .toBe(true);
    await pty.until('q quit');
    await pty.until('● two');
    pty.type('q');
    expect(await pty.ended()).toMatchObject({ code: 0, isRestored: true });
  });

  it('end with their terminal', async () => {
    using place = createPlace(script);
    await using pty = await watch(place, ['top']);
    const pid = await pty.pid();
    pty.host.kill('SIGKILL');
    const isAlive = () => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await expect.poll(isAlive, { timeout: 30_000 }).toBe(false);
  });

  it('use no colours with NO_COLOR', async () => {
    using place = createPlace(script);
    await using pty = await watch(place, ['top'], { env: { NO_COLOR: '1' } });
    pty.type('\r');
    await pty.until('Prompt');
    expect(pty.terminal.styles).toEqual([]);
  });

  it.each([
    ['--plain', ['top', '--plain'], {}],
    ['a terminal that can do nothing', ['top'], { TERM: 'dumb', NO_COLOR: '1' }],
  ])('print text with %s', async (_, args, env) => {
    using place = createPlace(script);
    place.start('run', 'go');
    await place.facts(asking);
    await using pty = startOnPty(args, { folder: place.folder, env: { NO_COLOR: '1', ...env } });
    expect(await pty.ended()).toMatchObject({ code: 0 });
    await pty.until('two');
    expect(pty.output()).not.toContain('\x1b');
  });
});

describe.skipIf(!hasPty)('resume', { timeout: 120_000 }, () => {
  it('shows interrupted runs on a screen, which closes when they have ended and leaves their results', async () => {
    await using model = await startHeldModel({
      'begin now': [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all is done' }],
      'do one': [{ held: true, text: 'one is done' }],
      'do two': [{ held: true, text: 'two is done' }],
    });
    using place = createPlace({}, model.variables);
    const killed = place.start('run', 'begin now');
    await place.facts(asking);
    killed.process.kill('SIGKILL');
    await killed.finished;
    await using pty = startOnPty(['resume'], { folder: place.folder, env: model.variables });
    await pty.until('● two');
    expect(pty.terminal.modes.isAlternate).toBe(true);
    model.release();
    expect(await pty.ended()).toEqual({ code: 0, isRestored: true });
    expect(pty.terminal.modes).toEqual(initial);
    await pty.until('all is done');
    expect(pty.terminal.text()).toMatch(/✓ general[\s\S]*✓ one[\s\S]*✓ two/);
  });

  it('pauses what it continues if the user leaves', async () => {
    using place = createPlace(script);
    const killed = place.start('run', 'go');
    await place.facts(asking);
    killed.process.kill('SIGKILL');
    await killed.finished;
    await using pty = startOnPty(['resume'], { folder: place.folder });
    await pty.until('● two');
    pty.type('q');
    await pty.until('will pause. Leave the screen?');
    pty.type('y');
    expect(await pty.ended()).toMatchObject({ code: 0 });
    await pty.until('continue with `retinue resume');
    expect((await place.facts(() => true)).map(({ type }) => type)).not.toContain('run.ended');
  });
});

describe.skipIf(!hasPty)('run', { timeout: 120_000 }, () => {
  it('stays in the scrollback, with the lines of subagents and the outcome', async () => {
    const call = { tool: 'task', args: { subagent_type: 'explore', prompt: 'please look', description: 'look' } };
    using place = createPlace({
      runs: [
        {
          when: { agent: 'openfork/explore' },
          steps: [{ text: 'I look around', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'Nothing is there.' }],
        },
        { steps: [{ calls: [call] }, { text: 'all is done' }] },
      ],
    });
    await using pty = startOnPty(['run', '--dialect', 'openfork', 'go'], { folder: place.folder });
    expect(await pty.ended()).toEqual({ code: 0, isRestored: true });
    await pty.until('all is done');
    const text = pty.terminal.text();
    expect(text).toContain('  ↳ Subagent: I look around');
    expect(text).toContain('╭─Subagent Result');
    expect(text).toMatch(/✓ openfork\/main +completed/);
    expect(pty.output()).not.toContain('\x1b[?1049h');
  });
});
