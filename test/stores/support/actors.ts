import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'rolldown';
import { createTemporaryDirectory } from './temporary.ts';

/** A process that runs support/actor.ts. */
export interface Actor {
  process: ChildProcess;
  pid: number;
  /** Rejects if the call failed, or if the process ended before it answered. */
  call(name: string, ...args: unknown[]): Promise<unknown>;
  /** Sends a signal. After SIGKILL it waits until the process has ended. */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export interface ActorOptions {
  options?: unknown;
  /** A shell command that runs first, such as `ulimit`. */
  shell?: string;
}

const directory = createTemporaryDirectory();
process.once('exit', directory.remove);
// Bundled: it starts five times as fast, which matters for 32 processes.
const script = join(directory.path, 'actor.mjs');
await build({
  input: join(import.meta.dirname, 'actor.ts'),
  platform: 'node',
  external: ['pg-native', 'pg-cloudflare'],
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
  const args = [...command, JSON.stringify(options)];
  const stdio = ['pipe', 'pipe', 'inherit'] as const;
  const child = shell
    ? spawn('sh', ['-c', `${shell}; exec "$@"`, 'sh', process.execPath, ...args], { stdio: [...stdio] })
    : spawn(process.execPath, args, { stdio: [...stdio] });
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
    call(...request) {
      const reply = Promise.withResolvers<unknown>();
      waiting.push(reply);
      child.stdin?.write(`${JSON.stringify(request)}\n`);
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
