// The model gate against an agent that sends what no client would, and against answers that no agent should get.
import { mkdtempSync, rmSync } from 'node:fs';
import { type RequestOptions, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GateServer, startGate } from '../../src/externals/gate.ts';
import type { GateAnswer, GateFailure, ModelGate } from '../../src/ports/external-agent.ts';
import type { ModelEndpoint } from '../../src/ports/model.ts';
import { replayRun } from '../../src/records/replay.ts';
import { parseRule } from '../../src/rules/policy.ts';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createExternalWorld } from './support.ts';

let folder = '';
const gates: GateServer[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retinue-test-'));
});
afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.close();
  rmSync(folder, { recursive: true });
});

const chatAnswer = (message: object, more: object[] = []) => ({
  choices: [{ index: 0, finish_reason: 'stop', message }, ...more],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
});
const fine = chatAnswer({ role: 'assistant', content: 'Hello.' });
const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };

interface OpenOptions {
  wire?: ModelEndpoint['wire'];
  answer?: unknown;
  begin?: ModelGate['begin'];
  requestMs?: number;
  /** The provider answers only when the call is aborted. */
  hangs?: boolean;
}

async function openGate({ wire = 'chat', answer = fine, begin, requestMs, hangs }: OpenOptions = {}) {
  const seen = { posts: 0, answers: [] as GateAnswer[], failures: [] as string[], charges: [] as GateFailure['usage'][] };
  const endpoint: ModelEndpoint = {
    wire,
    modelId: 'm',
    clean: (text) => text,
    async post({ signal }) {
      signal.throwIfAborted();
      seen.posts++;
      if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return { status: 200, headers: {}, read: async (take) => take(Buffer.from(JSON.stringify(answer))) };
    },
  };
  const call = {
    async answered(given: GateAnswer) {
      seen.answers.push(given);
      return null;
    },
    failed({ error, usage }: GateFailure) {
      seen.failures.push(error.message);
      seen.charges.push(usage);
    },
  };
  const socket = join(folder, 'model');
  const gate = await startGate({
    ...{ socket, endpoint, canSearch: false, ...(requestMs && { requestMs }) },
    gate: { begin: async (asked) => (await begin?.(asked)) ?? { ok: true, call } },
    mapCall: ({ id, name, input }) => [{ id, tool: name, args: input as never }],
  });
  gates.push(gate);
  return { gate, socket, seen, call };
}

/** A request in pieces. Resolves with the status and text, or with the code of the error. */
function send(socket: string, token: string, pieces: Iterable<string | Buffer>, options: RequestOptions = {}): Promise<string> {
  return new Promise((resolve) => {
    const headers = { 'x-api-key': token, ...options.headers };
    const sent = request(
      { socketPath: socket, path: '/v1/chat/completions', method: 'POST', agent: false, ...options, headers },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('close', () => resolve(`${response.statusCode} ${text}`));
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(`error ${error.code}`));
    sent.setMaxListeners(0);
    void (async () => {
      for (const piece of pieces) {
        if (sent.destroyed) return;
        if (!sent.write(piece)) await new Promise((drained) => sent.once('drain', drained).once('close', drained));
      }
      sent.end();
    })();
  });
}

const json = (value: unknown) => [JSON.stringify(value)];
const mebibyte = Buffer.alloc(1024 * 1024, 0x20);

