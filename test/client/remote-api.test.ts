// The client and its `Api` against the real server: the same answers as in the process of the runs.
import { describe, expect, it } from 'vitest';
import type { Api, LiveEvent, Question, StreamEvent } from '../../src/api/api.ts';
import { type Client, createClient } from '../../src/client/client.ts';
import { createRemoteApi } from '../../src/client/remote-api.ts';
import { createTestServer, type TestServer, tokenOf } from '../server/support.ts';
import type { WorldOptions } from '../support/world.ts';

interface Remote extends AsyncDisposable {
  server: TestServer;
  local: Api;
  client: Client;
  remote: Api;
}

async function createRemote(options: WorldOptions): Promise<Remote> {
  const server = await createTestServer(options);
  const client = createClient({ url: server.server.url, token: tokenOf('start'), reconnect: { minMs: 1, maxMs: 5 } });
  const remote = createRemoteApi(client, { agents: await client.agents() });
  return {
    ...{ server, client, remote, local: server.api },
    async [Symbol.asyncDispose]() {
      await remote.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const never = () => new AbortController().signal;
const says = (text: string) => ({ runs: [{ times: 'any', steps: [{ text }] }] });
const waits = { runs: [{ times: 'any', steps: [{ delayMs: 600_000, text: 'late' }] }] };
const delegates = {
  runs: [
    {
      when: { agent: 'general' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'count', agent: 'explore', label: 'a' }] } }] }, { text: 'both done' }],
    },
    { when: { agent: 'explore' }, steps: [{ text: 'seven' }] },
  ],
};
const writes = {
  runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'notes.txt', content: 'hello\n' } }] }, { text: 'written' }] }],
};
const asks = {
  runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'AGENTS.md', content: 'be nice\n' } }] }, { text: 'asked' }] }],
};

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

async function untilAsked(api: Api): Promise<Question> {
  await expect.poll(async () => (await api.questions()).length).toBe(1);
  return (await api.questions())[0] as Question;
}

describe('watching over HTTP gives what the API of the process gives', () => {
  it('for a tree that has ended', async () => {
    await using both = await createRemote({ script: delegates });
    const { local, remote, client } = both;
    const { id, outcome } = await local.start({ task: 'survey', label: 'survey' });
    const ended = await outcome;
    const [child] = (await local.show(id)).children;
    const childId = child?.runId as string;

    expect(await remote.find('last')).toBe(id);
    await expect(remote.find(id.slice(0, 12))).rejects.toMatchObject({ code: 'ambiguous_id', status: 400 });
    await expect(remote.find('ffff')).rejects.toMatchObject({ code: 'unknown_run' });
    expect(await remote.ps({ all: true })).toEqual(await local.ps({ all: true }));
    expect(await remote.ps({ all: true, roots: true, limit: 1 })).toEqual(await local.ps({ all: true, roots: true, limit: 1 }));
    expect(await remote.ps({ all: false })).toEqual([]);
    expect(await remote.show(id)).toEqual(await local.show(id));
    expect(await remote.tree(childId)).toEqual(await local.tree(childId));
    const logs = await local.logs(id, { tree: true });
    expect(await remote.logs(id, { tree: true })).toEqual(logs);
    expect(await remote.logs(id, { after: logs[2]?.position as string })).toEqual(
      await local.logs(id, { after: logs[2]?.position as string }),
    );
    for (const options of [{}, { tree: true }]) {
      expect(await collect(remote.follow(id, { ...options, signal: never() }))).toEqual(
        await collect(local.follow(id, { ...options, signal: never() })),
      );
      expect(await collect(remote.follow(childId, { ...options, signal: never() }))).toHaveLength((await local.logs(childId)).length);
    }
    const after = logs[3]?.position as string;
    expect(await collect(remote.events(id, { tree: true, after }))).toEqual(logs.slice(4));
    expect(await collect(remote.events(id, { after: logs.at(-1)?.position as string }))).toEqual([]);
    expect(await remote.wait([id, childId], { any: false, signal: never() })).toEqual([ended, (await local.show(childId)).outcome]);
    expect(await remote.position()).toBe(await local.position());
    expect(await remote.search('survey', { limit: 5 })).toEqual(await local.search('survey', { limit: 5 }));
    expect(await remote.costs()).toEqual(await local.costs());
    expect(await remote.countEnded()).toEqual(await local.countEnded());
    expect(await remote.questions()).toEqual([]);
    expect(await remote.interrupted()).toEqual([]);
    expect(await remote.replay(id)).toEqual(await local.replay(id));
    expect(await remote.verify(id)).toEqual(await local.verify(id));
    expect(await remote.verify()).toEqual(await local.verify());
    expect(remote.agents()).toEqual(local.agents());
    expect(await client.outcome(id)).toEqual(ended);
  });

  it('for the calls that only the client has', async () => {
    await using both = await createRemote({ script: writes });
    const { client, local } = both;
    const { id, outcome } = await local.start({ task: 'write' });
    await outcome;
    expect(await client.server()).toEqual({ version: '1.2.3', role: 'start', workspace: 'home' });
    expect(await client.workspaces()).toMatchObject([{ id: 'home' }]);
    expect(await client.diff(id)).toMatchObject([{ path: 'notes.txt', added: 1 }]);
    expect(await client.artifacts(id)).toContainEqual(expect.objectContaining({ runId: id, kind: 'path', value: 'notes.txt' }));
    expect(await client.models()).toEqual([{ name: 'script/main' }]);
    expect(await client.memories()).toMatchObject([{ title: 'a' }]);
    expect(await client.policy({ call: 'bash:ls' })).toMatchObject({ action: 'allow', agent: 'general' });
  });

  it('has a call for every route of the server', async () => {
    await using server = await createTestServer({ script: says('done') });
    const { paths } = (await server.ask('/openapi.json')).json() as { paths: Record<string, object> };
    const routes = Object.entries(paths).filter(([path]) => path.startsWith('/api/'));
    const documented = routes.flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
    const called = new Set<string>();
    const client = createClient({
      url: server.server.url,
      fetch: async (input, init) => {
        const { pathname } = new URL(String(input));
        called.add(`${init?.method} ${pathname.replace(/(runs|questions)\/ID/, '$1/{id}')}`);
        throw new TypeError('no network');
      },
    });
    const { url: _, events, ...calls } = client;
    for (const call of Object.values(calls) as ((id: string, request: object) => Promise<unknown>)[]) await call('ID', {}).catch(() => {});
    await client.verify().catch(() => {});
    const stop = new AbortController();
    await collect(events({ tree: 'ID', signal: stop.signal, onConnection: ({ state }) => void (state === 'waiting' && stop.abort()) }));
    expect([...called].sort()).toEqual(documented.sort());
  });
});

