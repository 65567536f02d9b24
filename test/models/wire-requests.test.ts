// Our encoders compared with the AI SDK's packages: the same call gives the same body, byte for byte.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withCacheMarkers } from '../../src/models/providers/cache-markers.ts';
import { key, tools } from './providers-support.ts';
import { call, formats, pair } from './wire-support.ts';

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constantFrom('', ' ', 'x ', 'Ünï 😀', '"\\\n', '\u2028'));
const meta = (own: object) => ({ providerOptions: own }) as { providerOptions: Record<string, never> };
const maybe = <T extends object>(given: fc.Arbitrary<T>) => fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, given);

const marker = maybe(
  fc.constantFrom(
    meta({ anthropic: { cacheControl: { type: 'ephemeral' } } }),
    meta({ anthropic: { cache_control: { type: 'ephemeral', ttl: '1h' } } }),
  ),
);
const textPart = fc.tuple(text, marker).map(([said, own]) => ({ type: 'text' as const, text: said, ...own }));
const signed = maybe(
  fc.constantFrom(
    meta({ anthropic: { signature: 'c2ln' } }),
    meta({ anthropic: { redactedData: 'b3BhcXVl' } }),
    meta({ anthropic: {} }),
    meta({ google: { thoughtSignature: 'Z29vZ2xl' } }),
  ),
);
const reasoningPart = fc.tuple(text, signed).map(([said, own]) => ({ type: 'reasoning' as const, text: said, ...own }));
const callMeta = maybe(
  fc.constantFrom(
    meta({ compatible: { thoughtSignature: 'Y2FsbA==' } }),
    meta({ google: { thoughtSignature: 'Z29vZ2xl' } }),
    meta({ anthropic: { caller: { type: 'direct' } } }),
    meta({ openai: { itemId: 'fc_1' } }),
  ),
);
const callPart = fc
  .tuple(fc.constantFrom('a', 'b'), fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), callMeta)
  .map(([id, input, own]) => ({ type: 'tool-call' as const, toolCallId: id, toolName: 'look', input, ...own }));
const resultPart = fc
  .tuple(fc.constantFrom('a', 'b'), fc.constantFrom('text' as const, 'error-text' as const), text, callMeta)
  .map(([id, type, value, own]) => ({ type: 'tool-result' as const, toolCallId: id, toolName: 'look', output: { type, value }, ...own }));

const message: fc.Arbitrary<LanguageModelV4Message> = fc.oneof(
  fc
    .tuple(fc.array(textPart, { minLength: 1, maxLength: 3 }), marker)
    .map(([content, own]) => ({ role: 'user' as const, content, ...own })),
  fc
    .tuple(fc.array(fc.oneof(textPart, reasoningPart, callPart), { maxLength: 5 }), marker)
    .map(([content, own]) => ({ role: 'assistant' as const, content, ...own })),
  fc
    .tuple(fc.array(resultPart, { minLength: 1, maxLength: 3 }), marker)
    .map(([content, own]) => ({ role: 'tool' as const, content, ...own })),
);
const system = fc.array(
  fc.tuple(text, marker).map(([content, own]) => ({ role: 'system' as const, content, ...own })),
  { maxLength: 2 },
);
/** As `planEffort` makes them. Chat Completions have one word, Anthropic has levels and tokens. */
const effort: Record<string, fc.Arbitrary<Partial<LanguageModelV4CallOptions>>> = {
  chat: maybe(fc.constantFrom('none' as const, 'low' as const, 'max' as const).map((reasoning) => ({ reasoning }))),
  anthropic: maybe(
    fc.constantFrom(
      meta({ anthropic: { thinking: { type: 'adaptive', display: 'summarized' }, effort: 'high' } }),
      meta({ anthropic: { thinking: { type: 'disabled' } } }),
      meta({ anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } }),
    ),
  ),
};
const options: fc.Arbitrary<LanguageModelV4CallOptions> = fc
  .record({
    system,
    rest: fc.array(message, { minLength: 1, maxLength: 7 }),
    maxOutputTokens: fc.integer({ min: 1, max: 30_000 }),
    tools: fc.constantFrom(undefined, [], tools, tools.slice(1)),
    choice: fc.constantFrom('auto' as const, 'none' as const, undefined),
  })
  .map(({ system: first, rest, maxOutputTokens, tools: offered, choice }) => ({
    prompt: [...first, ...rest],
    maxOutputTokens,
    ...(offered && { tools: offered }),
    ...(choice && { toolChoice: { type: choice } }),
  }));

