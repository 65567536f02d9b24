// What the routes answer, and that orders take effect.
import { expect, it } from 'vitest';
import { FileChange, RunDetailJson } from '../../src/contract/http.ts';
import { Outcome } from '../../src/contract/outcome.ts';
import { Question, RunView, TreeList, TreeSnapshot } from '../../src/contract/view.ts';
import { runDetailToJson, runToJson } from '../../src/views/json.ts';
import { createTestServer, tokenOf } from './support.ts';

const writes = {
  runs: [
    { steps: [{ calls: [{ tool: 'write', args: { path: 'notes.txt', content: 'hello\n' } }] }, { text: 'written' }] },
    { times: 'any', steps: [{ text: 'follow-up done' }] },
  ],
};
const waits = { runs: [{ steps: [{ delayMs: 600_000, text: 'late' }] }] };
const asks = {
  runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'AGENTS.md', content: 'be nice\n' } }] }, { text: 'asked' }] }],
};
/** Takes far longer than a test, in short turns. */
const works = {
  runs: [{ steps: Array.from({ length: 450 }, (_, i) => ({ delayMs: 100, calls: [{ tool: 'read', args: { path: `missing-${i}` } }] })) }],
};

it('starts a run and shows it in all forms of the command line', async () => {
  await using server = await createTestServer({ script: writes });
  const { status, text } = await server.ask('/api/runs', { body: { task: 'write a note', label: 'notes' } });
  expect(status).toBe(201);
  const { runId } = JSON.parse(text);
  await server.api.wait([runId], { any: false, signal: new AbortController().signal });
  const get = async (path: string) => (await server.ask(path)).json() as never[];

  const [view] = await server.api.ps({ all: true });
  expect(await get('/api/runs')).toEqual([]);
  expect(await get('/api/runs?all=1')).toEqual([{ ...runToJson(view as RunView), task: '', driven: false }]);
  expect(RunView.parse((await get('/api/runs?all=1&roots=1&limit=1'))[0])).toMatchObject({ label: 'notes' });
  expect(await get(`/api/runs?all=1&before=${runId}`)).toEqual([]);

  const detail = await server.api.show(runId);
  const shown = await get(`/api/runs/${runId}`);
  expect(shown).toEqual({ ...runDetailToJson(detail), task: '', driven: false, host: 'inline', children: [] });
  RunDetailJson.parse(shown);
  expect(await get('/api/runs/last')).toEqual(shown);
  const outcome = await get(`/api/runs/${runId}/outcome`);
  expect(Outcome.parse(outcome)).toEqual(detail.outcome);
  expect(Object.keys(outcome).slice(6, 10)).toEqual(['status', 'success', 'verified', 'summary']);
  const [change] = await get(`/api/runs/${runId}/diff`);
  expect(FileChange.parse(change)).toMatchObject({ path: 'notes.txt', added: 1, removed: 0 });
  expect((await get(`/api/runs/${runId}/artifacts`)).map((each) => Object.keys(each))[0]).toEqual([
    'runId',
    'seq',
    'kind',
    'value',
    'title',
    'bytes',
  ]);
  expect(await get(`/api/runs/${runId}/artifacts`)).toEqual([
    expect.objectContaining({ runId, kind: 'path', value: 'notes.txt' }),
    expect.objectContaining({ runId, kind: 'diff', title: 'notes.txt' }),
  ]);
  expect(TreeSnapshot.parse(await get(`/api/runs/${runId}/tree`))).toMatchObject({ rootId: runId, runs: [{ status: 'completed' }] });
  expect(await get('/api/search?q=a+note')).toContainEqual(expect.objectContaining({ runId, type: 'run.created' }));
  expect(await get('/api/costs')).toEqual([expect.objectContaining({ agent: 'general', runs: 1 })]);
});

