import { type ChildProcess, spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Dir, entry } from '../files/confine.ts';
import { closedAliases, inside } from '../files/paths.ts';
import { codeOf, type Refusal, refuse } from '../refusal.ts';

/**
 * ripgrep as a child process, for `glob` and `grep`. It begins in a directory that is already open and checked, follows no links, reads no
 * configuration and sees no environment. Below that directory it goes by path: a directory that is swapped for a link in the very moment
 * in which it is entered may lead it out of the workspace. So what it prints is no result yet: `recheck.ts` holds it against the workspace.
 */

/** A search takes no longer than this; what it has found by then is shown with a notice. */
export const searchMs = 800;
const flushMs = 100;
const keptError = 2000;

export interface Search {
  dir: Dir;
  args: string[];
  /** Arguments of a second ripgrep that reads what the first one writes. */
  filter?: string[];
  signal: AbortSignal;
  onOutput(chunk: Buffer): void;
}

/** `complete`: it came to its end. Rejects only when the signal fires. */
export type Searched = { ok: true; complete: boolean } | Refusal;

export async function search({ dir, args, filter, signal, onOutput }: Search): Promise<Searched> {
  signal.throwIfAborted();
  const program = ripgrep();
  if (program === null) {
    return refuse(`ripgrep is not installed for ${process.platform}-${process.arch}: install Retinue with its optional packages`);
  }
  const children: ChildProcess[] = [];
  const start = (given: string[], input: 'ignore' | Readable): ChildProcess => {
    const child = spawn(program, ['--no-config', ...given], { cwd: placeOf(dir), env: {}, stdio: [input, 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };
  const kill = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  let complete = true;
  let timer = setTimeout(() => {
    complete = false;
    // The one that reads then comes to an end by itself and tells what it holds back.
    children[0]?.kill('SIGKILL');
    timer = setTimeout(kill, flushMs);
  }, searchMs);
  signal.addEventListener('abort', kill, { once: true });
  try {
    const first = start(args, 'ignore');
    const ends = [endOf(first)];
    if (filter === undefined) first.stdout?.on('data', onOutput);
    else {
      // From one process to the other, without a way through this one.
      const second = start(filter, first.stdout ?? 'ignore');
      first.stdout?.destroy();
      ends.push(endOf(second));
      second.stdout?.on('data', onOutput);
    }
    const problem = (await Promise.all(ends)).find((end) => end !== null);
    signal.throwIfAborted();
    return problem === undefined ? { ok: true, complete } : refuse(plain(problem));
  } catch (error) {
    signal.throwIfAborted();
    return refuse(notStarted(error));
  } finally {
    kill();
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}

function notStarted(error: unknown): string {
  return `ripgrep cannot be started: ${codeOf(error) || String(error)}`;
}

/** What it complains about when it ends, or null. */
function endOf(child: ChildProcess): Promise<string | null> {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (said.length < keptError) said += chunk.toString('utf8');
  });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(notStarted(error)));
    // Status 2 also stands for directories that could not be entered, but of those it says nothing.
    child.once('close', (code) => resolve(code === 2 && said !== '' ? said : null));
  });
}

/** Without its own name and the advice to use options that nobody has here. */
function plain(problem: string): string {
  const [said = ''] = problem.slice(0, keptError).split('\n\nConsider ');
  return said.replace(/^rg: /, '').trim();
}

/** What both tools leave out. `.git` and `node_modules` are looked into only where the caller names them. */
export async function leaveOut(root: string, start: string, named: string): Promise<string[]> {
  const names = named.split(/[/{},\s]/);
  const unnamed = ['.git', 'node_modules'].filter((name) => !names.includes(name));
  const closed = await closedTargets(root, start);
  return [
    ...['--hidden', '--no-require-git', '--no-messages', '--threads=4', '--color=never'],
    ...unnamed.map((name) => `--glob=!**/${name}`),
    ...closed.map((path) => `--glob=!/${literal(path)}`),
    // Globs that ignore case are looked at last and win.
    '--iglob=!**/.retinue',
  ];
}

/** Where `.retinue` leads if it is a link: that is closed as well. As paths below `start`. */
async function closedTargets(root: string, start: string): Promise<string[]> {
  const targets = await Promise.all(closedAliases.map((name) => realpath(join(root, name)).catch(() => null)));
  return targets.flatMap((target) => {
    const below = target === null ? null : inside([join(root, start)], target);
    return below === null || below === '' ? [] : [below];
  });
}

function literal(path: string): string {
  return path.replace(/[\\*?[\]{}!#]/g, '\\$&');
}

/** Its own descriptor where there is one: what was checked is then what is entered. */
function placeOf(dir: Dir): string {
  return process.platform === 'linux' ? entry(dir, '.').replace('/proc/self/', `/proc/${process.pid}/`) : dir.path;
}

/** The binary is in a package for each platform, which only the main one need be able to find. */
function ripgrep(): string | null {
  try {
    const main = createRequire(import.meta.url).resolve('@vscode/ripgrep');
    return createRequire(main).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`);
  } catch {
    return null;
  }
}
