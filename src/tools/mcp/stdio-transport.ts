// A server as a child process, over its standard input and output.
//
// 1. It leads a process group of its own, which ends with it: its standard input is closed, then it is asked to stop, and after 2 s killed. On Linux the
//    kernel kills it if this process dies first.
// 2. It is over when its first process has ended, even if another process still holds its pipes.
// 3. Its standard error is always read; the last 4 KiB are kept. Lines on standard output that are not messages are ignored.
// 4. The connection ends on a message of more than 16 MiB, on more than 32 MiB that the server does not read, on more than 1,000 unread answers to its own
//    requests, and on more than 10,000 lines or 64 MiB of unsolicited output (plus 1,000 and 8 MiB per second). Its output is never paused instead: a
//    server that writes a long answer before it reads again would wait for us while we wait for it.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { killAtExit } from '../../system/kill-at-exit.ts';
import { createLineReader } from '../../system/line-reader.ts';
import { createProcessGroup, endRemaining, findRemaining, type ProcessGroup } from '../../system/remaining-processes.ts';
import { findErrorCode } from '../refusal.ts';
import { createLaunchCommand } from './launch.ts';
import type { ServerTarget } from './resolve-target.ts';
import { maxMessageBytes, type ServerTransport } from './server-transport.ts';
import { createUnsolicitedLimit } from './unsolicited-limit.ts';

const keptErrorBytes = 4096;
const maxUnsentBytes = 32 * 1024 * 1024;
const maxUnsentAnswers = 1000;
/** After the end of the first process its last messages may still be in the pipe. */
const drainMs = 250;
/** How long the server has to end after its input was closed. */
const politeMs = 500;
const markVariable = 'RETINUE_MCP_SERVER';

export function createStdioTransport(
  target: Extract<ServerTarget, { kind: 'command' }>,
  parse: (value: unknown) => JSONRPCMessage,
): ServerTransport {
  const mark = randomBytes(8).toString('hex');
  let child: ChildProcess | null = null;
  let group: ProcessGroup | null = null;
  let forget = () => {};
  let ending: Promise<void> | null = null;
  let isOpen = false;
  let reason: string | null = null;
  let stderr = Buffer.alloc(0);
  let unsentAnswers = 0;
  const unsolicited = createUnsolicitedLimit(() => performance.now());

  const transport: Transport = {
    async start() {
      const env = { ...target.env, [markVariable]: mark };
      const [program, args] = createLaunchCommand(target);
      const started = spawn(program, args, { cwd: target.cwd, env, detached: true, stdio: 'pipe' });
      child = started;
      if (started.pid !== undefined) {
        forget = killAtExit(started.pid);
        group = createProcessGroup(started.pid, `${markVariable}=${mark}`);
      }
      // A broken pipe shows in the end of the process.
      for (const pipe of [started.stdin, started.stdout, started.stderr]) pipe.on('error', () => {});
      started.stderr.on('data', (chunk: Buffer) => {
        stderr = Buffer.from(Buffer.concat([stderr, chunk]).subarray(-keptErrorBytes));
      });
      const onOverflow = () => breakOff(`it sent a message of more than ${maxMessageBytes} bytes`);
      const reader = createLineReader({ maxLineBytes: maxMessageBytes, onLine: receive, onOverflow });
      started.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
      await new Promise<void>((resolve, reject) => {
        started.once('error', (error) => reject(new Error(startProblem(error, target.command))));
        started.once('spawn', resolve);
      });
      isOpen = true;
      const onExit = async () => {
        reason ??= started.signalCode === null ? `it ended with exit code ${started.exitCode}` : `it was ended by ${started.signalCode}`;
        await Promise.race([new Promise((resolve) => started.stdout.once('close', resolve)), sleep(drainMs)]);
        reportClosed();
        await end();
      };
      if (started.exitCode !== null || started.signalCode !== null) void onExit();
      else started.once('exit', () => void onExit());
    },
    async send(message) {
      const stdin = child?.stdin;
      if (!isOpen || !stdin?.writable) throw new Error('it accepts no more messages');
      if (stdin.writableLength > maxUnsentBytes) return breakOff('it does not read the messages sent to it');
      const isAnswer = !('method' in message);
      // What the pipe accepts at once is not waiting, although the callback of write comes later.
      if (isAnswer && unsentAnswers >= maxUnsentAnswers && stdin.writableLength > 0)
        return breakOff(`it sends requests but does not read the answers: ${maxUnsentAnswers} are waiting`);
      unsolicited.noteSent(message);
      if (isAnswer) unsentAnswers++;
      stdin.write(`${JSON.stringify(message)}\n`, () => {
        if (isAnswer) unsentAnswers--;
      });
    },
    close: end,
  };

  function receive(line: Buffer): void {
    if (!isOpen) return;
    const message = parseMessage(line);
    const isExceeded = unsolicited.countReceived(message, line.length);
    if (isExceeded) breakOff('it sends too much unsolicited output');
    if (isExceeded || message === null) return;
    try {
      transport.onmessage?.(message);
    } catch {
      // The SDK rejects a message that matches no open request; nothing depends on it.
    }
  }

  function parseMessage(line: Buffer): JSONRPCMessage | null {
    try {
      return parse(JSON.parse(line.toString('utf8')));
    } catch {
      return null;
    }
  }

  function breakOff(problem: string): void {
    reason ??= problem;
    child?.stdout?.destroy();
    reportClosed();
    void end();
  }

  function reportClosed(): void {
    if (!isOpen) return;
    isOpen = false;
    transport.onclose?.();
  }

  function end(): Promise<void> {
    ending ??= endProcess();
    return ending;
  }

  async function endProcess(): Promise<void> {
    if (child === null || group === null) return;
    const started = group;
    child.stdin?.end();
    for (const until = performance.now() + politeMs; performance.now() < until && findRemaining(started).length > 0; ) await sleep(10);
    await endRemaining(started);
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
    child.unref();
    forget();
    reportClosed();
  }

  function endReason(): string | null {
    const line = stderr.toString('utf8').trim().split('\n').at(-1)?.trim();
    return [reason ?? [], line ? `its last error output: ${line}` : []].flat().join('; ') || null;
  }

  return { transport, endReason, end };
}

function startProblem(error: unknown, command: string): string {
  return `${command} could not be started: ${findErrorCode(error) || String(error)}`;
}