it('lists trees with their numbers of runs, filtered and in pages', async () => {
  const delegates = { tasks: [{ task: 'count', agent: 'explore' }], wait_seconds: 60 };
  await using server = await createTestServer({
    script: {
      runs: [
        { when: { task: 'survey' }, times: 'any', steps: [{ calls: [{ tool: 'delegate', args: delegates }] }, { text: 'surveyed' }] },
        { when: { agent: 'explore' }, times: 'any', steps: [{ text: 'seven' }] },
        { when: { task: 'fails' }, times: 'any', steps: [{ error: { message: 'no', status: 400 } }] },
      ],
    },
  });
  const start = async (brief: object) => {
    const { id, outcome } = await server.api.start(brief);
    await outcome;
    return id;
  };
  const survey = await start({ task: 'survey the tests' });
  const failed = await start({ task: 'it fails', label: 'Broken build' });
  const explore = await start({ task: 'look around', agent: 'explore' });
  const list = async (query: string) => TreeList.parse((await server.ask(`/api/trees${query}`)).json());
  const ids = async (query: string) => (await list(query)).trees.map(({ runId }) => runId);

  const { trees, next } = await list('');
  expect(next).toBeNull();
  expect(trees).toMatchObject([
    { runId: explore, task: 'look around', runs: 1, live: 0, status: 'completed' },
    { runId: failed, label: 'Broken build', runs: 1, status: 'failed' },
    { runId: survey, task: 'survey the tests', runs: 2, live: 0, model: 'script/main' },
  ]);
  expect(await list('?limit=2')).toMatchObject({ trees: [{ runId: explore }, { runId: failed }], next: failed });
  expect(await list(`?limit=2&before=${failed}`)).toMatchObject({ trees: [{ runId: survey }], next: null });
  expect(await ids('?status=failed,cancelled')).toEqual([failed]);
  expect(await ids('?agent=explore')).toEqual([explore]);
  expect(await ids('?text=BROKEN')).toEqual([failed]);
  expect(await ids('?text=the+tests')).toEqual([survey]);
  expect(await ids('?text=nothing&status=completed')).toEqual([]);
  expect(await list('?text=o&limit=1')).toMatchObject({ trees: [{ runId: explore }], next: explore });
  expect((await server.ask('/api/trees?status=odd')).status).toBe(400);
});

it('pages through the facts by position', async () => {
  await using server = await createTestServer({ script: writes });
  const { id, outcome } = await server.api.start({ task: 'write a note' });
  await outcome;
  const all = (await server.ask(`/api/runs/${id}/facts`)).json() as { seq: number; position: string }[];
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => i + 1));
  const read: object[] = [];
  for (let after = ''; ; after = `&after=${(read.at(-1) as { position: string }).position}`) {
    const page = (await server.ask(`/api/runs/${id}/facts?limit=3${after}`)).json() as object[];
    read.push(...page);
    if (page.length === 0) break;
  }
  expect(read).toEqual(all);
  expect((await server.ask(`/api/runs/${id}/facts?limit=2&after=unknown`)).status).toBe(400);
  expect((await server.ask('/api/position')).json()).toEqual({ position: all.at(-1)?.position });
});