describe.each(formats)('$format', ({ format, model }) => {
  test('any conversation', async () => {
    const { own, reference, server } = await pair(() => ({ text: 'x' }), model);
    await fc.assert(
      fc.asyncProperty(options, effort[format] ?? fc.constant({}), async (conversation, told) => {
        const given = { ...conversation, ...told };
        server.requests.length = 0;
        await call(own, given);
        await call(reference, given);
        const [ours, theirs] = server.requests;
        expect(ours?.headers['user-agent']).toBe('retinue'); // else the package made both
        expect(JSON.stringify(ours?.body)).toBe(JSON.stringify(theirs?.body));
      }),
      { numRuns: 150 },
    );
  });

  test('a growing conversation, with cache markers in each turn', async () => {
    const { own, reference, server } = await pair(() => ({ text: 'x' }), model);
    const prompt: LanguageModelV4Prompt = [{ role: 'system', content: 'rules' }];
    for (let turn = 0; turn < 3; turn++) {
      prompt.push(
        { role: 'user', content: [{ type: 'text', text: `turn ${turn}` }] },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: `c${turn}`, toolName: 'look', input: { path: 'p' } }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: `c${turn}`, toolName: 'look', output: { type: 'text', value: 'seen' } }],
        },
      );
      await call(own, withCacheMarkers({ prompt, tools, toolChoice: { type: 'auto' } }));
      await call(reference, withCacheMarkers({ prompt, tools, toolChoice: { type: 'auto' } }));
    }
    const bodies = server.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies.filter((_, at) => at % 2 === 0)).toEqual(bodies.filter((_, at) => at % 2 === 1));
    expect(new Set(bodies).size).toBe(3);
  });

  test('the same headers, except the user agent', async () => {
    const { own, reference, server } = await pair(() => ({ text: 'x' }), model);
    await call(own, { tools });
    await call(reference, { tools });
    const [ours, theirs] = server.requests.map(({ headers }) => headers);
    for (const name of ['content-type', 'authorization', 'x-api-key', 'anthropic-version', 'accept'])
      expect(ours?.[name]).toBe(theirs?.[name]);
    expect(JSON.stringify(ours)).toContain(key);
    // Asked for by the package wherever there are tools; only strict ones need it, and there are none.
    expect([ours?.['anthropic-beta'], theirs?.['anthropic-beta']]).toEqual(
      format === 'anthropic' ? [undefined, 'structured-outputs-2025-11-13'] : [undefined, undefined],
    );
  });

  test.each<[string, Partial<LanguageModelV4CallOptions>]>([
    ['sampling', { temperature: 0.5 }],
    ['options of the provider', { providerOptions: { anthropic: { speed: 'fast' }, compatible: { user: 'me' } } }],
    ['headers', { headers: { 'x-other': 'y' } }],
    ['a wanted form', { responseFormat: { type: 'json' } }],
    [
      'a picture',
      { prompt: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } }] }] },
    ],
    [
      'a result that is no text',
      {
        prompt: [
          {
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'look', output: { type: 'json', value: { a: 1 } } }],
          },
        ],
      },
    ],
    ['strict tools', { tools: tools.map((tool) => ({ ...tool, strict: true }) as never) }],
  ])('%s: the package sends the request', async (_, given) => {
    const { own, reference, server } = await pair(() => ({ text: 'said' }), model);
    expect((await call(own, given)).result).toMatchObject({ ok: true });
    await call(reference, given);
    const [ours, theirs] = server.requests;
    expect(ours?.headers['user-agent']).toContain('ai-sdk');
    expect(ours?.body).toEqual(theirs?.body);
  });
});

test.each(['required', 'tool'] as const)('a forced tool choice (%s) is left to the package if a model may reject it', async (type) => {
  const toolChoice = type === 'tool' ? { type, toolName: 'look' } : { type };
  for (const { format, model } of formats) {
    const { own, reference, server } = await pair(() => ({ text: 'x' }), model);
    await call(own, { tools, toolChoice });
    await call(reference, { tools, toolChoice });
    expect(server.requests[0]?.body).toEqual(server.requests[1]?.body);
    expect(server.requests[0]?.headers['user-agent'] === 'retinue').toBe(format === 'chat');
  }
});

test.each([
  ['anthropic/claude-3-haiku-20240307', 8192],
  ['anthropic/claude-opus-4-1', 40_000],
  ['anthropic/claude-sonnet-5', 200_000],
])('%s with %i tokens is left to the package, which knows the limit of each model', async (model, maxOutputTokens) => {
  const { own, reference, server } = await pair(() => ({ text: 'x' }), model);
  await call(own, { maxOutputTokens });
  await call(reference, { maxOutputTokens });
  expect(server.requests[0]?.body).toEqual(server.requests[1]?.body);
  expect(server.requests[0]?.body.max_tokens).toBeLessThan(maxOutputTokens);
});
