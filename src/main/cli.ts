// The entry point of the command line. Imports as little as possible before it knows what the command needs.
//
// `main/` holds the entry points of the package and the composition: it alone reads arguments and environment and picks adapters.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Io } from '../cli/io.ts';
import type { AssemblyHooks } from './hooks.ts';
import { childRunArgument, detachedRunArgument } from './internal-arguments.ts';
import { findPackageRoot } from './package-root.ts';

/** How long timers and connections that outlive their command may keep the process: programs of flows and hooks may leave some. */
const remainingMs = 1000;

/** Runs one command and sets the exit code. The process ends when nothing is left to do, and at most a second after the command. */
export async function main(argv: string[], hooks?: AssemblyHooks): Promise<void> {
  try {
    process.cwd();
  } catch {
    process.stderr.write('retinue: the current directory no longer exists; change to another one\n');
    process.exitCode = 2;
    return;
  }
  if (argv[0] === childRunArgument) return (await import('./child.ts')).serveRun();
  const root = findPackageRoot();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    process.stdout.write(`${version}\n`);
    return;
  }
  const [{ program }, { createProcessIo }] = await Promise.all([import('../cli/program.ts'), import('./process-io.ts')]);
  // Keeps the process alive while a command waits for another process and has nothing open itself.
  const keepAlive = setInterval(() => {}, 1 << 30);
  try {
    const io = createProcessIo({ root, version, hooks });
    process.exitCode = argv[0] === detachedRunArgument ? await runInBackground(io) : await program(argv, io);
  } finally {
    clearInterval(keepAlive);
    setTimeout(() => process.stdout.write('', () => process.exit()), remainingMs).unref();
  }
}

/** The process of `run --detach`. Its standard error is a log file, which gets the same error messages as a terminal. */
async function runInBackground(io: Io): Promise<number> {
  try {
    return await (await import('./detach.ts')).serveDetached(io);
  } catch (error) {
    return (await import('../cli/errors.ts')).reportError(error, io);
  }
}