describe('requests that no client sends', () => {
  it('are refused with a token of a gate that has been closed, or of another one', async () => {
    const first = await openGate();
    expect(await send(first.socket, first.gate.token, json(body))).toMatch(/^200 .*Hello/);
    await first.gate.close();
    expect(await send(first.socket, first.gate.token, json(body))).toMatch(/^error (ENOENT|ECONNREFUSED)/);
    const second = await openGate();
    expect(await send(second.socket, first.gate.token, json(body))).toMatch(/^401 /);
    for (const token of ['', 'x', `${second.gate.token}0`, second.gate.token.slice(0, -1), second.gate.token.toUpperCase()])
      expect(await send(second.socket, token, json(body)), token).toMatch(/^401 /);
    expect(second.seen.posts).toBe(0);
  });

  it.each([
    '/',
    '/v1/models',
    '/v1/chat/completions/',
    '/v1/chat/completions/../../files',
    '/v1/chat/completions%2f',
    '//evil.example/v1/files',
  ])('are refused on the path %s', async (path) => {
    const { socket, gate, seen } = await openGate();
    expect(await send(socket, gate.token, json(body), { path })).toMatch(/^404 /);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect(await send(socket, gate.token, json(body), { method }), method).toMatch(/^40[04] /);
    expect(seen.posts).toBe(0);
  });

  it('are refused if they are too large, named or not, one or many at once', async () => {
    const { socket, gate, seen } = await openGate();
    const announced = { headers: { 'content-length': String(40 * mebibyte.length) } };
    expect(await send(socket, gate.token, [mebibyte], announced)).toMatch(/^413 |^error (ECONNRESET|EPIPE)/);
    expect(await send(socket, gate.token, Array(40).fill(mebibyte))).toMatch(/^413 |^error (ECONNRESET|EPIPE)/);
    const many = await Promise.all(Array.from({ length: 5 }, () => send(socket, gate.token, [...Array(20).fill(mebibyte), ...json(body)])));
    expect(many.some((each) => !each.startsWith('200'))).toBe(true);
    expect(await send(socket, gate.token, [...Array(20).fill(mebibyte), ...json(body)])).toMatch(/^200 /);
    expect(seen.posts).toBe(many.filter((each) => each.startsWith('200')).length + 1);
  });

  it('end when they are sent too slowly, and others are served meanwhile', async () => {
    const { socket, gate, seen } = await openGate({ requestMs: 400 });
    const slow = send(socket, gate.token, (function* () {})(), { headers: { 'content-length': '100' } });
    const stuck = request({ socketPath: socket, path: '/v1/chat/completions', method: 'POST', headers: { 'x-api-key': gate.token } });
    const ended = new Promise((resolve) => stuck.once('error', resolve).once('response', resolve));
    stuck.write('{');
    expect(await send(socket, gate.token, json(body))).toMatch(/^200 /);
    await ended;
    expect(await slow).toMatch(/^408|^400|^error/);
    expect(seen.posts).toBe(1);
  });

  it.each([
    ['is no JSON', ['{'], {}],
    ['is nested deeper than the stack', ['{"model":"m","messages":', '['.repeat(200_000), ']'.repeat(200_000), '}'], {}],
    ['is compressed', json(body), { headers: { 'content-encoding': 'gzip' } }],
    ['names another model', json({ ...body, model: 'other' }), {}],
    ['names a model twice', ['{"model":"m","model":"other","messages":[]}'], {}],
    ['names a model as a list', json({ ...body, model: ['m'] }), {}],
  ])('are refused if the body %s', async (_, pieces, options) => {
    const { socket, gate, seen } = await openGate();
    expect(await send(socket, gate.token, pieces, options)).toMatch(/^4\d\d /);
    expect(seen.posts).toBe(0);
    expect(await send(socket, gate.token, json(body))).toMatch(/^200 /);
  });

  it.each([
    ['an address', { type: 'image_url', image_url: { url: 'https://evil.example/?secret' } }],
    ['an address in a result', { type: 'tool_result', content: [{ type: 'image', source: { type: 'url', url: 'http://evil.example' } }] }],
    ['a stored file', { type: 'file', file: { file_id: 'file-1' } }],
    ['a stored item', { type: 'item_reference', id: 'rs_1' }],
    ['an address of a screenshot', { type: 'computer_call_output', output: { image_url: 'https://evil.example' } }],
  ])('are refused if the provider would fetch %s', async (_, block) => {
    const { socket, gate, seen } = await openGate();
    expect(await send(socket, gate.token, json({ ...body, messages: [{ role: 'user', content: [block] }] }))).toMatch(
      /^400 .*no addresses/,
    );
    expect(seen.posts).toBe(0);
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
    expect(await send(socket, gate.token, json({ ...body, messages: [{ role: 'user', content: [image] }] }))).toMatch(/^200 /);
  });

  it('end if the agent has gone while they waited for the budget', async () => {
    const waiting = Promise.withResolvers<null>();
    const asked = Promise.withResolvers<null>();
    const { socket, gate, seen, call } = await openGate({
      hangs: true,
      begin: async () => {
        asked.resolve(null);
        await waiting.promise;
        return { ok: true, call };
      },
    });
    const sent = request({ socketPath: socket, path: '/v1/chat/completions', method: 'POST', headers: { 'x-api-key': gate.token } });
    sent.on('error', () => {});
    sent.end(JSON.stringify(body));
    await asked.promise;
    sent.destroy();
    await new Promise((resolve) => sent.once('close', resolve));
    // A round trip, so that the gate has seen the end of the connection.
    expect(await send(socket, 'none', json(body))).toMatch(/^401 /);
    waiting.resolve(null);
    await expect.poll(() => seen.failures).toEqual(['the agent closed the connection']);
    expect(seen.charges).toEqual([null]);
  });
});

