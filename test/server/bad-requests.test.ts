// Requests that are wrong: each answer has the right status and code, and its message says what to send instead.
import { expect, it } from 'vitest';
import { createTestServer } from './support.ts';

const done = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };
const waits = { runs: [{ times: 'any', steps: [{ delayMs: 600_000, text: 'late' }] }] };
const queries: [path: string, message: string][] = [
  ['/api/runs?limit=0', 'query.limit: must be at least 1'],
  ['/api/runs?limit=', 'query.limit: must be at least 1'],
  ['/api/runs?limit=10001', 'query.limit: must be at most 10000'],
  ['/api/runs?limit=abc', 'query.limit: must be a whole number'],
  ['/api/runs?limit=1.5', 'query.limit: must be a whole number'],
  ['/api/runs?all=yes', 'query.all: must be one of 0, 1, true, false'],
  ['/api/runs?al=1', 'query: has an unknown key `al`; did you mean `all`?'],
  ['/api/trees?status=runing', 'query.status.0: must be one of queued, running'],
  ['/api/search', 'query.q: is missing; it must be text'],
  ['/api/runs/last/facts?after=abc', 'has no position `abc`; take the `position` of an event'],
  ['/api/runs/last/facts?after=-1', 'has no position `-1`'],
  ['/api/runs/last/facts?after=', 'has no position ``'],
  ['/api/runs/last/facts?after=99999999&limit=5', 'has no position `99999999`'],
];

it('refuses a wrong query with 400 and the right value', async () => {
  await using server = await createTestServer({ script: done });
  await (await server.api.start({ task: 'x' })).outcome;
  for (const [path, message] of queries) {
    const { status, text } = await server.ask(path);
    expect([path, status, text]).toEqual([path, 400, expect.stringContaining(JSON.stringify(message).slice(1, -1))]);
  }
});

it('reads the log after any position of the database, and nothing after the newest', async () => {
  await using server = await createTestServer({ script: done });
  const { id, outcome } = await server.api.start({ task: 'x' });
  await outcome;
  const before = (await server.api.logs(id)).length;
  const other = await server.api.start({ task: 'y' });
  await other.outcome;
  const newest = ((await server.ask('/api/position')).json() as { position: string }).position;
  expect((await server.ask(`/api/runs/${id}/facts?after=${newest}`)).json()).toEqual([]);
  const last = (await server.api.logs(id)).at(-1)?.position as string;
  expect((await server.ask(`/api/runs/${id}/facts?after=${last}`)).json()).toEqual([]);
  // A position of another run: this one has nothing after it, and the other one everything.
  expect((await server.ask(`/api/runs/${other.id}/facts?after=${last}`)).json()).toHaveLength((await server.api.logs(other.id)).length);
  expect((await server.ask(`/api/runs/${id}/facts?after=0`)).json()).toHaveLength(before);
});

it.each([
  ['DELETE', '/api/runs', 405, 'GET, HEAD, POST'],
  ['PUT', '/api/runs/last', 405, 'GET, HEAD'],
  ['GET', '/api/runs/last/cancel', 405, 'POST'],
  ['POST', '/api/events', 405, 'GET, HEAD'],
  ['OPTIONS', '/api/costs', 405, 'GET, HEAD'],
  ['POST', '/healthz', 405, 'GET, HEAD'],
  ['POST', '/', 405, 'GET, HEAD'],
  ['DELETE', '/api/nope', 404, undefined],
  ['GET', '/api/runs/', 404, undefined],
  ['POST', '/nope', 404, undefined],
])('%s %s is %d, with the methods that the path has', async (method, path, status, allow) => {
  await using server = await createTestServer({ script: done });
  const answer = await server.ask(path, { method });
  expect([answer.status, answer.headers.allow]).toEqual([status, allow]);
  const { error } = answer.json() as { error: { code: string; message: string } };
  expect(error.code).toBe(status === 405 ? 'method_not_allowed' : 'not_found');
  expect(error.message).toContain(
    allow === undefined ? `there is no ${method} ${path}` : `${path} does not take ${method}; send ${allow.split(', ')[0]}`,
  );
});

