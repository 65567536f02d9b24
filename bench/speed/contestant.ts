// One of the compared programs, in a process of its own, so that none of them warms up, or leaves garbage for, another. It gets a command at a time from
// the parent process and answers with figures. Processor time is that of the whole process with all its threads.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { findAnswer, isStreamed } from './answers.ts';
import { createAiLoop, createAiModel, createBareLoop, type RunChildren, sendByFetch, sendByHttp } from './loops.ts';
import { type Delegation, type Delegator, measureDatabase, measureHeap, namedModels, objectModels, openDelegator } from './retinue.ts';

export const names = ['fetch', 'http', 'ai', 'memory', 'sqlite', 'process', 'ai-model'] as const;
export type Name = (typeof names)[number];

export type Command =
  /** `times` groups of `n` children with a provider that takes `delay` ms per call. */
  | { do: 'run'; n: number; times: number; delay: number }
  /** `n` children of an AI SDK model over a `fetch` that answers at once. */
  | { do: 'micro'; n: number; turns: number }
  /** A new database with `n` children. */
  | { do: 'database'; n: number }
  | { do: 'heap'; n: number; what: 'live' | 'queued' };

export interface Figures {
  wallMs: number;
  cpuMs: number;
  /** Heap or database bytes per child. */
  bytes: number | null;
}

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

async function runLoop(run: RunChildren, n: number, times: number): Promise<Figures> {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  for (let time = 0; time < times; time++) await run(n);
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs: performance.now() - wall, cpuMs: (user + system) / 1000, bytes: null };
}

async function answerAtOnce(_url: unknown, init?: RequestInit): Promise<Response> {
  const body = String(init?.body);
  const { streamed, whole } = findAnswer(body);
  const type = isStreamed(body) ? 'text/event-stream' : 'application/json';
  return new Response(new Uint8Array(type === 'application/json' ? whole : streamed), { headers: { 'content-type': type } });
}

async function carryOut(name: Name, server: string, command: Command): Promise<Figures> {
  if (command.do === 'heap') {
    await measureHeap(8, gc, command.what);
    return { wallMs: 0, cpuMs: 0, bytes: await measureHeap(command.n, gc, command.what) };
  }
  if (command.do === 'database') return { wallMs: 0, cpuMs: 0, bytes: await measureDatabase(command.n, delegations.sqlite(`${server}/0`)) };
  if (command.do === 'micro') {
    const { n, turns } = command;
    const model = createAiModel('http://bench.invalid', answerAtOnce as typeof fetch);
    const task = `turns: ${turns} child`;
    if (name === 'ai') return runLoop(createAiLoop(model, task), n, 1);
    return delegate(task, () => ({ store: 'sqlite', task, ...objectModels(model) }), { n, times: 1 });
  }
  const { n, times, delay } = command;
  const url = `${server}/${delay}`;
  if (name === 'fetch') return runLoop(createBareLoop(url, sendByFetch), n, times);
  if (name === 'http') return runLoop(createBareLoop(url, sendByHttp), n, times);
  if (name === 'ai') return runLoop(createAiLoop(createAiModel(url)), n, times);
  return delegate(url, () => delegations[name](url), { n, times });
}

/** By what they delegate to. A process has one runtime with one store, and keeps its connections, like `fetch` and `node:http`. */
const delegators = new Map<string, Promise<Delegator>>();

async function delegate(key: string, create: () => Delegation, { n, times }: { n: number; times: number }): Promise<Figures> {
  const delegator = delegators.get(key) ?? openDelegator(create());
  delegators.set(key, delegator);
  return { ...(await (await delegator).run(n, times)), bytes: null };
}

const delegations: Record<'memory' | 'sqlite' | 'process' | 'ai-model', (url: string) => Delegation> = {
  memory: (url) => ({ store: 'memory', ...namedModels(url) }),
  sqlite: (url) => ({ store: 'sqlite', ...namedModels(url) }),
  process: (url) => ({ store: 'sqlite', host: 'process', task: 'tool: list child', ...namedModels(url) }),
  'ai-model': (url) => ({ store: 'sqlite', ...objectModels(createAiModel(url)) }),
};

const [name, server] = process.argv.slice(2) as [Name, string];
process.on('message', async (command: Command) => {
  try {
    process.send?.({ ok: true, figures: await carryOut(name, server, command) });
  } catch (error) {
    process.send?.({ ok: false, message: error instanceof Error ? error.stack : String(error) });
  }
});
process.on('disconnect', async () => {
  for (const delegator of delegators.values()) await (await delegator).close();
  process.exit(0);
});
