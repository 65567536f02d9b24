import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { remember } from '../../system/kill-at-exit.ts';
import { endAll, leftovers } from '../../system/remaining-processes.ts';
import { lineReader } from '../../text/line-splitter.ts';
import { codeOf } from '../refusal.ts';
import { launch } from './launch.ts';
import type { Target } from './resolve-target.ts';
import { maxMessageBytes, type Wire } from './server-transport.ts';
import { createUnasked } from './unsolicited-limit.ts';

/**
 * A server as a process of ours.
 *
 * 1. It leads a process group of its own and goes with it: its standard input is closed, then it is asked, after 2 s killed. On Linux the
 *    system kills it when this process dies without doing that.
 * 2. It is over when its first process has ended, even if another still holds its pipes.
 * 3. Its standard error is always read; of it the last 4 KiB are kept. Lines on standard output that are no messages are passed over.
 * 4. A message of more than 16 MiB ends the connection; so do more than 32 MiB that it does not take from us, more than 1,000 answers to its own
 *    requests that it does not take, and more than 10,000 lines or 64 MiB that nobody asked for (1,000 and 8 MiB more each second). Its output is
 *    never held back instead: one that writes a long answer before it reads on would wait for us as we for it.
 */
const keptErrorBytes = 4096;
const maxUnsentBytes = 32 * 1024 * 1024;
const maxUnsentAnswers = 1000;
/** After the end of its first process its last messages may still be in the pipe. */
const drainMs = 250;
/** How long it has to end by itself once its input is closed. */
const politeMs = 500;
const markName = 'RETINUE_SERVER';

export function stdioWire(target: Extract<Target, { kind: 'command' }>, parse: (value: unknown) => JSONRPCMessage): Wire {
  const mark = randomBytes(8).toString('hex');
  let child: ChildProcess | null = null;
  let forget = () => {};
  let ending: Promise<void> | null = null;
  let isOpen = false;
  let why: string | null = null;
  let words = Buffer.alloc(0);
  let unsentAnswers = 0;
  const unasked = createUnasked(() => performance.now());

  const transport: Transport = {
    async start() {
      const env = { ...target.env, [markName]: mark };
      const [program, args] = launch(target);
      const made = spawn(program, args, { cwd: target.cwd, env, detached: true, stdio: 'pipe' });
      child = made;
      if (made.pid !== undefined) forget = remember(made.pid);
      made.stdin.on('error', () => {});
      made.stdout.on('error', () => {});
      made.stderr.on('error', () => {});
      made.stderr.on('data', (chunk: Buffer) => {
        words = Buffer.from(Buffer.concat([words, chunk]).subarray(-keptErrorBytes));
      });
      made.stdout.on(
        'data',
        lineReader(maxMessageBytes, hear, () => cut(`it sent a message of more than ${maxMessageBytes} bytes`)),
      );
      await new Promise<void>((resolve, reject) => {
        made.once('error', (error) => reject(new Error(startProblem(error, target.command))));
        made.once('spawn', resolve);
      });
      isOpen = true;
      const over = async () => {
        why ??= made.signalCode === null ? `it ended with exit code ${made.exitCode}` : `it was ended by ${made.signalCode}`;
        await Promise.race([new Promise((resolve) => made.stdout.once('close', resolve)), sleep(drainMs)]);
        closed();
        await end();
      };
      if (made.exitCode !== null || made.signalCode !== null) void over();
      else made.once('exit', () => void over());
    },
    async send(message) {
      const stdin = child?.stdin;
      if (!isOpen || !stdin?.writable) throw new Error('it takes no more messages');
      if (stdin.writableLength > maxUnsentBytes) return cut('it does not read what is sent to it');
      const isAnswer = !('method' in message);
      // What the pipe takes at once is not waiting, although that is told only later.
      if (isAnswer && unsentAnswers >= maxUnsentAnswers && stdin.writableLength > 0)
        return cut(`it asks and does not read the answers: ${maxUnsentAnswers} wait for it`);
      unasked.sent(message);
      if (isAnswer) unsentAnswers++;
      stdin.write(`${JSON.stringify(message)}\n`, () => {
        if (isAnswer) unsentAnswers--;
      });
    },
    close: end,
  };

  function hear(line: Buffer): void {
    if (!isOpen) return;
    const message = messageIn(line);
    const isTooMuch = unasked.isTooMuch(message, line.length);
    if (isTooMuch) cut('it says too much that nobody asked for');
    if (isTooMuch || message === null) return;
    try {
      transport.onmessage?.(message);
    } catch {
      // None that anybody waits for.
    }
  }

  function messageIn(line: Buffer): JSONRPCMessage | null {
    try {
      return parse(JSON.parse(line.toString('utf8')));
    } catch {
      return null;
    }
  }

  function cut(reason: string): void {
    why ??= reason;
    child?.stdout?.destroy();
    closed();
    void end();
  }

  function closed(): void {
    if (!isOpen) return;
    isOpen = false;
    transport.onclose?.();
  }

  function end(): Promise<void> {
    ending ??= endProcess();
    return ending;
  }

  async function endProcess(): Promise<void> {
    if (child?.pid === undefined) return;
    const command = { pid: child.pid, mark: `${markName}=${mark}` };
    child.stdin?.end();
    for (const until = performance.now() + politeMs; performance.now() < until && leftovers(command).length > 0; ) await sleep(10);
    await endAll(command);
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
    child.unref();
    forget();
    closed();
  }

  function lastWords(): string | null {
    const line = words.toString('utf8').trim().split('\n').at(-1)?.trim();
    return [why ?? [], line ? `its last words: ${line}` : []].flat().join('; ') || null;
  }

  return { transport, lastWords, end };
}

function startProblem(error: unknown, command: string): string {
  return `${command} could not be started: ${codeOf(error) || String(error)}`;
}
