// A runtime for benchmarks: the real kernel and stores, with a model in the same process that answers at once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { z } from 'zod';
import { builtInAgents } from '../src/agents/built-in.ts';
import { createCatalog } from '../src/agents/catalog.ts';
import { createRedaction } from '../src/config/redact.ts';
import { checkRules } from '../src/config/rulesets.ts';
import type { Agent } from '../src/contract/agent.ts';
import { native } from '../src/dialects/native.ts';
import { inlineExecutor } from '../src/hosts/inline.ts';
import { createRuntime, type Runtime } from '../src/kernel/runtime.ts';
import { createModelCaller } from '../src/models/call.ts';
import type { ExternalAgents } from '../src/ports/external-agent.ts';
import type { Models } from '../src/ports/model.ts';
import type { Store } from '../src/ports/store.ts';
import type { AnyTool } from '../src/ports/tool.ts';
import type { ToolExecutor } from '../src/ports/tool-executor.ts';
import { builtInRuleset } from '../src/rules/policy.ts';
import { createMemoryStore } from '../src/stores/memory.ts';
import { createMemoryNotes } from '../src/stores/notes-memory.ts';
import { createOrderAuthenticator } from '../src/stores/order-authenticator.ts';
import { openSqliteStore } from '../src/stores/sqlite/create.ts';
import { systemClock, systemIds } from '../src/system/clock.ts';
import { createWorkspaceReader, workspaceTools } from '../src/tools/index.ts';
import { compileSchema } from '../src/tools/json-schema.ts';

const parts: LanguageModelV4StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'done' },
  { type: 'text-end', id: '0' },
  {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } },
  },
];

const model: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'bench',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not used')),
  doStream: async () => ({ stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> }),
};

/** A tool that costs nothing, so that only the runtime is measured. */
const echo: AnyTool = {
  name: 'echo',
  description: 'Returns its input',
  input: z.strictObject({ n: z.number() }),
  readOnly: true,
  idempotent: true,
  subjects: () => [],
  execute: async ({ n }) => ({ output: String(n) }),
};

const handle = { id: 'bench/bench', lane: 'bench', model, contextWindow: null, maxOutputTokens: null, price: () => 0 };

const key = new Uint8Array(32).fill(1);
const authenticator = createOrderAuthenticator({ read: () => key, create: () => key });

/** `postgres`: the address of a server, where each store gets a schema of its own. */
export type StoreKind = 'memory' | 'sqlite' | { postgres: string };

let schemas = 0;

async function openStore(kind: StoreKind, folder: string): Promise<Store> {
  if (kind === 'memory') return createMemoryStore();
  if (kind === 'sqlite') return openSqliteStore({ path: join(folder, 'bench.db'), durability: 'normal', authenticator });
  const { openPostgresStore } = await import('../src/stores/postgres/create.ts');
  return openPostgresStore({ url: kind.postgres, schema: `bench_${process.pid}_${++schemas}`, authenticator });
}

export interface OpenOptions {
  models?: Models;
  model?: string;
  slots?: number;
  executor?: ToolExecutor;
  agents?: Agent[];
  externals?: ExternalAgents;
  onClosed?(folder: string): void;
}

export interface OpenedRuntime {
  runtime: Runtime;
  store: Store;
  /** Has the database `bench.db` of the SQLite store. */
  folder: string;
  /** Removes the folder too. */
  close(): Promise<void>;
}

export async function withRuntime<T>(
  kind: StoreKind,
  use: (runtime: Runtime, store: Store, folder: string) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const { runtime, store, folder, close } = await openRuntime(kind, options);
  try {
    return await use(runtime, store, folder);
  } finally {
    await close();
  }
}

export async function openRuntime(kind: StoreKind, options: OpenOptions): Promise<OpenedRuntime> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const store = await openStore(kind, folder);
  const runtime = await createRuntime({
    store,
    clock: systemClock,
    ids: systemIds,
    catalog: createCatalog([
      ...builtInAgents.map((agent) => ({ ...agent, tools: [...(agent.tools ?? []), 'echo'] })),
      ...(options.agents ?? []),
    ]),
    externals: options.externals,
    tools: [...workspaceTools, echo],
    dialect: native,
    findExecutor: () => options.executor ?? inlineExecutor,
    host: options.executor?.name,
    workspaces: createWorkspaceReader({ sandbox: null }),
    memories: createMemoryNotes().memories,
    callModel: createModelCaller(systemClock),
    compileSchema,
    ...createRedaction({}),
    models: options.models ?? { resolve: async () => handle },
    ...(options.slots === undefined ? {} : { slots: options.slots }),
    settings: {
      workspace: folder,
      model: options.model ?? 'bench/bench',
      limits: {},
      rulesets: (delegationTools) => [builtInRuleset(delegationTools, ['echo'])],
      checkRules,
    },
  });
  return {
    runtime,
    store,
    folder,
    async close() {
      await runtime.close();
      await store.close();
      options.onClosed?.(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
