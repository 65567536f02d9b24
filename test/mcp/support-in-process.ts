// Starts the server in this process, with linked transports, a real runtime and a test dialect.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { z } from 'zod';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import { type Connection, serve } from '../../src/mcp/serve.ts';
import type { DelegationReply, Dialect, DialectTool } from '../../src/ports/dialect.ts';
import { systemClock } from '../../src/system/clock.ts';
import { countingIds, createWorld, type World, type WorldOptions } from '../support/world.ts';

const Question = z.strictObject({ question: z.string().min(1), background: z.boolean().optional() });

/** A dialect with JSON results and no tool to read a run by its id. */
const ask: DialectTool<z.infer<typeof Question>> = {
  name: 'ask',
  title: 'Ask somebody',
  description: () => 'Asks somebody else. There is nothing more to say.',
  input: Question,
  output: z.strictObject({ ok: z.boolean(), answer: z.string().nullable(), calls: z.string() }),
  readOnly: false,
  destructive: false,
  toRequest: ({ question, background }) => ({
    kind: 'delegate',
    briefs: [{ task: question, label: question.slice(0, 20) }],
    waitMs: background ? 0 : null,
  }),
  fromReply(reply, _, { call }) {
    const outcome = getOutcome(reply);
    const refused = reply.kind === 'children' && reply.children[0]?.ok === false;
    if (refused) return { parts: [{ text: 'refused' }], isError: true };
    return { parts: [], isError: false, structured: { ok: outcome?.success ?? false, answer: outcome?.summary ?? null, calls: call } };
  },
};

const hello: DialectTool<object> = {
  name: 'hello',
  description: () => 'Says how many are open.',
  input: z.strictObject({}),
  readOnly: true,
  toRequest: () => ({ kind: 'wait', ids: null, mode: 'all', waitMs: 0 }),
  fromReply: (reply) => ({
    parts: [{ text: 'open:' }, { text: String(reply.kind === 'children' ? reply.children.length : -1) }],
    isError: false,
  }),
};

function getOutcome(reply: DelegationReply) {
  const [child] = reply.kind === 'children' ? reply.children : [];
  return child?.ok ? child.view.outcome : null;
}

export const askDialect: Dialect = { name: 'asking', description: 'asks', tools: [ask, hello], setup: { endsWithClient: true } };

export interface InProcessServer {
  client: Client;
  world: World;
  connection: Connection;
  logs: string[];
  /** Fires the timers of the server once. */
  tick(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startInProcess(options: WorldOptions = {}, dialect: Dialect = askDialect): Promise<InProcessServer> {
  const world = await createWorld({ ...options, options: { ...options.options, dialect } });
  const api: Api = createApi({
    store: world.store,
    clock: options.clock ?? systemClock,
    ids: countingIds(),
    catalog: createCatalog(builtInAgents),
    dialect,
    runtime: async () => world.runtime,
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const timers = new Set<() => void>();
  const logs: string[] = [];
  const connection = await serve(far, {
    ...{ version: '0.0.0', fixed: true, limits: {}, share: false, dialect, isFolder: () => true },
    open: async () => ({ ...api, close: async () => {} }),
    every(_, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    log: (line) => void logs.push(line),
  });
  const client = new Client({ name: 'inside', version: '1' });
  await client.connect(near);
  return {
    client,
    world,
    connection,
    logs,
    tick() {
      for (const run of [...timers]) run();
    },
    async [Symbol.asyncDispose]() {
      await connection.close();
      await world[Symbol.asyncDispose]();
    },
  };
}
