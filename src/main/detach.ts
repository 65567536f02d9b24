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
import type { Detached, DetachRequest, Io } from '../cli/io.ts';
import { ErrorInfo, isRetinueError, RetinueError } from '../contract/error.ts';
import { RunId } from '../contract/ids.ts';
import { detachedWord } from './detached-word.ts';

/** The store itself gives up after 30 s. */
const startMs = 60_000;
const reportFd = 3;

const Report = z.union([z.strictObject({ runId: RunId }), z.strictObject({ error: ErrorInfo })]);
type Report = z.infer<typeof Report>;

export interface Place {
  /** The file that starts this program. */
  program: string;
  workspace: string;
  onInterrupt: Io['onInterrupt'];
}

export async function detach(request: DetachRequest, { program, workspace, onInterrupt }: Place): Promise<Detached> {
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
    child.kill('SIGTERM');
    process.exit(130);
  });
  try {
    hand(child.stdin as Writable, request);
    const report = await reported(child);
    if (report === null) throw new RetinueError('crashed', `the background process came to nothing; it wrote to ${draft}:\n${tail(draft)}`);
    if ('error' in report) {
      rmSync(draft, { force: true });
      throw new RetinueError(report.error.code, report.error.message, { retryable: report.error.retryable });
    }
    const named = join(folder, `${report.runId}.log`);
    renameSync(draft, named);
    return { runId: report.runId, log: named };
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  } finally {
    release();
    child.unref();
    (child.stdio[reportFd] as Readable).destroy();
  }
}

/** What the background process does: reads the request, drives the run, says what became of it. */
export async function serveDetached(io: Io): Promise<number> {
  const { runDetached } = await import('../cli/commands/detached.ts');
  const answer = createWriteStream('', { fd: reportFd });
  // Whoever asked may be gone; the run goes on.
  answer.on('error', () => {});
  const say = (report: Report) => void answer.end(JSON.stringify(report));
  try {
    const request = JSON.parse(await io.readStdin()) as DetachRequest;
    return await runDetached(io, request, (runId) => say({ runId }));
  } catch (error) {
    if (!isRetinueError(error)) say({ error: { code: 'internal', message: String((error as Error)?.stack ?? error), retryable: false } });
    else say({ error: error.info });
    throw error;
  }
}

function hand(stdin: Writable, request: DetachRequest): void {
  // A process that died early is noticed by its silence.
  stdin.on('error', () => {});
  stdin.end(JSON.stringify(request));
}

/** Null where the process ended, or said nothing in time. */
function reported(child: ChildProcess): Promise<Report | null> {
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

function parsed(text: string): Report | null {
  try {
    return Report.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Made with a .gitignore of its own where it is new: what runs write is nobody's to commit. */
function logFolder(workspace: string): string {
  const state = join(workspace, '.retinue');
  const folder = join(state, 'logs');
  try {
    const fresh = !existsSync(state);
    mkdirSync(folder, { recursive: true });
    if (fresh) writeFileSync(join(state, '.gitignore'), '*\n', { flag: 'wx' });
    else if (!existsSync(join(folder, '.gitignore'))) writeFileSync(join(folder, '.gitignore'), '*\n', { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new RetinueError('usage', `${folder} cannot be made: ${(error as Error).message}`, { cause: error });
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