it('refuses a body that it cannot read', async () => {
  await using server = await createTestServer({ script: done });
  const post = (body: string, headers: Record<string, string> = {}) => server.ask('/api/runs', { headers, body });
  const answers = [
    [await post('{"task":"x"}', { 'content-type': 'text/plain' }), 415, 'send the body as `Content-Type: application/json`'],
    [await post('{"task":"x"}', { 'content-encoding': 'gzip' }), 415, 'without `Content-Encoding`'],
    [await post('{"task":'), 400, 'the body is not valid JSON; send one JSON object'],
    [await post(`{"task":"${'x'.repeat(1_048_576)}"}`), 413, 'a body has at most 1048576 bytes'],
    [await post('['.repeat(100_000) + ']'.repeat(100_000)), 400, 'nested more than 100 levels'],
    [await post('[]'), 400, 'the body must be a brief'],
    [await post('{}'), 400, 'task: is missing; it must be text'],
    [await post('{"task":7}'), 400, 'task: must be text'],
    [await post('{"task":"x","label":" "}'), 400, 'label: must not be empty'],
    [await post('{"task":"x","rules":["deny bahs"]}'), 400, 'did you mean `bash`?'],
    [await post('{"task":"x","agnt":"y"}'), 400, 'did you mean `agent`?'],
  ] as const;
  for (const [{ status, text }, expected, message] of answers) expect([status, text]).toEqual([expected, expect.stringContaining(message)]);
  expect(await server.api.ps({ all: true })).toEqual([]);
});

it('refuses an idempotency key that is not readable, and one that has another brief', async () => {
  await using server = await createTestServer({ script: waits });
  const start = async (brief: object) => {
    const { status, text } = await server.ask('/api/runs', { body: { task: 'x', ...brief } });
    return [status, JSON.parse(text)];
  };
  const refused = (message: string) => [400, { error: { code: 'invalid_brief', message: expect.stringContaining(message) } }];
  expect(await start({ idempotencyKey: '' })).toEqual(refused('idempotencyKey: must not be empty'));
  expect(await start({ idempotencyKey: 'k'.repeat(201) })).toEqual(refused('idempotencyKey: must have at most 200 characters'));
  for (const idempotencyKey of ['a\0', 'a\nb', 'a\u202eb', ' a'])
    expect(await start({ idempotencyKey })).toEqual(refused('idempotencyKey: must have no control characters'));

  const [status, { runId }] = await start({ idempotencyKey: 'Straße 7', label: 'a' });
  expect(status).toBe(201);
  expect(await start({ idempotencyKey: 'Straße 7', label: 'a' })).toEqual([201, { runId }]);
  const conflict = (what: string) => [409, { error: { code: 'key_conflict', message: expect.stringMatching(what) } }];
  expect(await start({ idempotencyKey: 'Straße 7', label: 'b' })).toEqual(
    conflict(`run ${runId} was created .*\`label\` differs; choose another key`),
  );
  expect(await start({ idempotencyKey: 'Straße 7', label: 'a', limits: { maxTurns: 3 } })).toEqual(conflict('`limits` differs'));
  await server.api.cancel([runId], 'enough');
  await server.api.wait([runId], { any: false, signal: new AbortController().signal });
  expect(await start({ idempotencyKey: 'Straße 7', label: 'a' })).toEqual(
    conflict(`run ${runId} was already created with this key; use its result`),
  );
});

it('has the same rules for messages to live and to ended runs', async () => {
  await using server = await createTestServer({ script: waits });
  const { id } = await server.api.start({ task: 'x' });
  const send = async (body: object, run = id) => {
    const { status, text } = await server.ask(`/api/runs/${run}/message`, { body });
    return [status, JSON.parse(text).error?.message ?? JSON.parse(text).kind];
  };
  const wrong: [object, string][] = [
    [{}, 'body.text: is missing; it must be text'],
    [{ text: 5 }, 'body.text: must be text'],
    [{ text: 'x', rule: [] }, 'body: has an unknown key `rule`; did you mean `rules`? (available: text, rules)'],
    [{ text: ' \n' }, 'text: must not be empty'],
    [{ text: 'x', rules: ['deny bahs'] }, 'unknown tool `bahs`; did you mean `bash`?'],
    [{ text: 'é'.repeat(32_769) }, 'text: has 65538 bytes, and at most 65536 are possible'],
  ];
  for (const [body, message] of wrong) expect(await send(body)).toEqual([400, expect.stringContaining(message)]);
  expect(await send({ text: 'é'.repeat(32_768) })).toEqual([200, 'sent']);
  expect(await send({ text: '', rules: ['deny bash'] })).toEqual([200, 'sent']);
  await server.api.cancel([id], 'enough');
  await server.api.wait([id], { any: false, signal: new AbortController().signal });
  for (const [body, message] of wrong) expect(await send(body)).toEqual([400, expect.stringContaining(message)]);
  expect(await send({ text: '', rules: ['deny bash'] })).toEqual([400, expect.stringContaining('the run has ended')]);
  expect(await send({ text: 'x' }, 'ffff')).toEqual([404, expect.stringContaining('there is no run that begins with ffff')]);
});
