// Runs ripgrep for `glob` and `grep`. It starts in a directory that is already open and checked, follows no links, reads no configuration and gets no
// environment. Below that directory it works with paths: a directory that is swapped for a link at the moment it is entered may lead it out of the
// workspace. So its output is not a result yet; `recheck.ts` checks it again.
import { type ChildProcess, spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { entryPath, type OpenDirectory } from '../files/confine.ts';
import { closedAliases, pathInside } from '../files/paths.ts';
import { createToolRefusal, findErrorCode, type Refusal } from '../refusal.ts';

/** The time limit of a search; what it has found by then is shown with a notice. */
export const searchMs = 800;
const flushMs = 100;
const maxErrorChars = 2000;

export interface RipgrepSearch {
  dir: OpenDirectory;
  args: string[];
  /** Arguments of a second ripgrep that filters the output of the first. */
  filter?: string[];
  signal: AbortSignal;
  onOutput(chunk: Buffer): void;
}

/** `complete`: it finished within the time limit. */
export type SearchResult = { ok: true; complete: boolean } | Refusal;

/** Rejects only when the signal fires. */
export async function runRipgrep({ dir, args, filter, signal, onOutput }: RipgrepSearch): Promise<SearchResult> {
  signal.throwIfAborted();
  const program = findRipgrep();
  if (program === null) {
    return createToolRefusal(`ripgrep for ${process.platform}-${process.arch} is missing; install Retinue with its optional packages`);
  }
  const children: ChildProcess[] = [];
  const start = (given: string[], input: 'ignore' | Readable): ChildProcess => {
    const child = spawn(program, ['--no-config', ...given], { cwd: workingDirectory(dir), env: {}, stdio: [input, 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };
  const kill = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  let complete = true;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const stopSearch = () => {
    if (isOver || children.every((child) => child.exitCode !== null)) return;
    complete = false;
    // The filter then reaches the end of its input and writes what it has buffered.
    children[0]?.kill('SIGKILL');
    timer = setTimeout(kill, flushMs);
  };
  signal.addEventListener('abort', kill, { once: true });
  try {
    const first = start(args, 'ignore');
    const ends = [waitForEnd(first)];
    if (filter === undefined) first.stdout?.on('data', onOutput);
    else {
      // Connects the two processes directly.
      const second = start(filter, first.stdout ?? 'ignore');
      first.stdout?.destroy();
      ends.push(waitForEnd(second));
      second.stdout?.on('data', onOutput);
    }
    // On a busy machine the timer may be as late as the end of the search. Then the end counts, which is handled before `setImmediate`.
    timer = setTimeout(() => setImmediate(stopSearch), searchMs);
    const problem = (await Promise.all(ends)).find((end) => end !== null);
    signal.throwIfAborted();
    return problem === undefined ? { ok: true, complete } : createToolRefusal(shortenError(problem));
  } catch (error) {
    signal.throwIfAborted();
    return createToolRefusal(startProblem(error));
  } finally {
    isOver = true;
    kill();
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}

function startProblem(error: unknown): string {
  return `ripgrep cannot be started: ${findErrorCode(error) || String(error)}`;
}

/** Resolves with its error message, or null if there is none. */
function waitForEnd(child: ChildProcess): Promise<string | null> {
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < maxErrorChars) stderr += chunk.toString('utf8');
  });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(startProblem(error)));
    // Status 2 also means that a directory could not be entered, but then there is no message.
    child.once('close', (code) => resolve(code === 2 && stderr !== '' ? stderr : null));
  });
}

/** Removes the name of ripgrep, and advice about options that models cannot use. */
function shortenError(problem: string): string {
  const [message = ''] = problem.slice(0, maxErrorChars).split('\n\nConsider ');
  return message.replace(/^rg: /, '').trim();
}

/** Arguments for what both tools leave out. `.git` and `node_modules` are searched only if the caller names them. */
export async function exclusionArguments(root: string, start: string, named: string): Promise<string[]> {
  const names = named.split(/[/{},\s]/);
  const unnamed = ['.git', 'node_modules'].filter((name) => !names.includes(name));
  const closed = await closedTargets(root, start);
  return [
    ...['--hidden', '--no-require-git', '--no-messages', '--threads=4', '--color=never'],
    ...unnamed.map((name) => `--glob=!**/${name}`),
    ...closed.map((path) => `--glob=!/${escapeGlob(path)}`),
    // Case-insensitive globs are evaluated last and win.
    '--iglob=!**/.retinue',
  ];
}

/** If `.retinue` is a link, its target is closed as well. Returns paths below `start`. */
async function closedTargets(root: string, start: string): Promise<string[]> {
  const targets = await Promise.all(closedAliases.map((name) => realpath(join(root, name)).catch(() => null)));
  return targets.flatMap((target) => {
    const below = target === null ? null : pathInside([join(root, start)], target);
    return below === null || below === '' ? [] : [below];
  });
}

function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\]{}!#]/g, '\\$&');
}

/** On Linux through the descriptor, so that the directory that was checked is the one that is entered. */
function workingDirectory(dir: OpenDirectory): string {
  return process.platform === 'linux' ? entryPath(dir, '.').replace('/proc/self/', `/proc/${process.pid}/`) : dir.path;
}

/** The binary is in a package per platform, which is resolved from the main package. Null if it is not installed. */
function findRipgrep(): string | null {
  try {
    const main = createRequire(import.meta.url).resolve('@vscode/ripgrep');
    return createRequire(main).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`);
  } catch {
    return null;
  }
}