describe('a run that was started over HTTP', () => {
  it('reports its events to `watch` and its outcome over the stream', async () => {
    await using both = await createRemote({ script: delegates });
    const { local, remote } = both;
    const events: LiveEvent[] = [];
    remote.watch((event) => events.push(event));
    const handle = await remote.start({ task: 'survey' });
    const outcome = await handle.outcome;
    expect(outcome).toEqual((await local.show(handle.id)).outcome);
    const facts = events.filter((event) => event.type !== 'delta');
    expect(facts).toEqual(await local.logs(handle.id, { tree: true }));
  });

  it('is refused with the message of the server', async () => {
    await using both = await createRemote({ script: says('done') });
    await expect(both.remote.start({ task: 'x', agent: 'nobody' })).rejects.toMatchObject({ code: 'unknown_agent' });
    await expect(both.remote.start({ task: ' ' })).rejects.toMatchObject({ code: 'invalid_brief' });
  });

  it('can be cancelled, and left alone on the server', async () => {
    await using both = await createRemote({ script: waits });
    const { local, remote } = both;
    const first = await remote.start({ task: 'one' });
    await first.cancel('not needed');
    expect(await first.outcome).toMatchObject({ status: 'cancelled' });
    const second = await remote.start({ task: 'two' });
    await remote.drain('enough');
    await expect(second.outcome).rejects.toMatchObject({ code: 'paused' });
    expect(await local.show(second.id)).toMatchObject({ endedAt: null, driven: true });
    expect(await remote.cancel([second.id, first.id], 'over')).toEqual([
      { runId: second.id, result: 'asked' },
      { runId: first.id, result: 'already' },
    ]);
  });

  it('answers a message after its end in a new run, and can be forked', async () => {
    await using both = await createRemote({ script: says('done') });
    const { local, remote } = both;
    const { id, outcome } = await remote.start({ task: 'one' });
    await outcome;
    const answer = await remote.message(id, 'and now?');
    if (answer.kind !== 'continued') throw new Error('no new run');
    expect(await answer.handle.outcome).toMatchObject({ runId: answer.handle.id, status: 'completed' });
    const fork = await remote.fork(id, { turn: 1, task: 'differently' });
    expect(await fork.outcome).toMatchObject({ status: 'completed' });
    expect(await local.ps({ all: true })).toHaveLength(3);
  });
});

