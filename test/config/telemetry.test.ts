// Where traces go: variables, the user's file, and what a workspace may not do.
import { describe, expect, it } from 'vitest';
import { resolveLibraryTelemetry, resolveTelemetry, type Telemetry, type TraceExport } from '../../src/config/telemetry.ts';
import { createTestWorkspace } from '../support/workspace.ts';

const endpoint = 'http://collector.example:4318';
const config = { endpoint: 'https://mine.example/otlp/', headers: { authorization: 'MY_TOKEN' } };

function exportOf(telemetry: Telemetry): TraceExport {
  if (telemetry.state !== 'on') throw new Error(JSON.stringify(telemetry));
  return telemetry.export;
}
const fromVariables = (env: Record<string, string>) => exportOf(resolveTelemetry(undefined, '', env));

describe('the OTEL_* variables', () => {
  it('give address, headers and resource, those for traces first', () => {
    expect(fromVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/` }).url).toBe(`${endpoint}/v1/traces`);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/own`,
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1, b=x%20y ,broken',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,team=blue',
      OTEL_SERVICE_NAME: 'survey',
    };
    expect(fromVariables(env)).toMatchObject({
      url: `${endpoint}/own`,
      headers: { a: '1', b: '2' },
      timeoutMs: 500,
      protocol: 'http/protobuf',
      content: false,
      resource: { 'service.name': 'survey', team: 'blue' },
    });
    expect(fromVariables({ OTEL_EXPORTER_OTLP_HEADERS: 'b=x%20y', OTEL_TRACES_EXPORTER: 'otlp' })).toMatchObject({
      url: 'http://localhost:4318/v1/traces',
      headers: { b: 'x y' },
    });
  });

  it.each([
    [{}, { state: 'off' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, { state: 'off' }],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=1' }, { state: 'off' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'TRUE' }, { state: 'off' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_EXPORTER: 'none' }, { state: 'off' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, { state: 'unusable' }],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, { state: 'unusable' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, { state: 'unusable' }],
  ])('%j: %j', (env, expected) => {
    expect(resolveTelemetry(undefined, '', env)).toMatchObject(expected);
  });

  it.each([
    [undefined, { ratio: 1, followsCaller: true }],
    ['always_off', { ratio: 0, followsCaller: false }],
    ['parentbased_traceidratio', { ratio: 0.25, followsCaller: true }],
    ['traceidratio', { ratio: 0.25, followsCaller: false }],
    ['jaeger_remote', { ratio: 1, followsCaller: true }],
  ])('OTEL_TRACES_SAMPLER=%s', (sampler, sampling) => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      ...(sampler ? { OTEL_TRACES_SAMPLER: sampler } : {}),
    };
    expect(fromVariables(env).sampling).toEqual(sampling);
  });

  it('decide about content', () => {
    const content = (value: string) =>
      exportOf(
        resolveTelemetry({ ...config, content: true }, '', { MY_TOKEN: 'x', OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value }),
      ).content;
    expect(['', 'true', 'SPAN_ONLY', 'false'].map(content)).toEqual([true, true, true, false]);
  });
});

describe('headers', () => {
  it('are sent only to the endpoint that they were set with', () => {
    const secret = { MY_TOKEN: 'mine', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=theirs' };
    expect(exportOf(resolveTelemetry(config, 'file', secret))).toMatchObject({
      url: 'https://mine.example/otlp/v1/traces',
      headers: { authorization: 'mine' },
    });
    expect(exportOf(resolveTelemetry(config, 'file', { ...secret, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }))).toMatchObject({
      url: `${endpoint}/v1/traces`,
      headers: { authorization: 'theirs' },
    });
  });

  it('need their variable', () => {
    expect(resolveTelemetry(config, 'file', {})).toEqual({
      state: 'unusable',
      problem: 'telemetry.headers: the variable MY_TOKEN is not set',
    });
  });

  it('are secrets: they are removed from what is recorded, and the list of settings has only names', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { telemetry: { ...config, endpoint: 'https://me:pass@mine.example' } });
    fixture.env.MY_TOKEN = 'value-of-the-token';
    const settings = fixture.settings();
    expect(settings.telemetry).toMatchObject({ state: 'on', secretNames: ['MY_TOKEN'] });
    const listed = settings.sources.find(({ key }) => key === 'telemetry');
    expect(listed?.value).toMatchObject({ headers: ['authorization'], content: false });
    expect(JSON.stringify(settings.sources)).not.toMatch(/value-of-the-token|pass@/);
  });
});

describe('a configuration file', () => {
  it('of a workspace cannot set it; the notice says so', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', { telemetry: { endpoint } });
    const settings = fixture.settings();
    expect(settings.telemetry).toEqual({ state: 'off' });
    expect(settings.notices.join()).toContain('only your own configuration decides who gets traces');
  });

  it.each([
    [{ endpoint: 'ftp://x' }, 'http or https'],
    [{ endpoint, headers: { authorization: 'Bearer abc' } }, 'must be the name of a variable'],
    [{ endpoint, contents: true }, 'did you mean `telemetry.content`'],
  ])('with %j is refused', (telemetry, message) => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { telemetry });
    expect(() => fixture.settings()).toThrow(message);
  });
});

describe('the library', () => {
  it('uses what it is given, and variables only on request', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=1', OTEL_SERVICE_NAME: 'env' };
    expect(resolveLibraryTelemetry(undefined, env)).toEqual({ state: 'off' });
    expect(resolveLibraryTelemetry(true, {})).toEqual({ state: 'off' });
    expect(exportOf(resolveLibraryTelemetry(true, env)).headers).toEqual({ a: '1' });
    const own = exportOf(resolveLibraryTelemetry({ endpoint: 'http://localhost:1', serviceName: 'mine' }, env));
    expect([own.url, own.headers, own.resource]).toEqual(['http://localhost:1/v1/traces', {}, { 'service.name': 'mine' }]);
  });
});
