// Starts the processes of the benchmark and talks to them.
import { type ChildProcess, fork } from 'node:child_process';
import { resolve } from 'node:path';
import type { Command, Figures, Name } from './contestant.ts';

export interface Provider {
  url: string;
  /** When the next request arrives, on the clock of `performance.timeOrigin + performance.now()`. */
  nextRequest(): Promise<number>;
  end(): void;
}

function receive<T>(child: ChildProcess): Promise<T> {
  return new Promise((done, fail) => {
    const onExit = (code: number | null) => fail(new Error(`a process of the benchmark ended (${code})`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      done(message as T);
    });
  });
}

export async function startProvider(): Promise<Provider> {
  const child = fork(resolve(import.meta.dirname, 'provider.ts'));
  const { url } = await receive<{ url: string }>(child);
  return {
    url,
    async nextRequest() {
      const arrived = receive<{ requestAt: number }>(child);
      child.send('next');
      return (await arrived).requestAt;
    },
    end: () => child.disconnect(),
  };
}

export interface Contestant {
  name: Name;
  carryOut(command: Command): Promise<Figures>;
  end(): void;
}

export function startContestant(name: Name, server: string): Contestant {
  const child = fork(resolve(import.meta.dirname, 'contestant.ts'), [name, server]);
  return {
    name,
    async carryOut(command) {
      const answer = receive<{ ok: true; figures: Figures } | { ok: false; message: string }>(child);
      child.send(command);
      const result = await answer;
      if (!result.ok) throw new Error(`${name}: ${result.message}`);
      return result.figures;
    },
    end: () => child.disconnect(),
  };
}