describe('steering over HTTP', () => {
  /** Takes far longer than a test, in short turns. */
  const works = {
    runs: [{ steps: Array.from({ length: 450 }, (_, i) => ({ delayMs: 100, calls: [{ tool: 'read', args: { path: `missing-${i}` } }] })) }],
  };

  it('pauses, releases and sends messages and rules', async () => {
    await using both = await createRemote({ script: works, limits: { maxTurns: 500 } });
    const { local, remote } = both;
    const { id } = await remote.start({ task: 'work' });
    expect(await remote.pause([id], 'a moment')).toEqual([{ runId: id, result: 'paused' }]);
    expect(await remote.pause([id], 'again')).toEqual([{ runId: id, result: 'already' }]);
    expect(await remote.release(id)).toBe(true);
    expect(await remote.release(id)).toBe(false);
    expect(await remote.message(id, 'hurry')).toEqual({ kind: 'sent' });
    expect(await remote.message(id, '', { rules: ['deny write'] })).toEqual({ kind: 'sent' });
    await expect.poll(async () => (await local.show(id)).addedRules).toEqual(['deny write']);
    const stop = new AbortController();
    const waiting = remote.wait([id], { any: false, signal: stop.signal });
    await remote.cancel([id], 'over');
    expect(await waiting).toMatchObject([{ status: 'cancelled' }]);
  });

  it('answers exactly the call that was shown', async () => {
    await using both = await createRemote({ script: asks });
    const { remote, local, client } = both;
    const { id, outcome } = await remote.start({ task: 'write' });
    const question = await untilAsked(remote);
    expect(question).toEqual((await local.questions())[0]);
    expect(await remote.question(id.slice(0, 10))).toEqual(question);
    await expect(remote.question(`${id}.7.0`)).rejects.toMatchObject({ code: 'unknown_run' });
    await expect(client.answer(question.id, { allowed: true, hash: 'f'.repeat(64) })).rejects.toMatchObject({
      code: 'conflict',
      status: 409,
    });
    expect(await remote.answer(question.id, { allowed: true })).toEqual({ question, result: 'answered' });
    expect(await outcome).toMatchObject({ status: 'completed' });
    expect(await remote.answer(question.id, { allowed: true })).toMatchObject({ result: 'late' });
  });

  it('needs a token that may do it', async () => {
    await using both = await createRemote({ script: waits });
    const { server, local } = both;
    const { id } = await local.start({ task: 'wait' });
    const reader = createClient({ url: server.server.url, token: tokenOf('read') });
    expect(await reader.run(id)).toMatchObject({ runId: id });
    await expect(reader.cancel(id)).rejects.toMatchObject({ code: 'forbidden', status: 403 });
    await expect(reader.start({ task: 'x' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(createClient({ url: server.server.url, token: 'wrong' }).runs()).rejects.toMatchObject({
      code: 'unauthorized',
      status: 401,
    });
    expect(await local.show(id)).toMatchObject({ endedAt: null });
  });

  it('refuses what only the machine of the runs can do', async () => {
    await using both = await createRemote({ script: says('done') });
    const { remote } = both;
    for (const call of [() => remote.erase(['x']), () => remote.export('x', { live: false }), () => remote.client()])
      await expect(call()).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringContaining('works only on the machine of the runs'),
      });
    expect(() => remote.dialect).toThrow(/works only on the machine/);
  });
});

describe('a stream over HTTP', () => {
  it('begins now, tells trees apart, and passes a reset on', async () => {
    await using both = await createRemote({ script: says('done') });
    const { remote, local, client } = both;
    await (await local.start({ task: 'before' })).outcome;
    const stop = new AbortController();
    const opened = Promise.withResolvers<void>();
    const seen: StreamEvent[] = [];
    const reading = (async () => {
      const onConnection = ({ state }: { state: string }) => void (state === 'open' && opened.resolve());
      for await (const event of client.events({ signal: stop.signal, onConnection })) seen.push(event);
    })();
    await opened.promise;
    const one = await local.start({ task: 'one' });
    const two = await local.start({ task: 'two' });
    await Promise.all([one.outcome, two.outcome]);
    const expected = [...(await local.logs(one.id)), ...(await local.logs(two.id))];
    await expect.poll(() => seen.filter(({ type }) => type !== 'delta').length).toBe(expected.length);
    stop.abort();
    await reading;
    const byPosition = (events: StreamEvent[]) =>
      events.filter((event) => event.type !== 'delta').toSorted((a, b) => Number(a.position) - Number(b.position));
    expect(byPosition(seen)).toEqual(byPosition(expected as StreamEvent[]));
    const tree = new AbortController();
    const ofTree: StreamEvent[] = [];
    for await (const event of remote.stream({ tree: one.id, signal: tree.signal })) {
      ofTree.push(event);
      if (event.type === 'run.ended') tree.abort();
    }
    expect(ofTree).toEqual(await local.logs(one.id));
    for await (const event of remote.stream({ after: '999999999', signal: never() })) {
      expect(event).toEqual({ type: 'reset', position: await local.position() });
      break;
    }
  });
});