it('pages through the facts of a tree, and of a part of it', async () => {
  const delegates = { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore' }] } }] };
  const script = {
    runs: [
      { when: { agent: 'general' }, steps: [delegates, { text: 'done' }] },
      { when: { agent: 'explore' }, steps: [{ text: 'seen' }] },
    ],
  };
  await using server = await createTestServer({ script });
  const { id, outcome } = await server.api.start({ task: 'lead' });
  await outcome;
  const stored = await server.world.store.facts({ rootId: id });
  const child = stored.find(({ runId }) => runId !== id)?.runId as string;
  for (const [runId, facts] of [
    [id, stored],
    [child, stored.filter((fact) => fact.runId === child)],
  ] as const) {
    const read: { position: string }[] = [];
    for (let after = ''; ; after = `&after=${read.at(-1)?.position}`) {
      const page = (await server.ask(`/api/runs/${runId}/facts?tree=1&limit=4${after}`)).json() as { position: string }[];
      expect(page.length).toBeLessThanOrEqual(4);
      if (page.length === 0) break;
      read.push(...page);
    }
    expect(read.map(({ position }) => position)).toEqual(facts.map(({ position }) => position));
  }
});

it('cuts long texts of facts on request', async () => {
  await using server = await createTestServer({ script: { runs: [{ steps: [{ text: `😀${'long '.repeat(100)}` }] }] } });
  const { id, outcome } = await server.api.start({ task: 'x' });
  await outcome;
  const texts = async (query: string) => {
    const facts = (await server.ask(`/api/runs/${id}/facts${query}`)).json() as { type: string; data: { content?: { text: string }[] } }[];
    return facts.find(({ type }) => type === 'model.answered')?.data.content?.map(({ text }) => text);
  };
  expect(await texts('?cut=100')).toEqual([`${`😀${'long '.repeat(20)}`.slice(0, 100)}…`]);
  expect((await texts('?cut=10000'))?.[0]).toHaveLength(502);
  expect((await server.ask(`/api/runs/${id}/facts?cut=10`)).status).toBe(400);
});

it('cancels a run, with the reason', async () => {
  await using server = await createTestServer({ script: waits });
  const { id, outcome } = await server.api.start({ task: 'wait' });
  expect((await server.ask(`/api/runs/${id}/outcome`)).json()).toBeNull();
  const first = await server.ask(`/api/runs/${id}/cancel`, { body: { reason: 'not needed' }, token: tokenOf('steer') });
  expect([first.status, first.json()]).toEqual([200, { runId: id, result: 'asked' }]);
  expect(await outcome).toMatchObject({ status: 'cancelled', error: { message: expect.stringContaining('not needed') } });
  expect((await server.ask(`/api/runs/${id}/cancel`, { body: {} })).json()).toEqual({ runId: id, result: 'already' });
});

it('pauses and resumes a run', async () => {
  await using server = await createTestServer({ script: works, limits: { maxTurns: 500 } });
  const { id } = await server.api.start({ task: 'work' });
  const order = async (what: string) => (await server.ask(`/api/runs/${id}/${what}`, { body: {}, token: tokenOf('steer') })).json();
  expect(await order('pause')).toEqual({ runId: id, result: 'paused' });
  expect((await server.ask('/api/runs')).json()).toMatchObject([{ runId: id, status: 'paused' }]);
  expect(await order('pause')).toEqual({ runId: id, result: 'already' });
  expect(await order('resume')).toEqual({ runId: id, result: 'released' });
  expect(server.world.types()).toContain('run.resumed');
  expect(await order('cancel')).toEqual({ runId: id, result: 'asked' });
  await server.api.wait([id], { any: false, signal: new AbortController().signal });
  expect(await order('resume')).toEqual({ runId: id, result: 'already' });
});

it('sends a message to a live run', async () => {
  await using server = await createTestServer({ script: waits });
  const { id } = await server.api.start({ task: 'wait' });
  await expect.poll(() => server.world.types()).toContain('model.asked');
  const sent = await server.ask(`/api/runs/${id}/message`, { body: { text: 'also the tests' }, token: tokenOf('steer') });
  expect(sent.json()).toEqual({ kind: 'sent', runId: id });
  expect(server.world.types()).toContain('message.received');
  expect((await server.ask(`/api/runs/${id}/message`, { body: { text: ' ' } })).status).toBe(400);
});

it('continues an ended run only for a token that may start runs', async () => {
  await using server = await createTestServer({ script: writes });
  const { id, outcome } = await server.api.start({ task: 'write a note' });
  await outcome;
  const refused = await server.ask(`/api/runs/${id}/message`, { body: { text: 'more' }, token: tokenOf('steer') });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('a follow-up would start a new run')]);
  expect(await server.api.ps({ all: true })).toHaveLength(1);
  const answer = (await server.ask(`/api/runs/${id}/message`, { body: { text: 'more' } })).json() as { kind: string; runId: string };
  expect(answer).toEqual({ kind: 'continued', runId: expect.not.stringContaining(id) });
  const [followUp] = await server.api.wait([answer.runId], { any: false, signal: new AbortController().signal });
  expect(followUp).toMatchObject({ status: 'completed', rootId: answer.runId });
});

it('forks a run from a turn', async () => {
  await using server = await createTestServer({ script: writes });
  const { id, outcome } = await server.api.start({ task: 'write a note' });
  await outcome;
  const { status, text } = await server.ask(`/api/runs/${id}/fork`, { body: { turn: 1 } });
  expect(status).toBe(201);
  const [forked] = await server.api.wait([JSON.parse(text).runId], { any: false, signal: new AbortController().signal });
  expect(forked?.status).toBe('completed');
  expect((await server.ask(`/api/runs/${id}/fork`, { body: { turn: 9 } })).status).toBe(409);
});

