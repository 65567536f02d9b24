// Where traces go: the usual OTEL_* variables, then `telemetry` of the configuration. Headers belong to the endpoint that they were set for: those of
// the variables are never sent to an endpoint of a file, and the other way round.
import { hideUrlCredentials } from '../text/hide-credentials.ts';
import type { Config } from './schema.ts';
import type { Env } from './user-folders.ts';

export const traceProtocols = ['http/protobuf', 'http/json'] as const;
export type TraceProtocol = (typeof traceProtocols)[number];

/** How traces are sent. `headers` and `url` may have secrets. */
export interface TraceExport {
  url: string;
  /** `url` as it may be shown. */
  shownUrl: string;
  headers: Record<string, string>;
  protocol: TraceProtocol;
  gzip: boolean;
  timeoutMs: number;
  /** Files of certificates, for an endpoint with TLS. */
  tls: { ca?: string; cert?: string; key?: string };
  /** Prompts, answers, arguments and results are exported too. */
  content: boolean;
  /** `ratio`: the share of traces that are exported. `followsCaller`: a trace that was passed on is exported if the caller exports it. */
  sampling: { ratio: number; followsCaller: boolean };
  /** Attributes of this program, such as `service.name`. */
  resource: Record<string, string>;
}

/** `problem`: traces were asked for, but cannot be exported. `secretNames`: variables with the secrets of the headers. */
export type Telemetry =
  | { state: 'off' }
  | { state: 'on'; from: string; export: TraceExport; secretNames: string[] }
  | { state: 'unusable'; problem: string };

/** What a configuration file or a program may set. `headers`: values, already looked up. */
export interface TelemetryGiven {
  endpoint?: string | undefined;
  headers?: Record<string, string> | undefined;
  protocol?: TraceProtocol | undefined;
  content?: boolean | undefined;
  serviceName?: string | undefined;
}

const defaultEndpoint = 'http://localhost:4318';
const defaultTimeoutMs = 10_000;
/** Later ones win. */
const headerVariables = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];

/** The settings of a command: variables before files. */
export function resolveTelemetry(config: Config['telemetry'], from: string, env: Env): Telemetry {
  if (isSwitchedOff(env)) return { state: 'off' };
  if (hasEndpoint(env)) return telemetryFromVariables(env, config?.content ?? false);
  if (config?.endpoint === undefined) return { state: 'off' };
  const headers: Record<string, string> = {};
  for (const [name, variable] of Object.entries(config.headers ?? {})) {
    const value = env[variable];
    if (!value) return { state: 'unusable', problem: `telemetry.headers: the variable ${variable} is not set` };
    headers[name] = value;
  }
  const telemetry = telemetryFromValues({ ...config, headers }, from, env);
  return telemetry.state === 'on' ? { ...telemetry, secretNames: Object.values(config.headers ?? {}) } : telemetry;
}

/** The `telemetry` option of the library: `true` reads the variables, an object is used alone. */
export function resolveLibraryTelemetry(given: boolean | TelemetryGiven | undefined, env: Env): Telemetry {
  if (!given) return { state: 'off' };
  if (given !== true) return telemetryFromValues(given, 'telemetry', given.serviceName ? { OTEL_SERVICE_NAME: given.serviceName } : {});
  return isSwitchedOff(env) || !hasEndpoint(env) ? { state: 'off' } : telemetryFromVariables(env, false);
}

