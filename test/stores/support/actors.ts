import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'rolldown';
import { temporary } from './temporary.ts';

/** A process that runs support/actor.ts, or another script that speaks as it does. */
export interface Actor {
  process: ChildProcess;
  pid: number;
  /** Rejects when the call failed there, or when the process ended before it answered. */
  call(name: string, ...words: unknown[]): Promise<unknown>;
  /** Sends a signal; for one that ends the process, waits until it has ended. */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export interface ActorOptions {
  options?: unknown;
  /** A shell prefix, such as a limit, that the process inherits. */
  shell?: string;
}

const directory = temporary();
process.once('exit', directory.remove);
// As one file it starts five times as fast, which tells with 32 of them.
const script = join(directory.path, 'actor.mjs');
await build({
  input: join(import.meta.dirname, 'actor.ts'),
  platform: 'node',
  output: { file: script, format: 'esm', codeSplitting: false },
});

export function createActors(): { start(path: string, options?: ActorOptions): Actor; end(): Promise<void> } {
  const running = new Set<Actor>();
  return {
    start(path, options = {}) {
      const actor = startActor([script, path], options);
      running.add(actor);
      return actor;
    },
    async end() {
      await Promise.all([...running].map((actor) => actor.signal('SIGKILL')));
      running.clear();
    },
  };
}

function startActor(command: string[], { options = {}, shell }: ActorOptions): Actor {
  const words = [...command, JSON.stringify(options)];
  const stdio = ['pipe', 'pipe', 'inherit'] as const;
  const child = shell
    ? spawn('sh', ['-c', `${shell}; exec "$@"`, 'sh', process.execPath, ...words], { stdio: [...stdio] })
    : spawn(process.execPath, words, { stdio: [...stdio] });
  const waiting: PromiseWithResolvers<unknown>[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const { value, error } = JSON.parse(line);
    const next = waiting.shift();
    if (error === undefined) next?.resolve(value);
    else next?.reject(Object.assign(new Error(error.message), { code: error.code }));
  });
  child.on('exit', () => {
    for (const call of waiting.splice(0)) call.reject(new Error('the process ended'));
  });
  return {
    process: child,
    pid: child.pid as number,
    call(...words) {
      const reply = Promise.withResolvers<unknown>();
      waiting.push(reply);
      child.stdin?.write(`${JSON.stringify(words)}\n`);
      return reply.promise;
    },
    async signal(name) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = name === 'SIGKILL' ? once(child, 'exit') : null;
      child.kill(name);
      await ended;
    },
  };
}
