// Asks a question on a terminal and reads one line as its answer.
//
// `tui/` holds what needs a terminal and its timing. Everything that can be written to a stream belongs to `cli/`.
//
// 1. Keys typed before the question is shown are discarded.
// 2. Keys typed within `settleMs` after the prompt are discarded too, and the prompt is shown again until nothing arrives for that long. Keys
//    that were meant for something else never become an answer, or part of one.
// 3. The terminal is in raw mode from before the question until the answer, so that no typed line is buffered for a later reader.
// 4. One question is shown at a time, in the order of the calls.
// 5. Only typed keys are an answer. A terminal that was closed or fails ends the question without one.
import { createInterface } from 'node:readline';
import { PassThrough, type Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';

export interface Terminal {
  input: Pick<ReadStream, 'on' | 'off' | 'pause' | 'resume' | 'setRawMode' | 'isRaw' | 'readableEnded'>;
  output: Writable;
}

/**
 * `interrupted`: Ctrl-C, which is an ordinary key in raw mode. `withdrawn`: the signal aborted. `closed`: the terminal is gone, so no person can have
 * answered. Ctrl-D, which a person types, is an empty line.
 */
export type PromptResult = { line: string } | 'interrupted' | 'withdrawn' | 'closed';

export type Prompt = (question: string, signal?: AbortSignal) => Promise<PromptResult>;

const drainMs = 50;
const settleMs = 300;
const ctrlC = 3;

export function createPrompt(terminal: Terminal): Prompt {
  let last: Promise<unknown> = Promise.resolve();
  return (question, signal) => {
    const result = last.then(() => askOnce(terminal, question, signal));
    last = result.catch(() => {});
    return result;
  };
}

async function askOnce({ input, output }: Terminal, question: string, signal: AbortSignal | undefined): Promise<PromptResult> {
  if (signal?.aborted) return 'withdrawn';
  if (input.readableEnded) return 'closed';
  const { promise: ended, resolve: end } = Promise.withResolvers<PromptResult>();
  let onKeys = (_: Buffer) => {};
  const onData = (keys: Buffer) => onKeys(keys);
  const onEnd = () => end('closed');
  const onAbort = () => end('withdrawn');

  /** A terminal that was closed fails here before its input ends. */
  function setRawMode(raw: boolean): void {
    try {
      input.setRawMode(raw);
    } catch {
      end('closed');
    }
  }

  /** Discards keys for this long; resolves to whether there were any. */
  async function discardKeys(ms: number): Promise<boolean | PromptResult> {
    let anyTyped = false;
    onKeys = (keys) => {
      anyTyped = true;
      if (keys.includes(ctrlC)) end('interrupted');
    };
    const { promise: elapsed, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const result = await Promise.race([ended, elapsed.then(() => anyTyped)]);
    clearTimeout(timer);
    return result;
  }

  async function readAnswer(prompt: string): Promise<PromptResult | 'too early'> {
    const gate = Object.assign(new PassThrough(), { setRawMode });
    const lines = createInterface({ input: gate, output, terminal: true, prompt });
    const { promise: answer, resolve } = Promise.withResolvers<PromptResult>();
    const onClose = () => {
      output.write('\n');
      resolve({ line: '' });
    };
    lines.once('line', (line) => resolve({ line }));
    lines.once('SIGINT', () => resolve('interrupted'));
    lines.once('close', onClose);
    try {
      lines.prompt();
      const typed = await discardKeys(settleMs);
      if (typeof typed !== 'boolean') return typed;
      if (typed) return 'too early';
      onKeys = (keys) => void gate.write(keys);
      return await Promise.race([ended, answer]);
    } finally {
      onKeys = () => {};
      lines.off('close', onClose);
      lines.close();
    }
  }

  const wasRaw = input.isRaw;
  setRawMode(true);
  input.on('data', onData).on('end', onEnd).on('error', onEnd);
  input.resume();
  signal?.addEventListener('abort', onAbort);
  try {
    const early = await discardKeys(drainMs);
    if (typeof early !== 'boolean') return early;
    // Readline redraws its prompt at each key, so only the last line of the question is the prompt.
    const promptStart = question.lastIndexOf('\n') + 1;
    output.write(question.slice(0, promptStart));
    for (;;) {
      const result = await readAnswer(question.slice(promptStart));
      if (typeof result === 'string') output.write('\n');
      if (result !== 'too early') return result;
      output.write('[keys typed before you could read the question are ignored]\n');
      setRawMode(true);
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    input.off('data', onData).off('end', onEnd).off('error', onEnd);
    input.pause();
    setRawMode(wasRaw);
  }
}