describe('answers with calls that would not be judged', () => {
  const functionCall = { name: 'Bash', arguments: '{}' };
  it.each([
    ['a second choice', chatAnswer({ content: 'Hello.' }, [{ index: 1, message: { tool_calls: [{ id: 'c', function: functionCall }] } }])],
    ['another choice', { choices: [{ index: 1, finish_reason: 'stop', message: { content: 'Hello.' } }] }],
    ['a call in the old form', chatAnswer({ content: '', function_call: functionCall })],
    ['no choice', { choices: [] }],
  ])('are not passed on: %s', async (_, answer) => {
    const { socket, gate, seen } = await openGate({ answer });
    expect(await send(socket, gate.token, json(body))).toMatch(/^502 /);
    expect(seen.answers).toEqual([]);
    expect(seen.failures).toHaveLength(1);
    expect(seen.charges).toMatchObject([{ input: expect.any(Number) }]);
  });

  it('are judged by their kind if that is not known', async () => {
    const item = { type: 'computer_call', call_id: 'c1', action: { type: 'click' } };
    const { socket, gate, seen } = await openGate({
      wire: 'responses',
      answer: { output: [item], usage: { input_tokens: 1, output_tokens: 1 } },
    });
    expect(await send(socket, gate.token, json({ model: 'm', input: 'x' }), { path: '/v1/responses' })).toMatch(/^200 /);
    expect(seen.answers[0]?.calls).toMatchObject([{ id: 'c1', tool: 'computer_call' }]);
  });
});

describe('calls that break off', () => {
  const text = 'a rather long answer '.repeat(30);
  const stall: ProviderStep = { text, usage: { input: 5000, output: 200 }, fault: { kind: 'stall' } };
  const noUsage: ProviderStep = { text, fault: { kind: 'no-first-byte' } };

  async function runCut(cut: object, answer: ProviderStep, limits: object) {
    await using world = await createExternalWorld({
      script: { turns: [[{ cut }, { model: {} }]] },
      answer: ({ n }) => (n > 200 ? { text: 'Done.' } : answer),
      rulesets: [{ kind: 'owner', owner: 'test', rules: [parseRule('allow *')] }],
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake', limits });
    const outcome = await run.outcome;
    const facts = world.facts.filter((fact) => fact.runId === run.id);
    return { outcome, facts, calls: world.provider?.requests.length ?? 0 };
  }

  it.each([
    ['of the conversation', { times: 40, afterBeginMs: 300, tools: true }, 'model.failed'],
    ['outside of it', { times: 40, afterBeginMs: 300 }, 'model.called'],
  ])('are charged with the tokens of the partial answer: %s', async (_, cut, type) => {
    const { outcome, facts, calls } = await runCut(cut, stall, { maxTokens: 30_000 });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens' });
    expect(calls).toBeLessThan(10);
    expect(outcome.tokens.input).toBeGreaterThan(25_000);
    expect(outcome.tokens.output).toBeGreaterThan(0);
    expect(outcome.costUsd).toBeGreaterThan((25_000 * 3) / 1e6);
    expect(facts.filter((fact) => fact.type === type)).toHaveLength(calls);
    expect(replayRun(facts, null)).toMatchObject({ difference: null });
  });

  it.each([
    ['with a stream', true],
    ['in one piece', false],
  ])('are charged with an estimate if nothing has arrived: %s', async (_, stream) => {
    const { outcome, calls } = await runCut({ times: 40, stream, afterMs: 100, pad: 15_000 }, noUsage, { maxTokens: 30_000 });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens' });
    expect(calls).toBeLessThan(10);
    expect(outcome.tokens.input).toBeGreaterThan(5000 * calls);
    expect(outcome.tokens.output).toBe(512 * calls);
  });

  it('cost nothing if the provider refused them', async () => {
    const refusal: ProviderStep = { fault: { kind: 'status', status: 500 } };
    const { outcome, calls } = await runCut({ times: 3, tools: true, pad: 15_000 }, refusal, { maxTokens: 30_000 });
    expect(outcome).toMatchObject({ status: 'failed', tokens: { input: 0, output: 0 } });
    expect(calls).toBe(4);
  });

  it.each([
    ['of the conversation', { model: {} }, 'model.failed'],
    ['outside of it', { title: 'a title?' }, 'model.called'],
  ])('are charged when the run is cancelled: %s', async (_, step, type) => {
    await using world = await createExternalWorld({
      script: { turns: [[step]] },
      answer: () => stall,
      rulesets: [{ kind: 'owner', owner: 'test', rules: [parseRule('allow *')] }],
    });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    await expect.poll(() => world.provider?.requests.length).toBe(1);
    // Provider and gate are in this process: the answer has arrived after some turns of its event loop, however long they take.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
    await run.cancel('enough');
    expect(await run.outcome).toMatchObject({ status: 'cancelled', tokens: { input: 5000 } });
    expect(world.types(run.id).filter((each) => each === type || each === 'run.ended')).toEqual([type, 'run.ended']);
  });
});
