// What is typed counts only for the question that is shown.
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPrompt, type PromptResult, type Terminal } from '../../src/tui/prompt.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function terminal() {
  const input = Object.assign(new PassThrough(), {
    isRaw: false,
    setRawMode(raw: boolean) {
      input.isRaw = raw;
      return input;
    },
  });
  const output = new PassThrough().setEncoding('utf8');
  const seen = { text: '' };
  output.on('data', (text) => {
    seen.text += text;
  });
  input.pause();
  const ask = createPrompt({ input, output } as unknown as Terminal);
  return {
    input,
    output,
    ask,
    seen,
    type: (text: string) => void input.write(text),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

/** What it has come to, if it has. */
function watch(said: Promise<PromptResult>) {
  const state: { said: PromptResult | null } = { said: null };
  void said.then((value) => {
    state.said = value;
  });
  return state;
}

const prompts = (text: string) => text.split('Allow? ').length - 1;

describe('a typed line', () => {
  it('is ignored if typed before the question', async () => {
    const at = terminal();
    at.type('y\r');
    const state = watch(at.ask('rm x\nAllow? '));
    await at.pass(49);
    expect(at.seen.text).toBe('');
    at.type('y\r');
    await at.pass(1000);
    expect(at.seen.text).toContain('rm x\n');
    expect([prompts(at.seen.text), state.said]).toEqual([1, null]);
    at.type('n\r');
    await at.pass(0);
    expect(state.said).toEqual({ line: 'n' });
  });

  it.each(['y\r', 'y', '\r', 'yes\ryes\r'])(
    'is ignored if typed as the prompt appears (%j), and the prompt is shown again',
    async (keys) => {
      const at = terminal();
      const state = watch(at.ask('rm x\nAllow? '));
      await at.pass(50);
      expect(prompts(at.seen.text)).toBe(1);
      await at.pass(299);
      at.type(keys);
      await at.pass(1);
      expect([prompts(at.seen.text), state.said]).toEqual([2, null]);
      expect(at.seen.text).toContain('are ignored');
      await at.pass(300);
      at.type('no\r');
      await at.pass(0);
      expect(state.said).toEqual({ line: 'no' });
      expect(at.seen.text.split('rm x')).toHaveLength(2);
    },
  );

  it('is ignored, including its end, if typing continues over the prompt', async () => {
    const at = terminal();
    const state = watch(at.ask('Allow? '));
    for (const key of 'please go on, all is well: y\r') {
      at.type(key);
      await at.pass(150);
    }
    await at.pass(1000);
    expect(state.said).toBeNull();
    at.type('y\r');
    await at.pass(0);
    expect(state.said).toEqual({ line: 'y' });
  });

  it('meant for a withdrawn question does not answer the next one', async () => {
    const at = terminal();
    const stop = new AbortController();
    const first = watch(at.ask('first\nAllow? ', stop.signal));
    const second = watch(at.ask('second\nAllow? '));
    await at.pass(1000);
    expect(at.seen.text).not.toContain('second');
    at.type('y');
    await at.pass(0);
    stop.abort();
    await at.pass(0);
    at.type('\r');
    await at.pass(10);
    at.type('y\r');
    await at.pass(1000);
    expect([first.said, second.said]).toEqual(['withdrawn', null]);
    expect(at.seen.text).toContain('second');
    at.type('n\r');
    await at.pass(0);
    expect(second.said).toEqual({ line: 'n' });
  });
});

describe('Ctrl-C', () => {
  it.each([0, 60, 1000])('is noticed after %d ms', async (ms) => {
    const at = terminal();
    const state = watch(at.ask('Allow? '));
    await at.pass(ms);
    at.type('\x03');
    await at.pass(0);
    expect(state.said).toBe('interrupted');
  });
});

it('Ctrl-D is an empty line; a closed terminal is no answer', async () => {
  const at = terminal();
  const left = watch(at.ask('Allow? '));
  await at.pass(1000);
  at.type('\x04');
  await at.pass(0);
  expect(left.said).toEqual({ line: '' });
  const gone = watch(at.ask('Allow? '));
  await at.pass(1000);
  at.input.end();
  await at.pass(0);
  expect(gone.said).toBe('closed');
  expect(await at.ask('Allow? ')).toBe('closed');
});

it.each([0, 20, 60, 1000])('a terminal that fails %d ms after the question is no answer', async (ms) => {
  const at = terminal();
  const state = watch(at.ask('Allow? '));
  await at.pass(ms);
  at.input.setRawMode = () => {
    throw new Error('setRawMode EIO');
  };
  at.input.emit('error', new Error('read EIO'));
  await at.pass(1000);
  expect(state.said).toBe('closed');
  expect(await at.ask('Allow? ')).toBe('closed');
});

it('a question withdrawn before it is shown is never shown', async () => {
  const at = terminal();
  const stop = new AbortController();
  const state = watch(at.ask('Allow? ', stop.signal));
  await at.pass(10);
  stop.abort();
  await at.pass(1000);
  expect([state.said, at.seen.text]).toEqual(['withdrawn', '']);
});

it('the terminal is in raw mode until the answer and restored afterwards', async () => {
  const at = terminal();
  const state = watch(at.ask('Allow? '));
  await at.pass(20);
  expect(at.input.isRaw).toBe(true);
  at.type('x');
  await at.pass(400);
  expect(at.input.isRaw).toBe(true);
  await at.pass(1000);
  at.type('y\r');
  await at.pass(0);
  expect(state.said).toEqual({ line: 'y' });
  expect([at.input.isRaw, at.input.isPaused(), at.input.listenerCount('data')]).toEqual([false, true, 0]);
  expect(at.output.listenerCount('resize')).toBe(0);
});
