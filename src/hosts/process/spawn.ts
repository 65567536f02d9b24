// Starting the process of a run, and ending it with all that it started.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { RetinueError } from '../../contract/error.ts';
import type { Crash } from '../../ports/crash.ts';
import { dieWithParent } from '../../system/die-with-parent.ts';
import { releaseBuffer } from '../../system/release-buffer.ts';
import { endRemaining, graceMs } from '../../system/remaining-processes.ts';
import { channelFd } from './protocol.ts';

export interface ProcessOptions {
  /** The program and its first arguments. Nothing of the run stands on its command line. */
  command: string[];
  /** The environment of this process; by allow-list. */
  env: Record<string, string | undefined>;
  /** See `Guard`. */
  marks(): Record<string, string>;
  /** Nothing in production. */
  crash?: Crash | undefined;
}

export interface RunProcess {
  channel: Duplex;
  /** How it ended; resolves once. */
  exit: Promise<{ code: number | null; signal: string | null }>;
  /** The last that it wrote to its outputs, for the message of a failure. */
  lastWords(): string;
  /** Ends what is left of it and of all that it started: asks, waits 2 s, kills; after a `kill` at once. */
  end(): Promise<void>;
  /** Ends it and its group without asking any more. */
  kill(): void;
}

const passed = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'NODE_COMPILE_CACHE'];
const placeName = 'RETINUE_PLACE';

/** Rejects with `crashed` where the system does not start it. */
export async function startProcess(options: ProcessOptions): Promise<RunProcess> {
  options.crash?.('before process.spawn');
  const place = randomBytes(16).toString('hex');
  const env: Record<string, string> = { ...options.marks(), [placeName]: place };
  for (const name of passed) if (options.env[name]) env[name] = options.env[name];
  const [program, ...rest] = [...dieWithParent(), ...options.command] as [string, ...string[]];
  let child: ChildProcess;
  try {
    child = spawn(program, rest, { detached: true, env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
  } catch (error) {
    throw notStarted(error);
  }
  const exit = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const lastWords = drain(child);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(notStarted(error)));
  });
  const pid = child.pid as number;
  options.crash?.('after process.spawn');
  let isKilled = false;
  return {
    channel: child.stdio[channelFd] as Duplex,
    exit,
    lastWords,
    async end() {
      options.crash?.('before process.reap');
      await endRemaining({ pid, mark: `${placeName}=${place}` }, isKilled ? 0 : graceMs);
      options.crash?.('after process.reap');
      for (const stream of child.stdio) stream?.destroy();
    },
    kill() {
      isKilled = true;
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    },
  };
}

function notStarted(error: unknown): RetinueError {
  const { code = String(error) } = error as NodeJS.ErrnoException;
  return new RetinueError('crashed', `the process of the run could not be started: ${code}`, { retryable: true, cause: error });
}

const keptBytes = 2000;

/** Its outputs are read and thrown away but for the end, so that it never waits for a reader. */
function drain({ stdout, stderr }: ChildProcess): () => string {
  let last = Buffer.alloc(0);
  for (const stream of [stdout, stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      last = Buffer.concat([last, chunk.subarray(-keptBytes)]).subarray(-keptBytes);
      releaseBuffer(chunk);
    });
    stream?.on('error', () => {});
  }
  return () => last.toString('utf8').toWellFormed();
}
