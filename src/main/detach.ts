// `run --detach`: a run in a background process that ends with the run. The brief goes through a pipe, never on the command line, where
// other users could read it; the result of starting comes back through a second pipe.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  createWriteStream,
  existsSync,
  lstatSync,
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
import { detachedRunArgument } from './internal-arguments.ts';

/** Longer than the 30 s after which the store gives up. */
const defaultStartTimeoutMs = 60_000;
const reportFd = 3;

/** `unopened`: the database could not be opened, as opposed to a refused brief. */
const Report = z.union([z.strictObject({ runId: RunId }), z.strictObject({ error: ErrorInfo, unopened: z.boolean() })]);
type Report = z.infer<typeof Report>;

export interface DetachOptions {
  /** The file that starts this program. */
  program: string;
  workspace: string;
  onInterrupt: Io['onInterrupt'];
  /** How long the background process may take to create the run. */
  startTimeoutMs?: number;
}

export async function detach(request: DetachRequest, options: DetachOptions): Promise<Detached> {
  const { program, workspace, onInterrupt } = options;
  const draft = join(createLogFolder(workspace), `${randomBytes(8).toString('hex')}.starting.log`);
  const log = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  let child: ChildProcess;
  try {
    const stdio = ['pipe', log, log, 'pipe'] as const;
    child = spawn(process.execPath, [program, detachedRunArgument], { detached: true, stdio: [...stdio], env: process.env });
  } finally {
    closeSync(log);
  }
  // An interrupt before the run is created cancels the start.
  const release = onInterrupt(() => {
    stop(child);
    process.exit(130);
  });
  try {
    sendRequest(child.stdin as Writable, request);
    const report = await readReport(child, options.startTimeoutMs ?? defaultStartTimeoutMs);
    if (report === null)
      throw new RetinueError('crashed', `the background process did not start the run; its output is in ${draft}:\n${tailOf(draft)}`);
    if ('error' in report) {
      rmSync(draft, { force: true });
      const { code, message, retryable } = report.error;
      const error = new RetinueError(code, message, { retryable });
      throw report.unopened ? new DatabaseOpenError(error) : error;
    }
    const file = logFile(workspace, report.runId);
    renameSync(draft, file);
    return { runId: report.runId, log: file };
  } catch (error) {
    stop(child);
    throw error;
  } finally {
    release();
    child.unref();
    (child.stdio[reportFd] as Readable).destroy();
  }
}

/** The output of a detached run's process. */
function logFile(workspace: string, runId: string): string {
  return join(workspace, '.retinue', 'logs', `${runId}.log`);
}

/** The background process: reads the request, reports whether the run was created, and drives it to its end. */
export async function serveDetached(io: Io): Promise<number> {
  const { runDetached } = await import('../cli/session/run-detached.ts');
  const answer = createWriteStream('', { fd: reportFd });
  // The process that asked may have exited; the run continues.
  answer.on('error', () => {});
  const send = (report: Report) => void answer.end(JSON.stringify(report));
  try {
    const request = JSON.parse(await readAll(process.stdin)) as DetachRequest;
    return await runDetached(io, request, (runId) => send({ runId }));
  } catch (error) {
    const cause = error instanceof DatabaseOpenError ? error.cause : error;
    const info = isRetinueError(cause) ? cause.info : new RetinueError('internal', String((cause as Error)?.stack ?? cause)).info;
    send({ error: info, unopened: error instanceof DatabaseOpenError });
    throw error;
  }
}

/** Has no size limit: the input comes from this program, and a brief grows when it is written as JSON. */
async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function sendRequest(stdin: Writable, request: DetachRequest): void {
  // If the process died early, the missing report shows it.
  stdin.on('error', () => {});
  stdin.end(JSON.stringify(request));
}

/** Null if the process ended, or did not report in time. */
function readReport(child: ChildProcess, timeoutMs: number): Promise<Report | null> {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => resolve(null), timeoutMs);
    const end = () => {
      clearTimeout(timer);
      resolve(parseReport(text));
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

/** Signals the whole process group, which the child leads. */
function stop({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch {
    // It has already ended.
  }
}

function parseReport(text: string): Report | null {
  try {
    return Report.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** New folders get a .gitignore, because the output of runs should not be committed. */
function createLogFolder(workspace: string): string {
  const state = join(workspace, '.retinue');
  const folder = join(state, 'logs');
  try {
    for (const path of [state, folder]) {
      assertNoLink(path);
      if (existsSync(path)) continue;
      mkdirSync(path, { mode: 0o700 });
      writeFileSync(join(path, '.gitignore'), '*\n');
    }
  } catch (error) {
    if (isRetinueError(error)) throw error;
    // Another process may have created it first.
    if (!existsSync(folder)) throw new RetinueError('usage', `${folder} cannot be created: ${(error as Error).message}`, { cause: error });
  }
  return folder;
}

/** A link that came with the workspace would make Retinue write and delete files elsewhere. */
function assertNoLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new RetinueError('usage', `${path} is a link, so nothing is written there; remove the link`);
}

/** Removes the log of a run; not through a link. */
export function removeLog(workspace: string, runId: string): void {
  const folders = [join(workspace, '.retinue'), join(workspace, '.retinue', 'logs')];
  if (folders.some((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())) return;
  rmSync(logFile(workspace, runId), { force: true });
}

function tailOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-2000).trim();
  } catch {
    return '';
  }
}
