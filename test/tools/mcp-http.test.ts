// Servers at an address, with real HTTP on this machine.
import { expect, test } from 'vitest';
import { createMcpWorld } from '../support/mcp.ts';
import { type Handle, serveHttp } from '../support/mcp-http.ts';

const echo = { tool: 'mcp__far__echo', args: { text: 'hi' } };
const ok = { status: 'ok', output: 'you said: hi', taint: ['mcp'] };

test.each([{}, { json: true }, { kind: 'sse' as const }])('a call over HTTP: %j', async (options) => {
  await using server = await serveHttp(options);
  const type = options.kind ?? 'http';
  await using made = await createMcpWorld({ servers: { far: { url: server.url, type } } });
  expect(await made.play([echo, { tool: 'mcp__far__sum' }])).toMatchObject([ok, { output: '{"total":3}' }]);
});

test('headers come from the definition and from variables, and close ends the session', async () => {
  await using server = await serveHttp();
  const far = { url: server.url, headers: { authorization: `Bearer \${TOKEN}` }, headersFrom: { 'x-user': 'WHO' } };
  const made = await createMcpWorld({ servers: { far }, env: { TOKEN: 'open-sesame', WHO: 'me' } });
  expect(await made.play([echo])).toMatchObject([ok]);
  await made[Symbol.asyncDispose]();
  for (const { headers } of server.requests) expect(headers).toMatchObject({ authorization: 'Bearer open-sesame', 'x-user': 'me' });
  expect(server.requests.at(-1)?.method).toBe('DELETE');
});

test('runs share one session', async () => {
  await using server = await serveHttp();
  await using made = await createMcpWorld({ servers: { far: { url: server.url } } });
  await Promise.all([made.play([echo]), made.play([echo]), made.play([echo])]);
  expect(new Set(server.requests.flatMap(({ headers }) => headers['mcp-session-id'] ?? []))).toHaveLength(1);
});

test('after a restart of the server one call fails and the next opens a session', async () => {
  await using server = await serveHttp();
  await using made = await createMcpWorld({ servers: { far: { url: server.url } } });
  expect(await made.play([echo])).toMatchObject([ok]);
  server.forget();
  expect(await made.play([echo, { ...echo, args: { text: 'hi', times: 1 } }])).toMatchObject([{ status: 'error' }, ok]);
});

test('a response that breaks off fails its call at once', async () => {
  await using server = await serveHttp();
  await using made = await createMcpWorld({
    servers: { far: { url: server.url } },
    script: { runs: [{ steps: [{ calls: [{ tool: 'mcp__far__hang', args: {} }] }, { calls: [echo] }, { text: 'done' }] }] },
  });
  const run = await made.world.runtime.start({ task: 'go' });
  const posts = () => server.requests.filter(({ method }) => method === 'POST').length;
  // initialize, initialized, tools/list, tools/call
  while (posts() < 4) await new Promise((resolve) => setImmediate(resolve));
  server.cut();
  expect(await run.outcome).toMatchObject({ status: 'completed' });
  const results = made.world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  expect(results).toMatchObject([{ status: 'error', output: expect.stringContaining('the connection ended during this call') }, ok]);
});

test('a call that hangs is timed out', async () => {
  await using server = await serveHttp();
  await using made = await createMcpWorld({ servers: { far: { url: server.url, timeout: 5 } } });
  expect(await made.play([{ tool: 'mcp__far__hang' }, echo])).toMatchObject([{ status: 'timeout' }, ok]);
});

test('an endless response is not read to the end', async () => {
  const megabyte = 'x'.repeat(1_000_000);
  await using server = await serveHttp({
    before: (request, response) => {
      if (request.method !== 'POST') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => void (response.destroyed || response.write(megabyte, more));
      more();
      return true;
    },
  });
  await using made = await createMcpWorld({ servers: { far: { url: server.url } } });
  await made.play([]);
  expect(made.created().notices.join()).toContain('it sent a message of more than 16777216 bytes');
});

test('reports a wrong address, a missing right and a redirect elsewhere', async () => {
  await using elsewhere = await serveHttp();
  const answer =
    (status: number, headers: Record<string, string> = {}): Handle =>
    (_, response) => {
      response.writeHead(status, headers).end();
      return true;
    };
  await using gone = await serveHttp({ before: answer(404) });
  await using closed = await serveHttp({ before: answer(401) });
  await using moved = await serveHttp({ before: answer(307, { location: elsewhere.url }) });
  await using made = await createMcpWorld({ servers: { gone: { url: gone.url }, closed: { url: closed.url }, moved: { url: moved.url } } });
  await made.play([]);
  expect(made.created().grant.tools.filter((tool) => tool.startsWith('mcp__'))).toEqual([]);
  expect(made.created().notices.filter((notice) => notice.includes('cannot be used'))).toHaveLength(3);
  expect(elsewhere.requests).toEqual([]);
});
