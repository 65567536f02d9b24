// Who may do what: tokens, roles, hosts, origins and bodies. Every route is taken from the OpenAPI document.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Role } from '../../src/contract/http.ts';
import { createTestServer, type TestServer, tokenOf } from './support.ts';

interface DocumentedRoute {
  method: string;
  path: string;
  role: Role;
}

let server: TestServer;
let routes: DocumentedRoute[];
let runId: string;

beforeAll(async () => {
  server = await createTestServer({ script: { runs: [{ steps: [{ delayMs: 600_000, text: 'late' }] }] } });
  runId = (await server.api.start({ task: 'wait' })).id;
  for await (const fact of server.api.follow(runId, { signal: new AbortController().signal })) if (fact.type === 'model.asked') break;
  const { paths } = (await server.ask('/openapi.json')).json() as { paths: Record<string, Record<string, { 'x-role': Role }>> };
  const routesOfApi = Object.entries(paths).filter(([path]) => path.startsWith('/api/'));
  routes = routesOfApi.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({
      method: method.toUpperCase(),
      path: path.replace('{id}', runId),
      role: route['x-role'],
    })),
  );
});

afterAll(() => server[Symbol.asyncDispose]());

const changes = () => routes.filter(({ method }) => method === 'POST');

/** Sends the request to each route; the database must not change. */
async function askEach(options: Parameters<TestServer['ask']>[1], asked: DocumentedRoute[] = routes): Promise<Set<string>> {
  const before = await server.state();
  const answers = new Set<string>();
  for (const route of asked) {
    const body = route.method === 'POST' ? { body: {} } : {};
    const { status, text } = await server.ask(route.path, { method: route.method, ...body, ...options });
    answers.add(`${status} ${/"code":"(\w+)"/.exec(text)?.[1]}`);
  }
  expect(await server.state()).toBe(before);
  return answers;
}

it('documents every route, with its role', () => {
  expect(routes.map(({ method, path, role }) => `${method} ${path.replace(runId, 'ID')} ${role}`).sort()).toEqual([
    'GET /api/agents read',
    'GET /api/costs read',
    'GET /api/events read',
    'GET /api/memories read',
    'GET /api/models read',
    'GET /api/position read',
    'GET /api/questions read',
    'GET /api/queue read',
    'GET /api/runs read',
    'GET /api/runs/ID read',
    'GET /api/runs/ID/artifacts read',
    'GET /api/runs/ID/diff read',
    'GET /api/runs/ID/facts read',
    'GET /api/runs/ID/outcome read',
    'GET /api/runs/ID/tree read',
    'GET /api/search read',
    'GET /api/server read',
    'GET /api/trees read',
    'GET /api/workspaces read',
    'POST /api/flows start',
    'POST /api/policy read',
    'POST /api/questions/ID steer',
    'POST /api/queue start',
    'POST /api/runs start',
    'POST /api/runs/ID/cancel steer',
    'POST /api/runs/ID/compact steer',
    'POST /api/runs/ID/fork start',
    'POST /api/runs/ID/message steer',
    'POST /api/runs/ID/pause steer',
    'POST /api/runs/ID/replay read',
    'POST /api/runs/ID/resume steer',
    'POST /api/runs/ID/verify read',
    'POST /api/verify read',
  ]);
});