it.each([
  ['a run', async () => ['/api/runs', { task: 'again' }] as const],
  ['a fork', async (id: string) => [`/api/runs/${id}/fork`, { turn: 1 }] as const],
  ['a follow-up', async (id: string) => [`/api/runs/${id}/message`, { text: 'more' }] as const],
])('keeps the trace of the request that starts %s', async (_, describeRequest) => {
  await using server = await createTestServer({ script: writes });
  const { id, outcome } = await server.api.start({ task: 'write a note' });
  await outcome;
  const [path, body] = await describeRequest(id);
  const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };
  const { runId } = (await server.ask(path, { body, headers })).json() as { runId: string };
  const [created] = await server.api.logs(runId);
  expect(created).toMatchObject({ type: 'run.created', data: { trace: headers } });
  await server.api.wait([runId], { any: false, signal: new AbortController().signal });
});

it('approves exactly the call that was shown', async () => {
  await using server = await createTestServer({ script: asks });
  const { id, outcome } = await server.api.start({ task: 'write the rules' });
  await expect.poll(async () => (await server.api.questions()).length).toBe(1);
  const [question] = (await server.ask('/api/questions', { token: tokenOf('read') })).json() as [Question];
  expect(Question.parse(question)).toMatchObject({ runId: id, tool: 'write', arguments: { path: 'AGENTS.md' } });
  const answer = (path: string, body: object) => server.ask(`/api/questions/${path}`, { body, token: tokenOf('steer') });
  expect((await answer(question.id, { allowed: true, hash: 'f'.repeat(64) })).status).toBe(409);
  expect((await answer(id, { allowed: true })).status).toBe(400);
  expect((await answer(question.id, { allowed: 'yes' })).status).toBe(400);
  expect(await server.api.questions()).toHaveLength(1);
  expect((await answer(question.id, { allowed: true, hash: question.hash })).json()).toEqual({ id: question.id, result: 'answered' });
  expect(await outcome).toMatchObject({ status: 'completed' });
  const answered = server.world.facts.find((fact) => fact.type === 'approval.answered');
  expect(answered).toMatchObject({ data: { allowed: true, by: 'the steerer' } });
});

it('replays and verifies for a token that may only read', async () => {
  await using server = await createTestServer({ script: writes });
  const { id, outcome } = await server.api.start({ task: 'write a note' });
  await outcome;
  const ask = async (what: string) => (await server.ask(`/api/runs/${id}/${what}`, { body: {}, token: tokenOf('read') })).json();
  expect(await ask('replay')).toEqual([{ runId: id, facts: expect.any(Number), requests: 2, difference: null }]);
  expect(await ask('verify')).toMatchObject({ trees: 1, runs: 1, broken: [] });
  expect((await server.ask('/api/verify', { body: {}, token: tokenOf('read') })).json()).toMatchObject({
    trees: 1,
    broken: [],
    faults: [],
  });
});

it('answers what can run here', async () => {
  await using server = await createTestServer();
  const get = async (path: string) => (await server.ask(path)).json() as never;
  expect(await get('/api/server')).toEqual({ version: '1.2.3', role: 'start', workspace: 'home' });
  expect(await get('/api/workspaces')).toMatchObject([{ id: 'home' }]);
  expect(await get('/api/agents')).toContainEqual(expect.objectContaining({ name: 'general' }));
  expect(await get('/api/models')).toEqual([{ name: 'script/main' }]);
  expect(await get('/api/memories')).toMatchObject([{ title: 'a' }]);
  expect((await server.ask('/api/policy', { body: { call: 'bash:ls' } })).json()).toMatchObject({ call: 'bash:ls', agent: 'general' });
  expect((await server.ask('/api/runs?workspace=home')).status).toBe(200);
  expect((await server.ask('/api/runs?workspace=other')).status).toBe(403);
});

