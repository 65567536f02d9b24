// What happens to traces when the process dies, when nobody receives them, and when nobody asked for them.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { spanIdOfModelCall, spanIdOfRun, spanIdOfTool, traceIdOfTree } from '../../src/telemetry/span.ts';
import { type ProviderRequest, type ProviderStep, startProviderServer } from '../../src/testing/provider-server.ts';
import { startHeldModel } from '../cli/support-held-model.ts';
import { createPlace } from '../cli/support-process.ts';
import { outputOf } from '../support/output.ts';
import { startReceiver } from './support.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const hasTerminal = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');
const tasks = ['a', 'b'].map((label) => ({ task: `do ${label}`, label, agent: 'explore' }));
const list = { calls: [{ tool: 'list', args: { path: '.' } }] };
const script = {
  runs: [
    { when: { agent: 'general' }, steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all done' }] },
    { when: { label: 'a' }, steps: [list, { text: 'a is done' }] },
    { when: { label: 'b' }, steps: [list, { delayMs: 1500, text: 'b is done' }] },
  ],
};
const simple = { runs: [{ steps: [list, { text: 'done' }] }] };

/** The ids that the spans of these facts must have. */
function expectedIds(facts: StoredFact[]): string[] {
  return facts.flatMap(({ runId, seq, type, data }): string[] => {
    if (type === 'run.created') return [spanIdOfRun(runId)];
    if (type === 'model.asked') return [spanIdOfModelCall(runId, seq)];
    return type === 'tool.asked' ? [spanIdOfTool(runId, data as { turn: number; index: number })] : [];
  });
}

/** Plays `script` over HTTP; the first time, the last answer of child b never comes. */
async function startHoldingServer() {
  let isHeld = true;
  const answer = ({ body }: ProviderRequest): ProviderStep | Promise<ProviderStep> => {
    const text = JSON.stringify(body.messages);
    const hasResult = text.includes('tool_result');
    if (text.includes('delegate it')) return hasResult ? { text: 'all done' } : { calls: [{ tool: 'delegate', args: { tasks } }] };
    if (!hasResult) return list;
    if (text.includes('do a')) return { text: 'a is done' };
    if (!isHeld) return { text: 'b is done' };
    isHeld = false;
    return new Promise(() => {});
  };
  const server = await startProviderServer({ answer });
  const env = { ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: server.url, RETINUE_MODEL: 'anthropic/claude-sonnet-4-5' };
  return { env, [Symbol.asyncDispose]: () => server.close() };
}

describe('a tree that was killed and resumed', () => {
  it('is one trace without gaps: every span once by id, copies are equal', async () => {
    await using receiver = await startReceiver();
    await using server = await startHoldingServer();
    using place = createPlace(simple, { ...server.env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
    const running = place.start('run', 'delegate it');
    // Some spans have arrived; child b is still asking its model.
    await receiver.until((spans) => spans.some(({ name }) => name.startsWith('execute_tool list')));
    await place.facts((facts) => facts.filter((fact) => fact.type === 'model.asked').length === 5);
    running.process.kill('SIGKILL');
    await running.finished;
    const early = [...receiver.spans];
    expect((await place.run('resume')).code).toBe(0);
    const facts = await place.facts((found) => found.length > 0);
    const [first] = facts;
    const { spans } = receiver;
    const ids = receiver.unique().map(({ spanId }) => spanId);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOfTree(first?.runId as string)]));
    expect(ids.sort()).toEqual(expectedIds(facts).sort());
    expect(spans.filter(({ parentId }) => parentId !== null && !ids.includes(parentId))).toEqual([]);
    for (const span of early) expect(receiver.unique()).toContainEqual(span);
    const lost = receiver.unique().filter(({ attributes }) => attributes['error.type'] === 'interrupted');
    expect(lost.map(({ name }) => name)).toEqual(['chat claude-sonnet-4-5']);
    const root = spans.find(({ parentId }) => parentId === null);
    expect(root?.events).toEqual(['retinue.run.resumed']);
  });

  it('is exported to its end if it is cancelled instead', async () => {
    await using receiver = await startReceiver();
    await using server = await startHoldingServer();
    using place = createPlace(simple, { ...server.env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
    const running = place.start('run', 'delegate it');
    await place.facts((facts) => facts.filter((fact) => fact.type === 'model.asked').length === 5);
    running.process.kill('SIGKILL');
    await running.finished;
    expect((await place.run('cancel', 'last')).code).toBe(0);
    const root = receiver.unique().find(({ parentId }) => parentId === null);
    expect([root?.attributes['retinue.run.status'], root?.attributes['error.type']]).toEqual(['cancelled', 'cancelled']);
    expect(receiver.unique()).toHaveLength(expectedIds(await place.facts(() => true)).length);
  });
});

describe('an endpoint that does not work', () => {
  it('leaves the run alone and is reported in one line', async () => {
    const gone = await startReceiver();
    await gone[Symbol.asyncDispose]();
    using place = createPlace(script, { OTEL_EXPORTER_OTLP_ENDPOINT: gone.endpoint });
    const { code, out, err } = await place.run('run', 'go');
    expect([code, out]).toEqual([0, 'all done\n']);
    const lines = err.split('\n').filter((line) => line.includes('traces'));
    expect(lines).toEqual([
      expect.stringMatching(
        /^retinue: traces cannot be sent to http:\/\/127.0.0.1:\d+\/v1\/traces \(.*ECONNREFUSED.*\); runs are not affected$/,
      ),
    ]);
  });

  it.skipIf(!hasTerminal)('is reported after a live display, not into it', async () => {
    using place = createPlace({ runs: [{ steps: [{ delayMs: 1500, text: 'done' }] }] });
    const command = `"${process.execPath}" "${bin}" run go`;
    const env = {
      ...{ PATH: process.env.PATH, HOME: place.folder, TERM: 'xterm', SHELL: '/bin/sh', NO_COLOR: '1' },
      ...{ RETINUE_MODEL: 'script/script.json', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
    };
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: place.folder, env, stdio: 'pipe' });
    const { out } = await new Promise<{ out: string }>((done) => {
      const said = outputOf(terminal);
      terminal.on('close', () => done(said));
    });
    expect(out.match(/traces cannot be sent/g)).toHaveLength(1);
    expect(out.indexOf('traces cannot be sent')).toBeGreaterThan(out.indexOf('details: retinue show'));
  });

  it('is given up at the end if it never answers', async () => {
    await using receiver = await startReceiver(() => 'never');
    using place = createPlace(simple, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
    const { code, out, err } = await place.run('run', 'go');
    expect([code, out]).toEqual([0, 'done\n']);
    expect(err).toContain('not everything could be sent within 2 s');
  });

  it('gets the same spans again after a temporary failure, and nothing twice after a refusal', async () => {
    await using busy = await startReceiver((n) => (n === 0 ? 503 : 200));
    await using model = await startHeldModel({
      'delegate it': [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { text: 'all done' }],
      'do a': [list, { text: 'a is done' }],
      'do b': [list, { held: true, text: 'b is done' }],
    });
    using place = createPlace({}, { ...model.variables, OTEL_EXPORTER_OTLP_ENDPOINT: busy.endpoint });
    const running = place.start('run', 'delegate it');
    await expect.poll(() => busy.requests.length).toBeGreaterThanOrEqual(2);
    model.release();
    expect(await running.finished).toMatchObject({ code: 0 });
    expect(busy.spans.map(({ spanId }) => spanId).sort()).toEqual(expectedIds(await place.facts(() => true)).sort());
    await using refusing = await startReceiver(() => 401);
    using other = createPlace(simple, { OTEL_EXPORTER_OTLP_ENDPOINT: refusing.endpoint });
    const { err } = await other.run('run', 'go');
    expect(err.match(/HTTP 401/g)).toHaveLength(1);
    expect(refusing.requests).toHaveLength(1);
  });

  it('with a protocol that is not supported is reported, and nothing is sent', async () => {
    await using receiver = await startReceiver();
    using place = createPlace(simple, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    const { code, err } = await place.run('run', 'go');
    expect([code, err.match(/the OTLP protocol grpc is not supported/g)?.length]).toEqual([0, 1]);
    expect(receiver.requests).toEqual([]);
  });
});

/** A module that writes the address of each module that is loaded into a file. */
function recorder(file: string): string {
  return `import { registerHooks } from 'node:module'; import { appendFileSync } from 'node:fs';
    const load = (url, context, next) => { appendFileSync(${JSON.stringify(file)}, url + '\\n'); return next(url, context); };
    registerHooks({ load });`;
}

/** The source files of all modules that were loaded, from their source maps. */
function readLoaded(file: string): string {
  const maps = readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((url) => (url.startsWith('file:') ? [`${fileURLToPath(url)}.map`] : []));
  return maps
    .flatMap((map) => (existsSync(map) ? (JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }).sources : []))
    .join('\n');
}

describe('without telemetry', () => {
  /** The source files of what `retinue run` loads. */
  async function loadedSources(env: Record<string, string>): Promise<string> {
    using place = createPlace(simple, { ...env, NODE_OPTIONS: '--import ./record.mjs' });
    writeFileSync(join(place.folder, 'record.mjs'), recorder(join(place.folder, 'loaded')));
    expect((await place.run('run', 'go')).out).toBe('done\n');
    return readLoaded(join(place.folder, 'loaded'));
  }
  const traces = /(\/src\/telemetry\/|\/node_modules\/@opentelemetry\/)/;

  it.each([
    ['no variables', {}],
    ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
    ['OTEL_TRACES_EXPORTER=none', { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
  ])('nothing of it is loaded: %s', async (_, env) => {
    const sources = await loadedSources(env);
    expect(sources).toContain('/src/kernel/');
    expect(sources).not.toMatch(traces);
  });

  it('nothing of it is loaded by a program that uses the library', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'retinue-telemetry-'));
    const dist = (name: string) => JSON.stringify(resolve(import.meta.dirname, '../../dist', name));
    writeFileSync(join(folder, 'record.mjs'), recorder(join(folder, 'loaded')));
    writeFileSync(
      join(folder, 'program.mjs'),
      `import { createRetinue } from ${dist('index.js')}; import { scriptedModel } from ${dist('testing.js')};
       await using retinue = createRetinue({ model: scriptedModel({ runs: [{ steps: [{ text: 'done' }] }] }) });
       console.log((await (await retinue.delegate({ task: 'go' })).outcome).summary);`,
    );
    const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', './record.mjs', 'program.mjs'], { cwd: folder, env });
    const sources = readLoaded(join(folder, 'loaded'));
    rmSync(folder, { recursive: true, force: true });
    expect(stdout).toBe('done\n');
    expect(sources).toContain('/src/kernel/');
    expect(sources).not.toMatch(traces);
  });

  it('is what the variables change: with them it is loaded', async () => {
    await using receiver = await startReceiver();
    expect(await loadedSources({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint })).toMatch(traces);
  });
});