function isSwitchedOff(env: Env): boolean {
  return read(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || read(env, 'OTEL_TRACES_EXPORTER') === 'none';
}

function hasEndpoint(env: Env): boolean {
  return readTraceVariable(env, 'ENDPOINT') !== undefined || read(env, 'OTEL_TRACES_EXPORTER') !== undefined;
}

function telemetryFromVariables(env: Env, content: boolean): Telemetry {
  const exporters = read(env, 'OTEL_TRACES_EXPORTER')?.split(',') ?? ['otlp'];
  if (!exporters.map((name) => name.trim()).includes('otlp'))
    return { state: 'unusable', problem: `OTEL_TRACES_EXPORTER=${exporters}: only \`otlp\` and \`none\` are supported` };
  const protocol = readTraceVariable(env, 'PROTOCOL') ?? 'http/protobuf';
  const found = traceProtocols.find((each) => each === protocol);
  if (!found) {
    const advice = 'set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf and the endpoint for HTTP, usually port 4318';
    return { state: 'unusable', problem: `the OTLP protocol ${protocol} is not supported; ${advice}` };
  }
  const own = read(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const url = own ?? appendPath(read(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') ?? defaultEndpoint);
  if (!isHttpAddress(url))
    return { state: 'unusable', problem: 'the OTLP endpoint of the OTEL_* variables is not an http or https address' };
  const headers = Object.assign({}, ...headerVariables.map((name) => parsePairs(read(env, name)))) as Record<string, string>;
  const exported = createExport({ url, headers, protocol: found, content }, env);
  return { state: 'on', from: 'OTEL_* variables', export: exported, secretNames: headerVariables };
}

function telemetryFromValues(
  { endpoint, headers = {}, protocol = 'http/protobuf', content = false }: TelemetryGiven,
  from: string,
  env: Env,
): Telemetry {
  const url = appendPath(endpoint ?? defaultEndpoint);
  if (!isHttpAddress(url)) return { state: 'unusable', problem: 'telemetry.endpoint is not an http or https address' };
  return { state: 'on', from, export: createExport({ url, headers, protocol, content }, env), secretNames: [] };
}

function createExport(given: Pick<TraceExport, 'url' | 'headers' | 'protocol' | 'content'>, env: Env): TraceExport {
  const timeoutMs = Number(readTraceVariable(env, 'TIMEOUT'));
  const captured = read(env, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT');
  const [ca, cert, key] = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map((name) => readTraceVariable(env, name));
  return {
    ...given,
    shownUrl: hideUrlCredentials(given.url),
    gzip: readTraceVariable(env, 'COMPRESSION') === 'gzip',
    timeoutMs: timeoutMs > 0 ? timeoutMs : defaultTimeoutMs,
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    content: captured === undefined ? given.content : /^(true|span_only|span_and_event)$/i.test(captured),
    sampling: parseSampler(env),
    resource: { 'service.name': 'retinue', ...parsePairs(read(env, 'OTEL_RESOURCE_ATTRIBUTES')), ...serviceName(env) },
  };
}

function serviceName(env: Env): Record<string, string> {
  const name = read(env, 'OTEL_SERVICE_NAME');
  return name === undefined ? {} : { 'service.name': name };
}

/** An unknown sampler counts as the default, `parentbased_always_on`, as the OpenTelemetry specification says. */
function parseSampler(env: Env): TraceExport['sampling'] {
  const [, parentBased, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(read(env, 'OTEL_TRACES_SAMPLER') ?? '') ?? [];
  if (kind === undefined) return { ratio: 1, followsCaller: true };
  const argument = Number(read(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1);
  const share = argument >= 0 && argument <= 1 ? argument : 1;
  return { ratio: kind === 'always_on' ? 1 : kind === 'always_off' ? 0 : share, followsCaller: parentBased !== undefined };
}

/** The variable for traces alone comes before the one for all signals. */
function readTraceVariable(env: Env, name: string): string | undefined {
  return read(env, `OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? read(env, `OTEL_EXPORTER_OTLP_${name}`);
}

/** An empty variable counts as unset. */
function read(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

/** An endpoint for all signals gets the path of traces. */
function appendPath(endpoint: string): string {
  return `${endpoint.replace(/\/+$/, '')}/v1/traces`;
}

function isHttpAddress(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** `a=1,b=2`, with percent encoding in the values. Parts that are not pairs are left out. */
function parsePairs(text = ''): Record<string, string> {
  const pairs = text.split(',').flatMap((part) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    return name === undefined ? [] : [[name, decode(value as string)]];
  });
  return Object.fromEntries(pairs);
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
