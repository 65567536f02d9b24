// How the end of a command is seen and brought about: by its process group and a mark, or, in a sandbox, by its process namespace.
import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, endAll, graceMs, type Leftover, leftovers } from '../../system/leftovers.ts';
import { infoFd, inmates, wordFd } from '../../system/namespace.ts';

export interface Life {
  /** Resolves when the command's first process has ended. */
  over: Promise<void>;
  /** What it has started and is still there. */
  left(): Leftover[];
  /** Asks what is left to stop, and kills it after 2 s. Gives what could not be ended. */
  end(): Promise<Leftover[]>;
  /** `code` null where it was ended by a signal, or could not be ended. `refused`: why the command was not started; null where it was. */
  result(): { code: number | null; killedBy: string | null; refused: string | null };
}

export function plainLife(child: ChildProcess, command: Command): Life {
  return {
    over: gone(child),
    left: () => leftovers(command),
    end: () => endAll(command),
    result: () => ({ code: child.exitCode, killedBy: child.signalCode, refused: null }),
  };
}

const pollMs = 20;
/** How long the system may take to be done with a namespace. */
const reapMs = 1000;
const maxWords = 200;

export function boxedLife(child: ChildProcess, begun: (init: number) => string | null): Life {
  const word = child.stdio[wordFd] as Duplex;
  const said = lines(word);
  let init: number | null = null;
  void lines(child.stdio[infoFd] as Readable, (text) => {
    const pid = Number(/"child-pid":\s*(\d+)/.exec(text)?.[1]);
    if (init !== null || !Number.isSafeInteger(pid) || pid <= 1) return;
    init = pid;
    start();
  });
  /** Null once the command was let go; empty as long as nothing speaks against it. */
  let refused: string | null = '';
  const ended = Promise.withResolvers<void>();
  word.on('data', () => {
    start();
    if (codeIn(said()) !== null) ended.resolve();
  });

  function start(): void {
    if (init === null || refused !== '' || !said().startsWith('begun\n')) return;
    refused = begun(init);
    if (refused === null) word.write('go\n');
    else word.destroy();
  }

  const exited = gone(child);
  const left = () => (init === null ? [] : inmates(init));

  async function end(): Promise<Leftover[]> {
    let rest = left();
    for (const { host } of rest) {
      send(host, 'SIGTERM');
      // What is stopped hears nothing else.
      send(host, 'SIGCONT');
    }
    for (const until = performance.now() + graceMs; rest.length > 0 && performance.now() < until; rest = left()) await sleep(pollMs);
    word.destroy();
    // With its first process ends everything in a namespace; with the helper, that one.
    if (rest.length > 0 && init !== null) send(init, 'SIGKILL');
    if (refused !== null) child.kill('SIGKILL');
    const late = setTimeout(() => child.kill('SIGKILL'), 200);
    await Promise.race([exited, sleep(reapMs, undefined, { ref: false })]);
    clearTimeout(late);
    child.stdio[infoFd]?.destroy();
    return isGone(child) ? [] : left().map(asLeftover);
  }

  return {
    over: Promise.race([ended.promise, exited]),
    left: () => left().map(asLeftover),
    end,
    result() {
      const code = codeIn(said());
      const killedBy = code === null ? (child.signalCode ?? 'SIGKILL') : null;
      return { code, killedBy, refused };
    },
  };
}

function lines(stream: Readable, heard?: (text: string) => void): () => string {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('latin1')).slice(0, maxWords);
    heard?.(text);
  });
  stream.on('error', () => {});
  return () => text;
}

function codeIn(said: string): number | null {
  const code = /^begun\n(\d{1,3})\n/.exec(said)?.[1];
  return code === undefined ? null : Number(code);
}

function asLeftover({ pid, name }: { pid: number; name: string }): Leftover {
  return { pid, name, group: 0 };
}

function gone(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (isGone(child)) resolve();
    else child.once('exit', () => resolve());
  });
}

function isGone(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}
