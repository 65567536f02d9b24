// The same children delegated by Retinue: a client of the real kernel and stores, with every check.
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createProcessExecutor } from '../../src/hosts/process.ts';
import type { Runtime, RuntimeClient } from '../../src/kernel/runtime.ts';
import { modelObjectToHandle } from '../../src/models/model-object.ts';
import { createModels } from '../../src/models/models.ts';
import { withPrices } from '../../src/models/prices.ts';
import { createProviders } from '../../src/models/providers.ts';
import type { Models } from '../../src/ports/model.ts';
import { createProcessGuard } from '../../src/system/process-guard.ts';
import { openRuntime, type StoreKind, withRuntime } from '../support.ts';

export interface Delegation {
  store: StoreKind;
  models: Models;
  model: string;
  host?: 'process';
  /** The text that tells the model of the benchmark what a child does. */
  task?: string;
}

const limits = { maxConcurrent: 10_000, maxTokens: 1_000_000_000 };
const slots = 10_000;

/** Models by name, over Retinue's own decoders. */
export function namedModels(url: string): Pick<Delegation, 'models' | 'model'> {
  const providers = createProviders({ env: { RETINUE_BASE_URL: url } });
  return { models: withPrices(createModels({ providers }), {}), model: 'openai-compatible/x' };
}

/** A model object of the AI SDK. */
export function objectModels(model: unknown): Pick<Delegation, 'models' | 'model'> {
  const handle = modelObjectToHandle(model);
  return { models: { resolve: () => handle }, model: 'bench/x' };
}

export interface DelegatedFigures {
  wallMs: number;
  cpuMs: number;
}

/** A runtime with its store, which stay open for many measurements as they do in a process that delegates. */
export interface Delegator {
  /** `times` groups of `n` children of one client, one group after the other. */
  run(n: number, times: number): Promise<DelegatedFigures>;
  close(): Promise<void>;
}

export async function openDelegator({ store, models, model, host, task = 'child' }: Delegation): Promise<Delegator> {
  const { runtime, close } = await openRuntime(store, { models, model, slots, ...(host && { executor: createExecutor() }) });
  return {
    async run(n, times) {
      const [wall, cpu] = [performance.now(), process.cpuUsage()];
      const client = await runtime.openClient({ limits });
      for (let time = 0; time < times; time++) await runGroup(client, n, task);
      await client.close();
      const { user, system } = process.cpuUsage(cpu);
      return { wallMs: performance.now() - wall, cpuMs: (user + system) / 1000 };
    },
    close,
  };
}

/** Bytes per child of a new database with `n` of them. */
export async function measureDatabase(n: number, { models, model, task = 'child' }: Delegation): Promise<number> {
  let bytes = 0;
  // The write-ahead log is part of the file by then.
  const onClosed = (folder: string) => {
    bytes = statSync(join(folder, 'bench.db')).size / n;
  };
  const run = async (runtime: Runtime) => {
    const client = await runtime.openClient({ limits });
    await runGroup(client, n, task);
    await client.close();
  };
  await withRuntime('sqlite', run, { models, model, slots, onClosed });
  return bytes;
}

async function runGroup(client: RuntimeClient, n: number, task: string): Promise<void> {
  await Promise.all(
    Array.from({ length: n }, async (_, at) => {
      const { outcome } = await client.delegate({ task: `${task} ${at}`, agent: 'explore' });
      const { status, error } = await outcome;
      if (status !== 'completed') throw new Error(JSON.stringify(error));
    }),
  );
}

function createExecutor() {
  const command = [process.execPath, resolve(import.meta.dirname, '../../bin/retinue.js'), '--child-run'];
  return createProcessExecutor({ command, env: process.env, marks: createProcessGuard().marks });
}

const usage = { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const callParts: LanguageModelV4StreamPart[] = [
  { type: 'tool-call', toolCallId: '1', toolName: 'echo', input: '{"n":1}' },
  { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage },
];
const lastParts: LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'done' },
  { type: 'text-end', id: '0' },
  { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
];

/** Heap per child in bytes: while all of them wait for the answer to their second call, and while they wait for a slot. */
export async function measureHeap(n: number, gc: () => void, what: 'live' | 'queued'): Promise<number> {
  const release = Promise.withResolvers<void>();
  const allWait = Promise.withResolvers<void>();
  let waiting = 0;
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    async doStream({ prompt }) {
      const isSecond = prompt.length > 2;
      if (isSecond || what === 'queued') {
        if (++waiting === n) allWait.resolve();
        await release.promise;
      }
      return { stream: ReadableStream.from(isSecond ? lastParts : callParts) as ReadableStream<LanguageModelV4StreamPart> };
    },
  };
  const handle = { id: 'bench/bench', lane: 'bench', model, contextWindow: null, maxOutputTokens: null, price: () => 0 };
  return withRuntime(
    'sqlite',
    async (runtime) => {
      const client = await runtime.openClient({ limits });
      gc();
      const before = process.memoryUsage().heapUsed;
      const runs = await Promise.all(Array.from({ length: n }, (_, at) => client.delegate({ task: `child ${at}`, agent: 'explore' })));
      if (what === 'live') await allWait.promise;
      gc();
      const used = process.memoryUsage().heapUsed - before;
      release.resolve();
      await Promise.all(runs.map((run) => run.outcome));
      await client.close();
      return used / n;
    },
    { models: { resolve: async () => handle }, slots: what === 'live' ? n + 1 : 1 },
  );
}
