// The HTTP server over a whole runtime with a scripted model, on a real socket.
import { type IncomingHttpHeaders, request } from 'node:http';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import { RetinueError } from '../../src/contract/error.ts';
import type { Role } from '../../src/contract/http.ts';
import { native } from '../../src/dialects/native.ts';
import { type HttpServer, type ListenOptions, listen } from '../../src/server/listen.ts';
import { createTokenBook } from '../../src/server/tokens.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

export const tokenOf = (role: Role) => `${role}-`.padEnd(32, 'x');

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json(): unknown;
}

export interface RequestOptions {
  method?: string;
  token?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface TestServer extends AsyncDisposable {
  world: World;
  api: Api;
  server: HttpServer;
  /** Sends exactly these headers. A body that is not a string is sent as JSON. The token's default is that of the role `start`. */
  ask(path: string, options?: RequestOptions): Promise<Answer>;
  /** The whole content of the database. */
  state(): Promise<string>;
}

export async function createTestServer(given: WorldOptions & { listen?: Partial<ListenOptions> } = {}): Promise<TestServer> {
  const { listen: listenOptions, ...worldOptions } = given;
  const questions = { canAnswer: () => true, timeoutMs: 600_000 };
  const world = await createWorld({ ...worldOptions, options: { questions, ...worldOptions.options } });
  const api = createApi({
    ...{ store: world.store, clock: systemClock, ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native },
    runtime: async () => world.runtime,
  });
  const server = await listen({ ...defaultOptions(api), ...listenOptions });
  return {
    world,
    api,
    server,
    ask: (path, options) => ask(server.url, path, options),
    async state() {
      const rows = await world.store.runs({});
      return JSON.stringify([rows, await world.store.facts({}), await world.store.orders(world.runtime.owner)]);
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

export function defaultOptions(api: Api): ListenOptions {
  return {
    ...{ version: '1.2.3', api, workspace: 'home', host: '127.0.0.1', port: 0, tls: null, publicUrl: null, behindProxy: false },
    workspaces: {
      list: async () => [{ id: 'home', path: '/w', db: '/w/db', live: 0, questions: 0, usedAt: null }],
      open: async (id) => {
        throw new RetinueError('usage', `no workspace ${id}`);
      },
    },
    setup: async () => ({
      model: 'script/main',
      models: async () => [{ name: 'script/main' }],
      memories: async () => [{ title: 'a', text: 'b', at: '2026-01-01T00:00:00.000Z' }],
      policy: async (question) => ({ ...question, action: 'allow' }),
    }),
    findToolProcess: async () => null,
    tokens: createTokenBook((['read', 'steer', 'start'] as const).map((role) => ({ value: tokenOf(role), role, name: `the ${role}er` }))),
    web: '/nonexistent',
    publicMetrics: false,
    now: Date.now,
    log: (line) => {
      throw new Error(`unexpected log line: ${line}`);
    },
  };
}

export function ask(url: string, path: string, { method, token, headers = {}, body }: RequestOptions = {}): Promise<Answer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const authorization = token === null ? {} : { authorization: `Bearer ${token ?? tokenOf('start')}` };
  const type = text === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, url),
      { method: method ?? (text === undefined ? 'GET' : 'POST'), headers: { ...authorization, ...type, ...headers }, agent: false },
      (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          answer += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode as number, headers: response.headers, text: answer, json: () => JSON.parse(answer) }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(text);
  });
}

/** Opens the link as a browser does: the headers that its page sends from then on. */
export async function openPage(
  server: Pick<TestServer, 'ask'>,
  token = tokenOf('start'),
): Promise<{ cookie: string; 'retinue-page-key': string }> {
  const { headers } = await server.ask(`/?token=${token}`, { token: null });
  const cookie = (headers['set-cookie']?.[0] ?? '').split(';', 1)[0] as string;
  return { cookie, 'retinue-page-key': headers.location?.split('=')[1] ?? '' };
}