it('describes every answer and path in the OpenAPI document', async () => {
  const mount = { path: '/mcp', summary: 'MCP', handle: async () => {}, close: async () => {} };
  await using server = await createTestServer({ listen: { mounts: [mount] } });
  type Described = { responses: Record<string, { content?: Record<string, { schema: Record<string, unknown> }> }>; security: object[] };
  const { paths } = (await server.ask('/openapi.json')).json() as { paths: Record<string, Record<string, Described>> };
  expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/healthz', '/readyz', '/metrics', '/mcp']));
  expect(Object.keys(paths['/mcp'] as object).sort()).toEqual(['delete', 'get', 'post']);
  expect(paths['/healthz']?.get?.security).toEqual([]);
  expect(paths['/metrics']?.get?.security).toEqual([{ token: [] }]);
  // No answer of the API is described as just anything.
  for (const [path, methods] of Object.entries(paths).filter(([path]) => path.startsWith('/api/') && path !== '/api/events')) {
    for (const [method, { responses }] of Object.entries(methods)) {
      const schema = (responses[200] ?? responses[201])?.content?.['application/json']?.schema as Record<string, unknown>;
      const items = (schema?.items ?? schema) as { properties?: object; anyOf?: object[] };
      expect(items?.anyOf ?? Object.keys(items?.properties ?? {}), `${method} ${path}`).not.toEqual([]);
    }
  }
});

it.each([
  ['/api/runs', { task: '' }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', tusk: 1 }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', repository: { path: '/etc' } }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', repository: { url: 'file:///etc' } }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', workspace: '/etc' }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', model: 'script//etc/passwd' }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', checks: [{ agent: 'review', task: 'x', model: 'script/other.json' }] }, 400, 'invalid_brief'],
  ['/api/queue', { brief: { task: 'x', repository: { path: '/etc' } } }, 400, 'invalid_brief'],
  ['/api/queue', { brief: { task: 'x', workspace: '/etc' } }, 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', workspace: '/etc' }, 400, 'invalid_brief'],
  ['/api/runs', [], 400, 'invalid_brief'],
  ['/api/runs', { task: 'x', agent: 'nobody' }, 400, 'unknown_agent'],
  ['/api/runs', '{', 400, 'bad_request'],
  ['/api/runs/0123456789abcdef/cancel', {}, 404, 'unknown_run'],
  ['/api/runs/xyz/cancel', {}, 404, 'unknown_run'],
  ['/api/runs/0123456789abcdef/cancel', { why: 1 }, 400, 'bad_request'],
])('answers POST %s %j with %i %s', async (path, body, status, code) => {
  await using server = await createTestServer();
  const answer = await server.ask(path, { body });
  expect([answer.status, answer.json()]).toEqual([status, { error: { code, message: expect.any(String) } }]);
});

it.each([
  ['/api/runs/0123456789abcdef', 404, 'unknown_run'],
  ['/api/events?tree=0123456789abcdef', 404, 'unknown_run'],
  ['/api/runs?all=yes', 400, 'bad_request'],
  ['/api/runs?limit=0', 400, 'bad_request'],
  ['/api/runs?everything=1', 400, 'bad_request'],
])('answers GET %s with %i %s', async (path, status, code) => {
  await using server = await createTestServer();
  const answer = await server.ask(path);
  expect([answer.status, answer.json()]).toEqual([status, { error: { code, message: expect.any(String) } }]);
});

it('hides the message of an unexpected error, and logs it', async () => {
  const lines: string[] = [];
  const setup = async () => {
    throw new Error('secret detail');
  };
  await using server = await createTestServer({ listen: { setup, log: (line) => lines.push(line) } });
  const { status, text } = await server.ask('/api/models');
  expect([status, text]).toEqual([500, expect.not.stringContaining('secret')]);
  expect(lines).toEqual([expect.stringContaining('secret detail')]);
});

it('counts runs, tokens and subscribers for Prometheus', async () => {
  await using server = await createTestServer({ script: writes, listen: { publicMetrics: true } });
  const { outcome } = await server.api.start({ task: 'write a note' });
  await outcome;
  const { text, headers } = await server.ask('/metrics', { token: null });
  expect(headers['content-type']).toContain('version=0.0.4');
  expect(text).toContain('retinue_runs{status="completed"} 1\n');
  expect(text).toMatch(/^retinue_tokens_total\{kind="input"\} [1-9]/m);
  expect(text).toContain('retinue_event_subscribers 0\n');
  for (const line of text.trimEnd().split('\n')) expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"\})? [\d.e+-]+)$/);
});
