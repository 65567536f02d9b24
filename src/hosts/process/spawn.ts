// Starts the tool process of a run, and ends it with everything it started.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { RetinueError } from '../../contract/error.ts';
import type { Crash } from '../../ports/crash.ts';
import { dieWithParent } from '../../system/die-with-parent.ts';
import { releaseBuffer } from '../../system/release-buffer.ts';
import { createProcessGroup, endRemaining, graceMs } from '../../system/remaining-processes.ts';
import { toolRunVariable } from '../../system/tool-process.ts';
import { channelFd } from './protocol.ts';

export interface ProcessOptions {
  /** The program and its first arguments. Nothing about the run is on its command line. */
  command: string[];
  /** The environment of this process; only listed variables are passed on. */
  env: Record<string, string | undefined>;
  /** Variables by which this process finds its descendants; see `Guard`. */
  marks(): Record<string, string>;
  /** Set by tests only. */
  crash?: Crash | undefined;
}

export interface ToolProcess {
  channel: Duplex;
  /** How it ended. */
  exit: Promise<{ code: number | null; signal: string | null }>;
  /** The last text it wrote to its outputs, for error messages. */
  lastOutput(): string;
  /** Ends the process and everything it started: asks, waits 2 s, kills; after a `kill` it kills at once. */
  end(): Promise<void>;
  /** Kills it and its group at once. */
  kill(): void;
}

const passed = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'NODE_COMPILE_CACHE'];
const markName = 'RETINUE_TOOL_PROCESS';

/** Rejects with `crashed` if the system does not start it. */
export async function startProcess(options: ProcessOptions, runId: string): Promise<ToolProcess> {
  options.crash?.('before process.spawn');
  const mark = randomBytes(16).toString('hex');
  const env: Record<string, string> = { ...options.marks(), [markName]: mark, [toolRunVariable]: runId };
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
  const lastOutput = drain(child);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(notStarted(error)));
  });
  const group = createProcessGroup(child.pid as number, `${markName}=${mark}`);
  options.crash?.('after process.spawn');
  let isKilled = false;
  return {
    channel: child.stdio[channelFd] as Duplex,
    exit,
    lastOutput,
    async end() {
      options.crash?.('before process.reap');
      await endRemaining(group, isKilled ? 0 : graceMs);
      options.crash?.('after process.reap');
      for (const stream of child.stdio) stream?.destroy();
    },
    kill() {
      isKilled = true;
      try {
        process.kill(-group.pid, 'SIGKILL');
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

/** Reads its outputs and keeps only their end, so that it never waits for a reader. */
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
