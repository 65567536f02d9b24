// `retinue subagent --envelope`: one request envelope in, one response envelope out, in a real process.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type RxRequest, type RxResponseEnvelope, readEnvelope, requestEnvelope, taskHash } from '../../src/dialects/rx/envelope.ts';
import { createPlace, type Place } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const request: RxRequest = { task: 'look', max_iterations: 8, timeout_seconds: 120 };
const enveloped = (more: Partial<RxRequest> = {}) => JSON.stringify(requestEnvelope('call-7', { ...request, ...more }));

async function send(
  place: Place,
  input: string,
  { args = [], model = 'script/script.json', signal }: { args?: string[]; model?: string; signal?: Promise<void> } = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const env = { PATH: process.env.PATH, HOME: place.folder, RETINUE_MODEL: model };
  const child = spawn(process.execPath, [bin, 'subagent', '--envelope', ...args], { cwd: place.folder, env });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  // It may leave before it has read all.
  child.stdin.on('error', () => {}).end(input);
  void signal?.then(() => child.kill('SIGINT'));
  const code = await new Promise<number | null>((done) => child.on('close', done));
  return { code, out, err };
}

/** What was written is one line, and an envelope by its own rules. */
function responseIn(out: string): RxResponseEnvelope {
  expect(out).toMatch(/^[^\n]+\n$/);
  const read = readEnvelope(out);
  if (!read.ok || !('response' in read.envelope)) throw new Error(out);
  return read.envelope;
}

const runs = (...steps: object[]) => ({ runs: [{ times: 'any', steps }] });