describe('every route, and nothing changes', () => {
  it('answers 401 without a token', async () => {
    expect(await askEach({ token: null })).toEqual(new Set(['401 unauthorized']));
  });

  it('answers 401 for a wrong token', async () => {
    expect(await askEach({ token: 'wrong'.padEnd(32, 'x') })).toEqual(new Set(['401 unauthorized']));
  });

  it.each(['evil.example', '127.0.0.1', '127.0.0.1:1', 'localhost.evil.example'])('answers 403 for the host %s', async (host) => {
    expect(await askEach({ headers: { host } })).toEqual(new Set(['403 forbidden']));
  });

  it.each(['null', 'https://evil.example', 'http://127.0.0.1:1', 'http://127.0.0.1'])('answers 403 for the origin %s', async (origin) => {
    expect(await askEach({ headers: { origin } })).toEqual(new Set(['403 forbidden']));
  });

  it('answers 403 for another name of this machine as origin', async () => {
    const origin = `http://localhost:${server.server.port}`;
    expect(await askEach({ headers: { origin } })).toEqual(new Set(['403 forbidden']));
  });

  it.each(Role.options)('answers 403 to a token with the role %s where it does not suffice', async (role) => {
    const isRefused = (needed: Role) => Role.options.indexOf(needed) > Role.options.indexOf(role);
    const refused = routes.filter((route) => isRefused(route.role));
    expect(refused.length).toBe({ read: 10, steer: 4, start: 0 }[role]);
    expect(await askEach({ token: tokenOf(role) }, refused)).toEqual(new Set(role === 'start' ? [] : ['403 forbidden']));
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx'])(
    'answers 415 for a body of type %s',
    async (type) => {
      expect(await askEach({ headers: { 'content-type': type } }, changes())).toEqual(new Set(['415 unsupported_media_type']));
    },
  );

  it('answers 413 for a body of more than 1 MiB', async () => {
    const body = JSON.stringify({ task: 'x'.repeat(1_048_576) });
    expect(await askEach({ body }, changes())).toEqual(new Set(['413 too_large']));
    expect(await askEach({ body, headers: { 'transfer-encoding': 'chunked' } }, changes())).toEqual(new Set(['413 too_large']));
  });
});

it('accepts each of its own names, with the origin of the same name', async () => {
  for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
    const host = `${name}:${server.server.port}`;
    expect((await server.ask('/api/server', { headers: { host } })).status).toBe(200);
    expect((await server.ask('/api/server', { headers: { host, origin: `http://${host}` } })).status).toBe(200);
  }
});

it('protects the document and the metrics, but not the health checks', async () => {
  expect((await server.ask('/openapi.json', { token: null })).status).toBe(401);
  expect((await server.ask('/metrics', { token: null })).status).toBe(401);
  expect((await server.ask('/healthz', { token: null })).status).toBe(200);
  expect((await server.ask('/readyz', { token: null })).status).toBe(200);
  expect((await server.ask('/healthz', { token: null, headers: { host: 'evil.example' } })).status).toBe(403);
});

it('answers 404 as JSON for an unknown route under /api, and 401 first', async () => {
  expect((await server.ask('/api/nothing', { token: null })).status).toBe(401);
  const { status, text } = await server.ask('/api/nothing');
  expect([status, text]).toEqual([404, expect.stringContaining('"code":"not_found"')]);
  expect((await server.ask('/api/nothing', { method: 'DELETE' })).status).toBe(404);
});

it('refuses too many wrong tokens with 429, but never a valid one', async () => {
  await using other = await createTestServer();
  const wrong = (n: number) => other.ask('/api/runs', { token: `wrong-${n}`.padEnd(32, 'x') });
  const statuses: number[] = [];
  for (let n = 0; n < 70; n++) statuses.push((await wrong(n)).status);
  expect([...new Set(statuses)]).toEqual([401, 429]);
  expect((await other.ask('/?token=wrong', { token: null })).status).toBe(429);
  expect((await wrong(99)).headers['retry-after']).toBe('60');
  expect((await other.ask('/api/runs')).status).toBe(200);
  expect((await other.ask('/api/runs', { token: null })).status).toBe(401);
});

it('sends the security headers with every answer, also with errors and streams', async () => {
  const paths: [string, Parameters<TestServer['ask']>[1]?][] = [
    ['/api/runs'],
    ['/api/runs', { token: null }],
    ['/api/runs', { headers: { host: 'evil.example' } }],
    ['/'],
    ['/healthz'],
    ['/nothing.js'],
  ];
  const stop = new AbortController();
  const stream = await fetch(`${server.server.url}/api/events`, {
    headers: { authorization: `Bearer ${tokenOf('read')}` },
    signal: stop.signal,
  });
  const all = [Object.fromEntries(stream.headers)];
  stop.abort();
  for (const [path, options] of paths) all.push((await server.ask(path, options)).headers as Record<string, string>);
  for (const headers of all) {
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  }
});
