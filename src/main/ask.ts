// A line from whoever sits at a terminal, given to the question that is shown and to no other.
//
// 1. What was typed before a question is shown does not answer it: it is read away first.
// 2. What is typed within `settleMs` of the prompt does not either: the prompt is shown again, until nothing comes for that long. So keys that were
//    meant for something else make up no answer, nor a part of one.
// 3. From before the question to the answer the terminal is in raw mode, so that nothing is kept in a line of its own for a later reader.
// 4. One question is shown at a time, in the order in which they were asked.
import { createInterface } from 'node:readline';
import { PassThrough, type Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';

export interface Terminal {
  input: Pick<ReadStream, 'on' | 'off' | 'pause' | 'resume' | 'setRawMode' | 'isRaw' | 'readableEnded'>;
  output: Writable;
}

/** `interrupted`: by Ctrl-C, which is a key in raw mode. `withdrawn`: the signal fired. Whoever leaves without an answer gave an empty line. */
export type Said = { line: string } | 'interrupted' | 'withdrawn';

export type Ask = (question: string, signal?: AbortSignal) => Promise<Said>;

const drainMs = 50;
const settleMs = 300;
const ctrlC = 3;

export function createAsk(terminal: Terminal): Ask {
  let last: Promise<unknown> = Promise.resolve();
  return (question, signal) => {
    const said = last.then(() => askAt(terminal, question, signal));
    last = said.catch(() => {});
    return said;
  };
}

async function askAt({ input, output }: Terminal, question: string, signal: AbortSignal | undefined): Promise<Said> {
  if (signal?.aborted) return 'withdrawn';
  if (input.readableEnded) return { line: '' };
  const { promise: ended, resolve: end } = Promise.withResolvers<Said>();
  let hear = (_: Buffer) => {};
  const onData = (keys: Buffer) => hear(keys);
  const onEnd = () => end({ line: '' });
  const onAbort = () => end('withdrawn');

  /** Whether something was typed in that time. It is thrown away. */
  async function typedWithin(ms: number): Promise<boolean | Said> {
    let typed = false;
    hear = (keys) => {
      typed = true;
      if (keys.includes(ctrlC)) end('interrupted');
    };
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const said = await Promise.race([ended, over.then(() => typed)]);
    clearTimeout(timer);
    return said;
  }

  async function prompted(prompt: string): Promise<Said | 'early'> {
    const gate = Object.assign(new PassThrough(), { setRawMode: (raw: boolean) => input.setRawMode(raw) });
    const lines = createInterface({ input: gate, output, terminal: true, prompt });
    const { promise: answer, resolve } = Promise.withResolvers<Said>();
    const onClose = () => {
      output.write('\n');
      resolve({ line: '' });
    };
    lines.once('line', (line) => resolve({ line }));
    lines.once('SIGINT', () => resolve('interrupted'));
    lines.once('close', onClose);
    try {
      lines.prompt();
      const typed = await typedWithin(settleMs);
      if (typeof typed !== 'boolean') return typed;
      if (typed) return 'early';
      hear = (keys) => void gate.write(keys);
      return await Promise.race([ended, answer]);
    } finally {
      hear = () => {};
      lines.off('close', onClose);
      lines.close();
    }
  }

  const wasRaw = input.isRaw;
  input.setRawMode(true);
  input.on('data', onData).on('end', onEnd).on('error', onEnd);
  input.resume();
  signal?.addEventListener('abort', onAbort);
  try {
    const before = await typedWithin(drainMs);
    if (typeof before !== 'boolean') return before;
    // Only the last line is drawn again at each key.
    const cut = question.lastIndexOf('\n') + 1;
    output.write(question.slice(0, cut));
    for (;;) {
      const said = await prompted(question.slice(cut));
      if (typeof said === 'string') output.write('\n');
      if (said !== 'early') return said;
      output.write('[typed before this could be read: it does not count]\n');
      input.setRawMode(true);
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    input.off('data', onData).off('end', onEnd).off('error', onEnd);
    input.pause();
    input.setRawMode(wasRaw);
  }
}