describe('an envelope', () => {
  it('gets a response envelope with its id and the hash of its task, which are also in the facts', async () => {
    using place = createPlace(runs({ expect: { prompt: 'look' }, text: 'seen' }));
    const { code, out, err } = await send(place, enveloped({ task: ' look ', context: 'here', files: ['none.txt'] }));
    expect(code, err).toBe(0);
    const envelope = responseIn(out);
    expect(Object.keys(envelope)).toEqual(['version', 'correlation_id', 'response', 'task_hash', 'started_at', 'duration_ms']);
    expect(envelope).toMatchObject({ version: 1, correlation_id: 'call-7', task_hash: taskHash('look') });
    expect(envelope.response).toEqual({ success: true, summary: 'seen', artifacts: [], duration_ms: envelope.duration_ms });
    expect(Date.parse(envelope.started_at ?? '')).toBeGreaterThan(0);
    const shown = JSON.parse((await place.run('show', 'last', '--json')).out);
    expect(shown).toMatchObject({ depth: 1, brief: { tags: ['rx.correlation=call-7', `rx.task=${taskHash('look')}`] } });
    expect(shown.grant.limits).toMatchObject({ maxTurns: { value: 8 }, timeoutMs: { value: 120_000 } });
  });

  it('the same response has the same bytes except for the times', async () => {
    const written: string[] = [];
    for (let n = 0; n < 2; n++) {
      using place = createPlace(runs({ calls: [{ tool: 'write', args: { path: 'a.txt', content: 'a' } }] }, { text: 'made' }));
      const { out } = await send(place, enveloped());
      written.push(out.replace(/"(duration_ms)":\d+/g, '"$1":0').replace(/"started_at":"[^"]+"/, '"started_at":null'));
    }
    expect(written[0]).toBe(written[1]);
    expect(written[0]).toContain('{"kind":"path","value":"a.txt"}');
  });

  const looks = { text: 'begun', calls: [{ tool: 'list', args: { path: '.' } }] };
  it.each<[string, number, object[], Partial<RxRequest>, object]>([
    ['failed', 1, [{ error: { status: 401, message: 'no' } }], {}, { success: false, error: expect.stringContaining('no') }],
    ['exhausted', 3, [looks, { text: 'so far' }], { max_iterations: 1 }, { success: false, summary: 'so far' }],
    ['timed out', 4, [{ hang: 'start' }], { timeout_seconds: 1 }, { success: false, error: 'timed out', timed_out: true }],
  ])('the exit code is that of the outcome: %s', async (_, expected, steps, more, response) => {
    using place = createPlace(runs(...steps));
    const { code, out, err } = await send(place, enveloped(more));
    expect([code, responseIn(out).response], err).toEqual([expected, expect.objectContaining(response)]);
  });

  it('Ctrl-C cancels the run, and the response says so', async () => {
    using place = createPlace(runs({ hang: 'start' }));
    const started = place.until(['ps'], (all: { kind: string; status: string }[]) =>
      all.some(({ kind, status }) => kind === 'agent' && status === 'running'),
    );
    const { code, out } = await send(place, enveloped(), { signal: started.then(() => {}) });
    expect([code, responseIn(out).response]).toMatchObject([130, { success: false, error: expect.stringMatching(/^cancelled: /) }]);
  });

  it('is also limited by flags', async () => {
    using place = createPlace(runs({ hang: 'start' }));
    const { code, out } = await send(place, enveloped(), { args: ['--timeout', '1s'] });
    expect([code, responseIn(out).response.timed_out]).toEqual([4, true]);
  });
});

describe('an invalid request gets a response envelope and exit code 2', () => {
  const cases: [what: string, input: string, error: string | RegExp, id: string][] = [
    ['no JSON', '{', 'validation: envelope (is not JSON)', 'unknown'],
    ['nothing', '', 'validation: envelope (is not JSON)', 'unknown'],
    ['an empty task', enveloped({ task: ' ' }), 'validation: request.task (must not be empty)', 'call-7'],
    ['too many seconds', enveloped({ timeout_seconds: 601 }), /^validation: request\.timeout_seconds /, 'call-7'],
    ['a hash of another task', enveloped().replace('"look"', '"other"'), 'validation: task_hash (does not match the task)', 'call-7'],
    ['too many bytes', enveloped({ context: 'x'.repeat(262_144) }), 'validation: envelope (has more than 262144 bytes)', 'unknown'],
    ['far too many bytes', 'x'.repeat(2_000_000), 'validation: envelope (has more than 262144 bytes)', 'unknown'],
    [
      'a response',
      JSON.stringify({
        ...{ version: 1, correlation_id: 'call-7', task_hash: taskHash('look'), started_at: null, duration_ms: 0 },
        response: { success: true, summary: '', artifacts: [], duration_ms: 0 },
      }),
      'validation: request (is missing: this is a response)',
      'call-7',
    ],
  ];
  it.each(cases)('%s', async (_, input, error, id) => {
    using place = createPlace(runs({ text: 'never' }));
    const { code, out } = await send(place, input);
    const { response, correlation_id, started_at } = responseIn(out);
    expect([code, correlation_id, started_at]).toEqual([2, id, null]);
    expect(response).toEqual({
      ...{ success: false, summary: '', artifacts: [], duration_ms: 0 },
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
  });

  it('rx is disabled in the configuration', async () => {
    using place = createPlace(runs({ text: 'never' }));
    mkdirSync(join(place.folder, '.config', 'retinue'), { recursive: true });
    writeFileSync(join(place.folder, '.config', 'retinue', 'config.json'), JSON.stringify({ dialects: { rx: { enabled: false } } }));
    const { code, out } = await send(place, enveloped());
    expect([code, responseIn(out)]).toMatchObject([2, { correlation_id: 'call-7', response: { success: false, error: 'not enabled' } }]);
  });

  it('no model is configured: the response says how to get one', async () => {
    using place = createPlace(runs({ text: 'never' }));
    const { code, out } = await send(place, enveloped(), { model: '' });
    const { response, correlation_id } = responseIn(out);
    expect([code, correlation_id, response.success, response.error]).toEqual([
      2,
      'call-7',
      false,
      expect.stringMatching(/^unknown_model: .*model/),
    ]);
  });

  it('--task besides --envelope is wrong usage', async () => {
    using place = createPlace(runs({ text: 'never' }));
    expect(await send(place, enveloped(), { args: ['--task', 'x'] })).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('--envelope and --task cannot be combined'),
    });
  });
});
