// The MCP handler in this process: one database, a server API, and a store and runtime for each session that delegates, as in `retinue serve`.
// Clients call the handler instead of a socket.
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import { createKeyAuthenticator } from '../../src/config/order-key.ts';
import { dialectNames, makeDialect } from '../../src/dialects/index.ts';
import { createMcpHandler, type McpHandler, type McpHandlerDeps, type Principal } from '../../src/mcp/http.ts';
import type { Dialect } from '../../src/ports/dialect.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { systemClock } from '../../src/system/clock.ts';
import { countingIds, createWorld, type WorldOptions } from '../support/world.ts';
import { createTemporaryFolder } from './support.ts';

export const url = 'http://127.0.0.1:1/mcp';

export const owner: Principal = { id: 'owner-token', name: 'owner', role: 'start' };

export interface HttpWorld {
  handler: McpHandler;
  api: Api;
  logs: string[];
  /** APIs of sessions that are open. */
  open: Set<Api>;
  /** Lets time pass, without waiting, and fires every timer once. */
  pass(ms: number): void;
  connect(principal?: Principal, options?: { path?: string; name?: string; client?: Client; hasStream?: boolean }): Promise<HttpClient>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface HttpClient {
  client: Client;
  transport: StreamableHTTPClientTransport;
  call(name: string, args: object, options?: Parameters<Client['callTool']>[2]): Promise<CallToolResult>;
  text(name: string, args: object): Promise<string>;
}

/** `dialect`: offered at `/mcp` instead of the native one. */
export interface HttpWorldOptions extends WorldOptions, Partial<Pick<McpHandlerDeps, 'share' | 'bounds' | 'heartbeatMs'>> {
  dialect?: Dialect;
}

export async function createHttpWorld(options: HttpWorldOptions = {}): Promise<HttpWorld> {
  const { share = false, bounds = {}, heartbeatMs, dialect: own, ...given } = options;
  const findDialect = (name: string) => (name === own?.name ? own : makeDialect(name, {}));
  const files = createTemporaryFolder();
  const authenticator = createKeyAuthenticator(join(files.folder, 'key'));
  const ids = countingIds();
  const catalog = createCatalog(builtInAgents);
  const logs: string[] = [];
  const open = new Set<Api>();
  const timers = new Set<() => void>();
  let now = 0;

  async function openApi(dialect: Dialect): Promise<Api> {
    const store = await openSqliteStore({ path: join(files.folder, 'retinue.db'), authenticator, timing: { poll: 20 } });
    const runtime = async () =>
      (
        await createWorld({
          ...given,
          store,
          options: { ...given.options, ids, dialect, dialectNamed: async (name) => findDialect(name) },
        })
      ).runtime;
    return createApi({ store, clock: systemClock, ids, catalog, dialect, runtime });
  }

  const api = await openApi(makeDialect('native', {}));
  const handler = createMcpHandler({
    ...{
      version: '0.0.0',
      limits: {},
      share,
      bounds,
      ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
      api,
      dialects: [...dialectNames, ...(own ? [own.name] : [])],
      defaultDialect: own?.name ?? 'native',
    },
    dialect: async (name) => findDialect(name),
    async open(name) {
      const opened = await openApi(findDialect(name));
      open.add(opened);
      return {
        ...opened,
        async close() {
          open.delete(opened);
          await opened.close();
        },
      };
    },
    every(_, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    now: () => now,
    log: (line) => void logs.push(line),
  });

  return {
    handler,
    api,
    logs,
    open,
    pass(ms) {
      now += ms;
      for (const run of [...timers]) run();
    },
    async connect(principal = owner, { path = '', name = 'tester', client = new Client({ name, version: '1' }), hasStream = true } = {}) {
      const transport = new StreamableHTTPClientTransport(new URL(`${url}${path}`), {
        fetch: async (target, init) =>
          // As a server answers that has no stream for messages.
          init?.method === 'GET' && !hasStream
            ? new Response(null, { status: 405 })
            : cancelOnAbort(await handler.handle(new Request(target, init), principal), init?.signal),
      });
      await client.connect(transport as never);
      const call: HttpClient['call'] = async (tool, args, more) =>
        (await client.callTool({ name: tool, arguments: { ...args } }, undefined, more)) as CallToolResult;
      return { client, transport, call, text: async (tool, args) => readText(await call(tool, args)) };
    },
    async [Symbol.asyncDispose]() {
      await handler.close('the test is over');
      await api.close();
      files[Symbol.dispose]();
    },
  };
}

/** A socket that the client closes cancels the body. */
function cancelOnAbort(response: Response, signal: AbortSignal | null | undefined): Response {
  const reader = response.body?.getReader();
  if (!reader) return response;
  signal?.addEventListener('abort', () => void reader.cancel(), { once: true });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

export function readText(result: CallToolResult): string {
  return result.content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
}

export function findRunId(text: string): string {
  return /run ([0-9a-f]{16})/.exec(text)?.[1] as string;
}

/** A request as a client without the official library sends it. */
export function post(message: object, headers: Record<string, string> = {}): Request {
  return new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });
}

export const initialize = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
