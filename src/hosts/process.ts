// A run in a process of its own. The process takes the run's steps and makes its portable tool calls; it has no key and no database, and what
// it wants of those goes through this side's desk, over one pipe.
//
// H1. `execute` resolves when neither the process nor anything that it started is left.
// H2. A process that ends before the run does ends the run: by a signal or a fault `crashed`, by itself `no_result`.
// H3. One that answers no ping for two intervals is stuck, and is killed. A late timer of ours is no sign of that.
// H4. Told to stop, it has 2 s; then the whole group is killed.
import { RetinueError } from '../contract/error.ts';
import type { Host, RemoteSession } from '../ports/host.ts';
import { answerTo } from './process/answer.ts';
import { readLines, writeLine } from './process/lines.ts';
import { FromChild, type ToChild } from './process/protocol.ts';
import { type ProcessOptions, type RunProcess, startProcess } from './process/spawn.ts';

export interface ProcessHostOptions extends ProcessOptions {
  heartbeatMs?: number;
}

const defaultHeartbeatMs = 5000;
const graceMs = 2000;

export function createProcessHost(options: ProcessHostOptions): Host {
  return { name: 'process', execute: (work, signal) => work.remote((session) => serve(session, signal, options)) };
}

async function serve(session: RemoteSession, signal: AbortSignal, options: ProcessHostOptions): Promise<void> {
  const child = await startProcess(options);
  const say = (message: ToChild) => writeLine(child.channel, message);
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  const breakOff = (error: unknown) => {
    broken.reject(error);
    child.kill();
  };
  let isOver = false;
  let isGone = false;
  let endGrace: NodeJS.Timeout | undefined;
  const over = () => {
    isOver = true;
    // A step that it waited for may end after it has: then there is nobody to be killed any more, and its number may be another's.
    if (!isGone) endGrace ??= setTimeout(() => child.kill(), graceMs);
  };
  const heart = watchHeart(child, () => say({ type: 'ping' }), options.heartbeatMs ?? defaultHeartbeatMs, breakOff);
  const endStop = onStop(signal, child, () =>
    say({ type: 'stop', paused: (signal.reason as { code?: string } | undefined)?.code === 'paused' }),
  );
  child.channel.on('error', () => {});
  readLines(
    child.channel,
    (line) => {
      const message = parse(line);
      if (message.type === 'pong') heart.beat();
      else void answer(message, session, { say, over }).catch(breakOff);
    },
    (error) => breakOff(error instanceof RetinueError ? error : invalid('reply', error.message)),
  );
  try {
    const { runId, workspace, toolTimeoutMs, portable, ordered } = session;
    await session.facts((fact) => say({ type: 'fact', fact }));
    say({ type: 'start', start: { runId, workspace, toolTimeoutMs, portable, ordered } });
    const { code, signal: by } = await Promise.race([child.exit, broken.promise]);
    if (isOver || signal.aborted) return;
    if (code === 0) throw new RetinueError('no_result', 'the process of the run ended without an outcome');
    throw new RetinueError('crashed', `the process of the run ended: ${by ?? `exit code ${code}`}${words(child.lastWords())}`);
  } finally {
    isGone = true;
    heart.end();
    endStop();
    clearTimeout(endGrace);
    await child.end();
  }
}

type Asked = Exclude<FromChild, { type: 'pong' }>;

async function answer(message: Asked, session: RemoteSession, child: { say(message: ToChild): void; over(): void }): Promise<void> {
  const value = await answerTo(message, session);
  if (message.type === 'step' && value === 'over') child.over();
  child.say({ type: 'reply', id: message.id, value });
}

function parse(line: string): FromChild {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw invalid('reply', 'it is not JSON');
  }
  const parsed = FromChild.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalid(issue?.path.join('.') || 'reply', issue?.message ?? 'it has another form');
}

function invalid(path: string, why: string): RetinueError {
  return new RetinueError('invalid_reply', `${path}: ${why}`);
}

function words(text: string): string {
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line === '' ? '' : ` (it last wrote: ${line.slice(-300)})`;
}

function onStop(signal: AbortSignal, child: RunProcess, ask: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    ask();
    timer = setTimeout(() => child.kill(), graceMs);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  };
}

function watchHeart(child: RunProcess, ping: () => void, everyMs: number, stuck: (error: RetinueError) => void) {
  let missed = 0;
  let due = performance.now() + everyMs;
  const timer = setInterval(() => {
    const now = performance.now();
    // What it said while this side was busy has not been read yet.
    const late = now - due > everyMs / 2;
    due = now + everyMs;
    if (!late && missed >= 1) {
      child.kill();
      stuck(new RetinueError('crashed', `the process of the run gave no sign of life for ${2 * everyMs} ms and was killed`));
      return;
    }
    if (!late) missed++;
    ping();
  }, everyMs);
  timer.unref();
  ping();
  return {
    beat() {
      missed = 0;
    },
    end: () => clearInterval(timer),
  };
}
