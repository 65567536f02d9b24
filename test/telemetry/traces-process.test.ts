// The real program, a provider over HTTP and a real receiver: which spans a tree of runs becomes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ProviderRequest, startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace } from '../cli/support-process.ts';
import { type ReceivedSpan, startReceiver } from './support.ts';

const none = { runs: [{ steps: [{ text: 'not used' }] }] };
const usage = { input: 1000, output: 100 };
const secretText = 'the colour is vermilion';

/** A parent that delegates one task. The child reads a file, one that does not exist and one that it may not read. */
function answer({ body }: ProviderRequest) {
  const text = JSON.stringify(body.messages);
  const isChild = text.includes('read three files');
  const results = (text.match(/tool_result/g) ?? []).length;
  if (!isChild || text.includes('delegate it')) {
    if (results === 0) return { usage, calls: [{ tool: 'delegate', args: { tasks: [{ task: 'read three files', label: 'reader' }] } }] };
    return { usage, text: 'the child is done' };
  }
  if (results > 0) return { usage, text: 'read what could be read' };
  return { usage, calls: ['note.txt', 'missing.txt', 'closed.txt'].map((path) => ({ tool: 'read', args: { path } })) };
}

async function runTree(env: Record<string, string>, ...flags: string[]) {
  const server = await startProviderServer({ answer });
  using place = createPlace(none, {
    ANTHROPIC_API_KEY: 'sk-ant-canary-0123456789abcdefghij',
    ANTHROPIC_BASE_URL: server.url,
    RETINUE_MODEL: 'anthropic/claude-sonnet-4-5',
    ...env,
  });
  writeFileSync(join(place.folder, 'note.txt'), secretText);
  writeFileSync(join(place.folder, 'closed.txt'), 'closed');
  const run = await place.run('run', '--json', '--deny', 'read:closed.txt', ...flags, 'delegate it');
  const logs = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out);
  await server.close();
  return { run, outcome: JSON.parse(run.out), logs };
}

const spanNamed = (spans: ReceivedSpan[], name: string) => spans.find((span) => span.name === name) as ReceivedSpan;
const error = (span: ReceivedSpan | undefined) => (span?.isError ? span.attributes['error.type'] : null);

describe.each(['http/protobuf', 'http/json'])('a tree of runs over %s', (protocol) => {
  it('is one trace with a span for each run, model call and tool', async () => {
    await using receiver = await startReceiver();
    const { run, outcome, logs } = await runTree({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-team=blue',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'survey',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    });
    expect([run.code, run.err.includes('traces')]).toEqual([0, false]);
    const { spans } = receiver;
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(receiver.unique()).toHaveLength(spans.length);
    const [root, child] = spans
      .filter(({ name }) => name === 'invoke_agent general')
      .sort((a, b) => a.start - b.start || (a.parentId === null ? -1 : 1));
    const delegate = spanNamed(spans, 'execute_tool delegate');
    expect(spans.map(({ name }) => name).sort()).toEqual([
      ...Array(4).fill('chat claude-sonnet-4-5'),
      'execute_tool delegate',
      ...Array(3).fill('execute_tool read'),
      ...Array(2).fill('invoke_agent general'),
    ]);
    expect([root?.parentId, delegate.parentId, child?.parentId]).toEqual([null, root?.spanId, delegate.spanId]);
    const chats = spans.filter(({ name }) => name.startsWith('chat'));
    expect(chats.map(({ parentId, kind }) => [parentId, kind])).toEqual(
      expect.arrayContaining([root?.spanId, child?.spanId].map((parentId) => [parentId, 3])),
    );
    expect(chats[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-sonnet-4-5',
      'gen_ai.agent.name': 'general',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 100,
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'retinue.cost_usd': expect.closeTo(0.0045),
      'retinue.turn': 1,
      'retinue.attempt': 1,
    });
    const tools = spans.filter(({ name }) => name === 'execute_tool read');
    expect(tools.map((span) => [error(span), span.attributes['retinue.tool.status'], span.parentId]).sort()).toEqual([
      [null, 'ok', child?.spanId],
      ['denied', 'denied', child?.spanId],
      ['tool_error', 'error', child?.spanId],
    ]);
    expect(tools[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read',
      'gen_ai.tool.type': 'function',
      'retinue.run.id': child?.attributes['retinue.run.id'],
    });
    expect(tools[0]?.attributes).not.toHaveProperty('gen_ai.tool.call.id');
    expect(root?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'general',
      'gen_ai.usage.input_tokens': 2000,
      'retinue.run.id': outcome.runId,
      'retinue.run.status': 'completed',
      'retinue.run.turns': 2,
      'retinue.tree.input_tokens': 4000,
      'retinue.tree.cost_usd': expect.closeTo(outcome.costUsd),
    });
    // Times are those of the facts.
    const times = logs.filter(({ runId }: { runId: string }) => runId === outcome.runId).map(({ at }: { at: string }) => Date.parse(at));
    expect([root?.start, root?.end]).toEqual([times[0], times.at(-1)]);
    for (const span of spans) expect(span.start >= (root?.start ?? 0) && span.end <= (root?.end ?? 0) && span.start <= span.end).toBe(true);
    expect(root?.resource).toMatchObject({ 'service.name': 'survey', 'deployment.environment.name': 'test' });
    for (const { path, headers } of receiver.requests) {
      expect(path).toBe('/v1/traces');
      expect(headers).toMatchObject({ authorization: 'Bearer abc', 'x-team': 'blue' });
    }
    // Nothing of what was said.
    expect(JSON.stringify(spans)).not.toMatch(/vermilion|three files|the child is done|note\.txt|reader/);
  });
});

describe('content', () => {
  it('is exported on request, without secrets', async () => {
    await using receiver = await startReceiver();
    await runTree({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.endpoint}/own/path`,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    });
    expect(receiver.requests[0]?.path).toBe('/own/path');
    const { spans } = receiver;
    const attribute = (name: string, key: string) =>
      spans.filter((span) => span.name === name).map((span) => JSON.parse(String(span.attributes[key])));
    const runs = attribute('invoke_agent general', 'gen_ai.input.messages').map(([message]) => message.parts[0].content);
    expect(runs.sort()).toEqual(['delegate it', 'read three files']);
    const outputs = attribute('chat claude-sonnet-4-5', 'gen_ai.output.messages').flatMap(([message]) => message.parts);
    expect(outputs).toContainEqual(expect.objectContaining({ type: 'tool_call', name: 'delegate' }));
    expect(outputs).toContainEqual({ type: 'text', content: 'the child is done' });
    const inputs = attribute('chat claude-sonnet-4-5', 'gen_ai.input.messages').flat();
    expect(inputs.map((message) => message.role)).toEqual(expect.arrayContaining(['user', 'tool']));
    const read = spans.filter((span) => span.name === 'execute_tool read');
    expect(read.map((span) => span.attributes['gen_ai.tool.call.arguments'])).toContain('{"path":"note.txt"}');
    expect(read.some((span) => String(span.attributes['gen_ai.tool.call.result']).includes(secretText))).toBe(true);
    expect(JSON.stringify(spans)).not.toContain('sk-ant-canary');
  });
});
