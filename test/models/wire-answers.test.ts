// Our decoders compared with the AI SDK's packages: the same bytes give the same answer, or the same kind of failure.
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Fault, ProviderStep } from '../../src/testing/provider-server.ts';
import { call, essence, formats, pair, pairAt, rawServer, type Told } from './wire-support.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const step: fc.Arbitrary<ProviderStep> = fc.record(
  {
    reasoning: text,
    signature: fc.constantFrom('c2ln', 'b3RoZXI='),
    redacted: fc.constant('b3BhcXVl'),
    text,
    calls: fc.array(
      fc.record(
        {
          tool: fc.constantFrom('look', 'write'),
          args: fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
          signature: fc.constant('Y2FsbA=='),
        },
        { requiredKeys: ['tool'] },
      ),
      { maxLength: 4 },
    ),
    usage: fc.record(
      {
        input: fc.integer({ min: 0, max: 5000 }),
        output: fc.integer({ min: 0, max: 5000 }),
        cached: fc.integer({ min: 0, max: 90 }),
        reasoning: fc.nat(50),
      },
      { requiredKeys: [] },
    ),
    finish: fc.constantFrom('stop', 'length', 'tool-calls', 'content-filter'),
    chunkSize: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: [] },
);

describe.each(formats)('$format', ({ model }) => {
  test('any answer', async () => {
    let next: ProviderStep = {};
    const { own, reference, server } = await pair(() => next, model);
    await fc.assert(
      fc.asyncProperty(step, async (given) => {
        // Ids count requests: each call is the first of its server's life.
        server.requests.length = 0;
        next = given;
        const ours = essence(await call(own));
        server.requests.length = 0;
        expect(ours).toEqual(essence(await call(reference)));
      }),
      { numRuns: 150 },
    );
  });

  test.each<Fault>([
    ...[400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529].map(
      (status): Fault => ({ kind: 'status', status, retryAfter: 3 }),
    ),
    ...[400, 401, 403, 404, 413, 429, 500, 529].map((status): Fault => ({ kind: 'error-event', status })),
    { kind: 'error-event', status: 500, type: 'some_new_error' },
    { kind: 'status', status: 400, message: 'prompt is too long: 208310 tokens > 200000 maximum' },
    { kind: 'reset' },
    { kind: 'reset', when: 'middle' },
    { kind: 'half' },
    { kind: 'malformed-event' },
    { kind: 'split-utf8' },
    { kind: 'lone-surrogate' },
    { kind: 'no-usage' },
    { kind: 'negative-usage' },
    { kind: 'redirect', to: 'http://127.0.0.1:1/elsewhere' },
  ])('$kind $status $when $type', async (fault) => {
    const given: ProviderStep = {
      reasoning: 'Hm, ∑.',
      text: 'Some words 😀.',
      calls: [{ tool: 'look', args: { path: 'é' }, id: 'c' }],
      fault,
    };
    const { own, reference } = await pair(() => given, model);
    expect(essence(await call(own))).toEqual(essence(await call(reference)));
  });

  test.each<[string, number, string, string]>([
    ['an error that is not JSON', 500, 'text/plain', 'oh no'],
    ['an error without a body', 503, 'text/plain', ''],
    ['an error of another shape', 400, 'application/json', '{"detail":"no"}'],
    ['an answer that is no stream', 200, 'application/json', '{"choices":[]}'],
    ['an empty answer', 200, 'text/event-stream', ''],
    ['events of another format', 200, 'text/event-stream', 'data: {"hello":"you"}\n\n'],
    ['events that are no objects', 200, 'text/event-stream', 'data: 1\n\ndata: null\n\n'],
    ['a web page', 200, 'text/html', '<html></html>'],
  ])('%s', async (_, status, type, body) => {
    const url = await rawServer((_request, response) => response.writeHead(status, { 'content-type': type }).end(body));
    const { own, reference } = await pairAt(url, model);
    expect(essence(await call(own))).toEqual(essence(await call(reference)));
  });
});

