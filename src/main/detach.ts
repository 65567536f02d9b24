// A run in a process of its own, which ends with the run. The brief goes over a pipe, never on a command line that others can read;
// what became of it comes back over another one.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { DatabaseOpenError } from '../cli/errors.ts';
import type { Detached, DetachRequest, Io } from '../cli/io.ts';
import { ErrorInfo, isRetinueError, RetinueError } from '../contract/error.ts';
import { RunId } from '../contract/ids.ts';
import { detachedWord } from './detached-word.ts';

/** The store itself gives up after 30 s. */
const defaultStartMs = 60_000;
const reportFd = 3;

/** `unopened`: the ground was wrong, not the brief. */
const Report = z.union([z.strictObject({ runId: RunId }), z.strictObject({ error: ErrorInfo, unopened: z.boolean() })]);
type Report = z.infer<typeof Report>;

export interface Place {
  /** The file that starts this program. */
  program: string;
  workspace: string;
  onInterrupt: Io['onInterrupt'];
  /** How long the run may take to be there. */
  startMs?: number;
}

export async function detach(request: DetachRequest, place: Place): Promise<Detached> {
  const { program, workspace, onInterrupt } = place;
  const folder = logFolder(workspace);
  const draft = join(folder, `${randomBytes(8).toString('hex')}.starting.log`);
  const log = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  let child: ChildProcess;
  try {
    const stdio = ['pipe', log, log, 'pipe'] as const;
    child = spawn(process.execPath, [program, detachedWord], { detached: true, stdio: [...stdio], env: process.env });
  } finally {
    closeSync(log);
  }
  // Whoever interrupts before the run is there wants none.
  const release = onInterrupt(() => {
    stop(child);
    process.exit(130);
  });
  try {
    hand(child.stdin as Writable, request);
    const report = await reported(child, place.startMs ?? defaultStartMs);
    if (report === null) throw new RetinueError('crashed', `the background process came to nothing; it wrote to ${draft}:\n${tail(draft)}`);
    if ('error' in report) {
      rmSync(draft, { force: true });
      const { code, message, retryable } = report.error;
      const error = new RetinueError(code, message, { retryable });
      throw report.unopened ? new DatabaseOpenError(error) : error;
    }
    const named = logFile(workspace, report.runId);
    renameSync(draft, named);
    return { runId: report.runId, log: named };
  } catch (error) {
    stop(child);
    throw error;
  } finally {
    release();
    child.unref();
    (child.stdio[reportFd] as Readable).destroy();
  }
}

/** Where the process of a detached run writes what it would have shown. */
export function logFile(workspace: string, runId: string): string {
  return join(workspace, '.retinue', 'logs', `${runId}.log`);
}

/** What the background process does: reads the request, drives the run, says what became of it. */
export async function serveDetached(io: Io): Promise<number> {
  const { runDetached } = await import('../cli/session/run-detached.ts');
  const answer = createWriteStream('', { fd: reportFd });
  // Whoever asked may be gone; the run goes on.
  answer.on('error', () => {});
  const say = (report: Report) => void answer.end(JSON.stringify(report));
  try {
    const request = JSON.parse(await readAll(process.stdin)) as DetachRequest;
    return await runDetached(io, request, (runId) => say({ runId }));
  } catch (error) {
    const cause = error instanceof DatabaseOpenError ? error.cause : error;
    const info = isRetinueError(cause) ? cause.info : new RetinueError('internal', String((cause as Error)?.stack ?? cause)).info;
    say({ error: info, unopened: error instanceof DatabaseOpenError });
    throw error;
  }
}

/** Without a cap: it comes from this program itself, and a brief may be larger in JSON than it was. */
async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function hand(stdin: Writable, request: DetachRequest): void {
  // A process that died early is noticed by its silence.
  stdin.on('error', () => {});
  stdin.end(JSON.stringify(request));
}

/** Null where the process ended, or said nothing in time. */
function reported(child: ChildProcess, startMs: number): Promise<Report | null> {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => resolve(null), startMs);
    const end = () => {
      clearTimeout(timer);
      resolve(parsed(text));
    };
    child.on('error', end);
    (child.stdio[reportFd] as Readable)
      .setEncoding('utf8')
      .on('data', (part: string) => {
        text += part;
      })
      .on('error', end)
      .on('close', end);
  });
}

/** The process leads a group of its own. */
function stop({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch {
    // It has ended.
  }
}

function parsed(text: string): Report | null {
  try {
    return Report.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** With a .gitignore of its own: what runs say is nobody's to commit. The state folder gets one where it is new, as from the store. */
function logFolder(workspace: string): string {
  const state = join(workspace, '.retinue');
  const folder = join(state, 'logs');
  try {
    for (const each of [state, folder]) {
      if (existsSync(each)) continue;
      mkdirSync(each);
      writeFileSync(join(each, '.gitignore'), '*\n');
    }
  } catch (error) {
    // Another one may have been faster.
    if (!existsSync(folder)) throw new RetinueError('usage', `${folder} cannot be made: ${(error as Error).message}`, { cause: error });
  }
  return folder;
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-2000).trim();
  } catch {
    return '';
  }
}
