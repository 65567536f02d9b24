// The model gate against an agent that sends what no client would, and against answers that no agent should get.
import { mkdtempSync, rmSync } from 'node:fs';
import { type RequestOptions, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GateServer, startGate } from '../../src/externals/gate.ts';
import type { GateAnswer, ModelGate } from '../../src/ports/external-agent.ts';
import type { ModelEndpoint } from '../../src/ports/model.ts';

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
  const seen = { posts: 0, answers: [] as GateAnswer[], failures: [] as string[] };
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
    failed: ({ message }: { message: string }) => void seen.failures.push(message),
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
