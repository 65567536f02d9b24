// The trace of the caller through each entry point: environment, MCP, HTTP and library. The spans go to a real receiver.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { createRetinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';
import { createPlace } from '../cli/support-process.ts';
import { startServer } from '../mcp/support.ts';
import { type ReceivedSpan, startReceiver } from './support.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;
const script = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };

const place = ({ name, traceId: trace, parentId, traceState }: ReceivedSpan) => [name, trace, parentId, traceState];
const runsOf = (spans: ReceivedSpan[]) => spans.filter(({ name }) => name.startsWith('invoke_agent'));

describe('the trace of the caller is kept', () => {
  it.each([
    ['in the foreground', []],
    ['in the background', ['--detach']],
  ])('from the variable TRACEPARENT, %s', async (_, flags) => {
    await using receiver = await startReceiver();
    using folder = createPlace(script, {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      TRACEPARENT: traceparent,
      TRACESTATE: 'vendor=7',
    });
    await folder.run('run', ...flags, 'go');
    await receiver.until((spans) => runsOf(spans).length === 1);
    expect(runsOf(receiver.spans).map(place)).toEqual([['invoke_agent general', traceId, spanId, 'vendor=7']]);
    for (const check of ['verify', 'replay']) expect(await folder.run(check, 'last')).toMatchObject({ code: 0 });
    expect((await folder.run('export', 'last', '--output', 'tree.jsonl')).code).toBe(0);
    expect(await folder.run('import', 'tree.jsonl', '--db', 'other.db')).toMatchObject({ code: 0 });
  });

  it('from `_meta` of an MCP call, for the runs of this call alone', async () => {
    await using receiver = await startReceiver();
    await using server = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint } });
    const params = { name: 'delegate', arguments: { tasks: [{ task: 'look' }] } };
    await server.client.callTool({ ...params, _meta: { traceparent, tracestate: 'vendor=7' } });
    await server.client.callTool(params);
    await server.client.callTool({ ...params, _meta: { traceparent: 'nonsense' } });
    await server.client.close();
    await receiver.until((spans) => spans.some(({ name }) => name.startsWith('invoke_workflow')));
    const connection = receiver.spans.find(({ name }) => name === 'invoke_workflow') as ReceivedSpan;
    const own = connection.traceId;
    expect(runsOf(receiver.spans).map(place)).toEqual([
      ['invoke_agent general', traceId, spanId, 'vendor=7'],
      ['invoke_agent general', own, connection.spanId, ''],
      ['invoke_agent general', own, connection.spanId, ''],
    ]);
    expect(runsOf(receiver.spans)[0]?.links).toEqual([`${own}/${connection.spanId}`]);
  });

  it('from the headers of an HTTP request', async () => {
    await using receiver = await startReceiver();
    using folder = createPlace(script, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
    const serving = folder.start('serve', '--json');
    const [line] = (await once(createInterface({ input: serving.process.stdout as Readable }), 'line')) as [string];
    const { url, token } = JSON.parse(line);
    await createClient({ url, token }).start({ task: 'go' }, { traceparent, tracestate: 'vendor=7' });
    await createClient({ url, token }).start({ task: 'go' }, { traceparent: 'nonsense\n' });
    await receiver.until((spans) => runsOf(spans).length === 2);
    serving.process.kill('SIGTERM');
    await serving.finished;
    const [first, second] = runsOf(receiver.spans).sort((a, b) => Number(a.traceId !== traceId) - Number(b.traceId !== traceId));
    expect(place(first as ReceivedSpan)).toEqual(['invoke_agent general', traceId, spanId, 'vendor=7']);
    expect(second?.parentId).toBeNull();
  });

  it('from the library, for a run and for a scope', async () => {
    await using receiver = await startReceiver();
    const options = { endpoint: receiver.endpoint, headers: { authorization: 'Bearer abc' }, serviceName: 'program' };
    const retinue = createRetinue({ model: scriptedModel(script), telemetry: options });
    await (await retinue.delegate({ task: 'go' }, { traceparent, tracestate: 'vendor=7' })).outcome;
    await retinue.all([{ task: 'go' }], { traceparent });
    await using scope = retinue.scope({ label: 'nightly', traceparent });
    await (await scope.delegate({ task: 'go' })).outcome;
    await scope.close();
    await retinue.close();
    const nightly = receiver.spans.find(({ name }) => name === 'invoke_workflow') as ReceivedSpan;
    expect(place(nightly)).toEqual(['invoke_workflow', traceId, spanId, '']);
    expect(runsOf(receiver.spans).map(place)).toEqual([
      ['invoke_agent general', traceId, spanId, 'vendor=7'],
      ['invoke_agent general', traceId, spanId, ''],
      ['invoke_agent general', traceId, nightly.spanId, ''],
    ]);
    expect(receiver.requests[0]?.headers.authorization).toBe('Bearer abc');
    expect(nightly.resource['service.name']).toBe('program');
  });
});

describe('the library', () => {
  it('exports nothing unless it is told to, whatever the variables say', async () => {
    await using receiver = await startReceiver();
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.endpoint;
    try {
      const run = async (options: { telemetry?: boolean }) => {
        await using retinue = createRetinue({ model: scriptedModel(script), ...options });
        await (await retinue.delegate({ task: 'go' })).outcome;
      };
      await run({});
      await run({ telemetry: false });
      expect(receiver.requests).toEqual([]);
      await run({ telemetry: true });
      expect(runsOf(receiver.spans)).toHaveLength(1);
    } finally {
      delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
    }
  });

  it('sends the last spans when it closes and runs are still open', async () => {
    await using receiver = await startReceiver();
    const model = scriptedModel({ runs: [{ steps: [{ delayMs: 60_000, text: 'late' }] }] });
    const retinue = createRetinue({ model, telemetry: { endpoint: receiver.endpoint, protocol: 'http/json' } });
    const run = await retinue.delegate({ task: 'go' });
    for await (const event of run.events()) if (event.type === 'model.asked') break;
    await retinue.close();
    await run.outcome;
    expect(receiver.spans.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['chat model', 'cancelled'],
      ['invoke_agent general', 'cancelled'],
    ]);
  });
});

describe('the user’s own configuration', () => {
  it('has an endpoint and headers from variables; a workspace cannot set them', async () => {
    await using receiver = await startReceiver();
    await using other = await startReceiver();
    using folder = createPlace(script, { XDG_CONFIG_HOME: '/nonexistent', COLLECTOR_TOKEN: 'token-0123456789' });
    const file = join(folder.folder, 'mine.json');
    writeFileSync(file, JSON.stringify({ telemetry: { endpoint: receiver.endpoint, headers: { 'x-token': 'COLLECTOR_TOKEN' } } }));
    writeFileSync(join(folder.folder, 'retinue.config.json'), JSON.stringify({ telemetry: { endpoint: other.endpoint } }));
    const { err } = await folder.run('run', 'go');
    expect(err).toContain('only your own configuration decides who gets traces');
    expect(other.requests).toEqual([]);
    await folder.run('run', '--config', file, 'go');
    expect([other.requests.length, receiver.requests[0]?.headers['x-token']]).toEqual([0, 'token-0123456789']);
    expect(runsOf(receiver.spans)).toHaveLength(1);
  });
});