const sse = (events: unknown[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const chat = formats[1].model;
const chunk = (delta: object, finish: string | null = null) => ({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

async function bothOn(events: unknown[], model: string = chat): Promise<[Told, Told]> {
  const url = await rawServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${sse(events)}data: [DONE]\n\n`);
  });
  const { own, reference } = await pairAt(url, model);
  return [await call(own), await call(reference)];
}

/** Generated ids differ, so they are replaced by numbers, and so are `shared` ones. */
function counted(told: Told, shared: string[] = []): unknown {
  let made = 0;
  return JSON.parse(JSON.stringify(essence(told)), (name, value) =>
    name !== 'callId' || (/^[ab]$/.test(value) && !shared.includes(value)) ? value : `made ${made++}`,
  );
}

/** Ids of more than one call: the package generates other ones for all but one of them. */
function sharedIds({ result }: Told): string[] {
  const ids = result.ok ? result.answer.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])) : [];
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}

test('pieces of tool calls are assigned by index, id or name, as in the package', async () => {
  let body = '';
  const url = await rawServer((_request, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body));
  const { own, reference } = await pairAt(url, chat);
  const piece = fc.record(
    {
      index: fc.constantFrom(0, 1, null),
      id: fc.constantFrom('a', 'b', '', null),
      function: fc.record(
        {
          name: fc.constantFrom('look', 'write', ' ', null),
          arguments: fc.constantFrom('', '{"p"', ':"}"}', '{}', '[1', ']', 'x', '{"a":1}', null),
        },
        { requiredKeys: [] },
      ),
      extra_content: fc.constantFrom(null, { google: { thought_signature: 's' } }),
    },
    { requiredKeys: ['function'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(piece, { minLength: 1, maxLength: 2 }), { maxLength: 7 }), async (pieces) => {
      body = `${sse([...pieces.map((tool_calls) => chunk({ tool_calls })), chunk({}, 'tool_calls')])}data: [DONE]\n\n`;
      const told = await call(own);
      const shared = sharedIds(told);
      expect(counted(told, shared)).toEqual(counted(await call(reference), shared));
    }),
    { numRuns: 600 },
  );
});

test.each<[string, unknown[]]>([
  ['reasoning under its other name', [chunk({ reasoning: 'hm' }), chunk({ content: 'x' }, 'stop')]],
  [
    'content in typed parts',
    [
      chunk(
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }, { type: 'text', text: 'x' }, { type: 'other' }] },
        'stop',
      ),
    ],
  ],
  ['a refusal', [chunk({ refusal: 'no' }), chunk({}, 'stop')]],
  ['a refusal that is no text', [chunk({ refusal: false, content: 'x' }, 'stop')]],
  ['a finish that nobody knows', [chunk({ content: 'x' }, 'eos')]],
  ['a finish named like a property of all objects', [chunk({ content: 'x' }, 'constructor')]],
  ['no finish', [chunk({ content: 'x' })]],
  ['thinking again after text', [chunk({ content: 'a' }), chunk({ reasoning_content: 'b' }), chunk({ content: 'c' }, 'stop')]],
  [
    'usage with every chunk',
    [
      { ...chunk({ content: 'x' }), usage: { prompt_tokens: 1, completion_tokens: 1 } },
      { ...chunk({}, 'stop'), usage: { prompt_tokens: 7, completion_tokens: 3 } },
    ],
  ],
  ['usage that is null', [{ ...chunk({ content: 'x' }, 'stop'), usage: null }]],
  ['a choice without a delta', [{ choices: [{ finish_reason: null }] }, chunk({ content: 'x' }, 'stop')]],
  ['content that is a number', [chunk({ content: 7 }, 'stop')]],
  ['choices that are none', [{ choices: 'x' }]],
  ['a call that is none', [chunk({ tool_calls: [7] }, 'tool_calls')]],
  ['a call without a name', [chunk({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] }, 'tool_calls')]],
])('chat: %s', async (_, events) => {
  const [own, reference] = await bothOn(events);
  expect(counted(own)).toEqual(counted(reference));
});

const start = { type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 5, output_tokens: 0 } } };
const stop = (reason: string) => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
];
const block = (content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index: 0, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
  { type: 'content_block_stop', index: 0 },
];

test.each<[string, unknown[]]>([
  ['input that is there at once', [start, ...block({ type: 'tool_use', id: 'a', name: 'look', input: { p: 1 } }), ...stop('tool_use')]],
  [
    'who called',
    [start, ...block({ type: 'tool_use', id: 'a', name: 'look', input: {}, caller: { type: 'direct' } }), ...stop('tool_use')],
  ],
  ['a call without arguments', [start, ...block({ type: 'tool_use', id: 'a', name: 'look', input: {} }), ...stop('tool_use')]],
  ['a call that was not stopped', [start, block({ type: 'tool_use', id: 'a', name: 'look', input: {} })[0], ...stop('tool_use')]],
  [
    'pings',
    [
      { type: 'ping' },
      start,
      { type: 'ping' },
      ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 'x' }),
      ...stop('end_turn'),
    ],
  ],
  ['a finish that nobody knows', [start, ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 'x' }), ...stop('constructor')]],
  ['a message told twice', [start, start, ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 'x' }), ...stop('pause_turn')]],
  ['a message inside another', [start, { ...start, message: { ...start.message, id: 'n' } }, ...stop('end_turn')]],
  [
    'usage that the end corrects',
    [
      start,
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 3, output_tokens_details: { thinking_tokens: 2 } },
      },
      { type: 'message_stop' },
    ],
  ],
  [
    'deltas of a block that never began',
    [start, { type: 'content_block_delta', index: 4, delta: { type: 'input_json_delta', partial_json: '{' } }, ...stop('end_turn')],
  ],
  ['an error first', [{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }]],
  ['an error after the beginning', [start, { type: 'error', error: { type: 'api_error', message: 'oops' } }]],
  ['a delta that is none', [start, ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 7 }), ...stop('end_turn')]],
])('anthropic: %s', async (_, events) => {
  const [own, reference] = await bothOn(events, formats[0].model);
  expect(essence(own)).toEqual(essence(reference));
});

describe('accepts what the package rejects', () => {
  test('unknown events and blocks', async () => {
    const [own, reference] = await bothOn(
      [
        start,
        { type: 'novelty' },
        ...block({ type: 'novel_block' }),
        ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 'x' }),
        ...stop('end_turn'),
      ],
      formats[0].model,
    );
    expect(own.result).toMatchObject({ ok: true, answer: { content: [{ type: 'text', text: 'x' }] } });
    expect(reference.result.ok).toBe(false);
  });

  test('missing or non-numeric usage is estimated', async () => {
    const [own] = await bothOn([{ ...chunk({ content: 'four' }, 'stop'), usage: { prompt_tokens: '7', completion_tokens: 3 } }]);
    expect(own.result).toMatchObject({ ok: true, answer: { usage: { estimated: true, input: 100, output: 3 } } });
    const unsaid = { type: 'message_start', message: { id: 'm' } };
    const text = block({ type: 'text', text: '' }, { type: 'text_delta', text: 'four' });
    const [other] = await bothOn(
      [unsaid, ...text, { type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }],
      formats[0].model,
    );
    expect(other.result).toMatchObject({ ok: true, answer: { usage: { estimated: true, input: 100, output: 2 } } });
  });
});

test('a server that compresses although the request does not accept it', async () => {
  const body = gzipSync(sse([chunk({ content: 'small' }, 'stop')]));
  const url = await rawServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(body),
  );
  const { own } = await pairAt(url, chat);
  expect((await call(own)).result).toMatchObject({ ok: true, answer: { content: [{ type: 'text', text: 'small' }] } });
});

test.each(['gzip', 'br', 'deflate'])('a server that claims %s and sends something else gives a retryable failure', async (encoding) => {
  const url = await rawServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding }).end('data: {}\n\n'),
  );
  const { own } = await pairAt(url, chat);
  expect((await call(own)).result).toMatchObject({ ok: false, failure: { error: { code: 'provider', retryable: true } } });
});

/** Ways to stream the n-th call, in two pieces. */
const identified: [string, (n: number) => [object, object]][] = [
  ['by index', (n) => [{ index: n, id: `i${n}` }, { index: n }]],
  [
    'by index, with the name in each piece',
    (n) => [
      { index: n, function: { name: 'look' } },
      { index: n, function: { name: 'look' } },
    ],
  ],
  ['by id', (n) => [{ id: `i${n}` }, { id: `i${n}` }]],
  ['by nothing', () => [{}, {}]],
];

test.each(identified)('of endless tool calls the first are made, and the rest is counted: %s', async (_, pieces) => {
  const calls = Array.from({ length: 1200 }, (_, n) => {
    const [first, second] = pieces(n) as [{ function?: object }, { function?: object }];
    return [
      chunk({ tool_calls: [{ ...first, function: { name: 'look', arguments: '{"n":' } }] }),
      chunk({ tool_calls: [{ ...second, function: { ...second.function, arguments: `${n}}` } }] }),
    ];
  });
  const [own] = await bothOn([...calls.flat(), chunk({}, 'tool_calls')]);
  const { result } = own;
  if (!result.ok) throw new Error(result.failure.error.message);
  const made = result.answer.content.flatMap((part) => (part.type === 'tool-call' ? [part.input] : []));
  expect(made).toEqual(Array.from(made, (_, n) => `{"n":${n}}`));
  expect(made.length).toBeGreaterThan(0);
  expect(made.length + result.answer.dropped).toBe(1200);
});

test('calls keep an id that they share', async () => {
  const tool_calls = [0, 1].map((index) => ({ index, id: 'a', function: { name: 'look', arguments: `{"n":${index}}` } }));
  const [own] = await bothOn([chunk({ tool_calls }, 'tool_calls')]);
  expect(own.result).toMatchObject({
    ok: true,
    answer: {
      content: [
        { callId: 'a', input: '{"n":0}' },
        { callId: 'a', input: '{"n":1}' },
      ],
    },
  });
});
