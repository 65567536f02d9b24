// Which spans facts become, where no whole program is needed to see it.
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import type { Span } from '../../src/telemetry/span.ts';
import { spanIdOfRun, traceIdOfTree } from '../../src/telemetry/span.ts';
import { createTreeSpans, type TreeSpansOptions } from '../../src/telemetry/tree-spans.ts';
import { createWorld } from '../support/world.ts';

const everything: TreeSpansOptions = { content: false, sampling: { ratio: 1, followsCaller: true } };
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const list = { calls: [{ tool: 'list', args: { path: '.' } }] };
const script = {
  runs: [
    {
      when: { agent: 'general' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore' }] } }] }, { text: 'done' }],
    },
    { when: { agent: 'explore' }, steps: [list, { text: 'looked' }] },
  ],
};

function spansOf(facts: Fact[], options: Partial<TreeSpansOptions> = {}): Span[] {
  const tree = createTreeSpans({ ...everything, ...options });
  return facts.flatMap((fact) => tree.apply(fact));
}

async function factsOf(trace: object, given: object = { script }): Promise<Fact[]> {
  await using world = await createWorld(given);
  const handle = await world.runtime.start({ task: 'go' }, { trace });
  await handle.outcome;
  return [...world.facts];
}

describe('the trace of the caller', () => {
  it('contains the run and everything below it', async () => {
    const facts = await factsOf({ traceparent, tracestate: 'vendor=1' });
    const spans = spansOf(facts);
    expect(new Set(spans.map(({ traceId, traceState }) => `${traceId} ${traceState}`))).toEqual(
      new Set(['0af7651916cd43dd8448eb211c80319c vendor=1']),
    );
    const root = spans.at(-1);
    expect([root?.name, root?.parentId, root?.isParentRemote]).toEqual(['invoke_agent general', 'b7ad6b7169203331', true]);
    expect(spans.filter(({ isParentRemote }) => isParentRemote)).toHaveLength(1);
    expect(facts[0]).toMatchObject({ v: 3, data: { trace: { traceparent, tracestate: 'vendor=1' } } });
  });

  it('is ignored if it is malformed, and leaves no mark in the facts', async () => {
    for (const wrong of [
      '',
      'abc',
      `${traceparent}-more`,
      traceparent.toUpperCase(),
      `ff${traceparent.slice(2)}`,
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      7,
    ]) {
      const facts = await factsOf({ traceparent: wrong, tracestate: 'vendor=1' }, {});
      expect(facts[0]).toMatchObject({ v: 2, type: 'run.created' });
      expect(facts[0]?.data).not.toHaveProperty('trace');
      expect(spansOf(facts).at(-1)).toMatchObject({ traceId: traceIdOfTree(facts[0]?.runId as string), parentId: null });
    }
    const [created] = await factsOf({ traceparent, tracestate: 'no list\n' }, {});
    expect(created).toMatchObject({ data: { trace: { traceparent } } });
    expect((created as { data: { trace: object } }).data.trace).not.toHaveProperty('tracestate');
  });

  it('accepts later versions of the format', async () => {
    const [created] = await factsOf({ traceparent: `cc${traceparent.slice(2)}-what-the-future-brings` }, {});
    expect(created).toMatchObject({ data: { trace: { traceparent } } });
  });

  it('decides what is exported, unless the sampler is told otherwise', async () => {
    const facts = await factsOf({ traceparent: traceparent.replace(/01$/, '00') });
    expect(spansOf(facts)).toEqual([]);
    expect(spansOf(facts, { sampling: { ratio: 1, followsCaller: false } })).not.toEqual([]);
  });

  it('of a call through a client is that of its run, linked to the client', async () => {
    await using world = await createWorld({});
    const client = await world.runtime.openClient({ label: 'editor' });
    const run = await client.delegate({ task: 'go' }, { trace: { traceparent } });
    await run.outcome;
    const other = await client.delegate({ task: 'go' });
    await other.outcome;
    await client.close();
    const spans = spansOf(world.facts, { content: true });
    const ofRun = (id: string) => spans.find(({ spanId }) => spanId === spanIdOfRun(id));
    const own = traceIdOfTree(client.id);
    expect(ofRun(run.id)).toMatchObject({ parentId: 'b7ad6b7169203331', links: [{ traceId: own, spanId: spanIdOfRun(client.id) }] });
    expect(ofRun(other.id)).toMatchObject({ traceId: own, parentId: spanIdOfRun(client.id), links: [] });
    expect(ofRun(client.id)).toMatchObject({ name: 'invoke_workflow editor', traceId: own, parentId: null });
    expect(ofRun(client.id)?.attributes).toMatchObject({ 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': 'editor' });
  });
});

describe('spans', () => {
  it('are the same however often they are made', async () => {
    const facts = await factsOf({});
    expect(spansOf(facts)).toEqual(spansOf(facts));
    expect(new Set(spansOf(facts).map(({ spanId }) => spanId)).size).toBe(spansOf(facts).length);
  });

  it('are exported for the wanted share of traces', async () => {
    const facts = await factsOf({}, {});
    expect(spansOf(facts, { sampling: { ratio: 0, followsCaller: true } })).toEqual([]);
    expect(spansOf(facts, { sampling: { ratio: 1, followsCaller: true } })).toHaveLength(2);
  });

  it('of failed model calls and runs name the error, and its text only with content', async () => {
    const failing = { script: { runs: [{ steps: [{ error: { status: 401, message: 'the key is wrong' } }] }] } };
    const facts = await factsOf({}, failing);
    const [call, run] = spansOf(facts);
    expect([call?.name, call?.attributes['error.type'], call?.error]).toEqual(['chat main', 'auth', { message: undefined }]);
    expect([run?.attributes['error.type'], run?.attributes['retinue.run.status']]).toEqual(['auth', 'failed']);
    expect(JSON.stringify(spansOf(facts))).not.toContain('the key is wrong');
    expect(spansOf(facts, { content: true })[0]?.error?.message).toContain('the key is wrong');
  });

  it('have no text that a model or a client chose, unless content is wanted', async () => {
    const secret = 'the secret plan';
    const calls = [
      { id: `${secret} 1`, tool: `${secret} tool`, args: {} },
      { id: `${secret} 2`, tool: 'list', args: { path: '.' } },
      { id: `${secret} 2`, tool: `${secret} again`, args: {} },
      { id: `${secret} 3`, tool: 'list', args: { [secret]: 1 } },
    ];
    await using world = await createWorld({ script: { runs: [{ steps: [{ calls }, { text: secret }] }] } });
    const client = await world.runtime.openClient({ label: `${secret} client` });
    await (await client.delegate({ task: secret, label: secret })).outcome;
    await client.close();
    expect(JSON.stringify(world.facts)).toContain(`${secret} tool`);
    const spans = spansOf(world.facts);
    expect(JSON.stringify(spans)).not.toContain(secret);
    expect(spans.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual(
      expect.arrayContaining([
        ['invoke_workflow', undefined],
        ['execute_tool', 'unknown_tool'],
        ['execute_tool', 'duplicate_call'],
        ['execute_tool list', undefined],
      ]),
    );
    expect(spans.some(({ attributes }) => 'gen_ai.tool.call.id' in attributes)).toBe(false);
    const withContent = spansOf(world.facts, { content: true });
    expect(withContent.map(({ name }) => name)).toEqual(
      expect.arrayContaining([`invoke_workflow ${secret} client`, `execute_tool ${secret} tool`]),
    );
    expect(withContent.map(({ attributes }) => attributes['gen_ai.tool.call.id'])).toContain(`${secret} 2`);
  });

  it('of a call that needed approval tell when it was asked and answered', async () => {
    await using world = await createWorld({
      files: { 'a.txt': 'text' },
      script: { runs: [{ steps: [{ calls: [{ tool: 'write', args: { path: 'b.txt', content: 'x' } }] }, { text: 'done' }] }] },
      rulesets: [{ kind: 'owner', owner: 'test', rules: [{ action: 'ask', tool: 'write', pattern: null }] }],
      options: { questions: { canAnswer: () => true } },
    });
    const asked = Promise.withResolvers<Fact & { type: 'approval.asked' }>();
    world.runtime.listen((event) => {
      if (event.type === 'approval.asked') asked.resolve(event);
    });
    const handle = await world.runtime.start({ task: 'go' });
    const { data } = await asked.promise;
    await handle.answer(data, { allowed: false, by: 'a test' });
    await handle.outcome;
    const tool = spansOf(world.facts).find(({ name }) => name === 'execute_tool write');
    expect(tool?.events.map(({ name }) => name)).toEqual(['retinue.approval.asked', 'retinue.approval.answered']);
    expect([tool?.attributes['error.type'], tool?.events[1]?.attributes]).toEqual(['denied', { 'retinue.approval.allowed': false }]);
  });
});
