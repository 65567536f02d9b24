// Compares the loop with `generateText` of the AI SDK on the same scripted answers: requests and tool results must be equivalent. Intended
// differences are removed in `meaning`, each with its reason; everything else must be equal.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { tool as aiTool, generateText, isStepCount } from 'ai';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { FactOf } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { call, handleOf, type Part, type PreparedAnswer, reasoning, recordingModel, text } from '../support/recording-model.ts';
import { createWorld } from '../support/world.ts';

const system = 'You work.';
const task = 'do the work';

/** Both sides execute these. Inputs and results of tools are part of the comparison. */
interface Shared {
  description: string;
  input: z.ZodType;
  execute(input: unknown): Promise<string>;
}
const ticks = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};
const numbered = z.strictObject({ n: z.number().optional() });
const shared: Record<string, Shared> = {
  echo: {
    description: 'says it again',
    input: z.strictObject({ say: z.string(), n: z.number().optional() }),
    execute: async (input) => JSON.stringify(input),
  },
  /** The earlier of two calls ends later. */
  slow: {
    description: 'takes its time',
    input: z.strictObject({ ticks: z.number() }),
    execute: async (input) => {
      await ticks((input as { ticks: number }).ticks);
      return `slept ${(input as { ticks: number }).ticks}`;
    },
  },
  now: { description: 'needs nothing', input: numbered, execute: async () => 'it is noon' },
  quiet: { description: 'says nothing', input: numbered, execute: async () => '' },
  fail: {
    description: 'breaks',
    input: z.strictObject({ why: z.string() }),
    execute: async (input) => {
      throw new Error((input as { why: string }).why);
    },
  },
};

type Executed = { tool: string; input: unknown; output: string | null }[];
interface Side {
  requests: LanguageModelV4CallOptions[];
  executed: Executed;
  finalText: string;
}

function watched(name: string, executed: Executed): (input: unknown) => Promise<string> {
  return async (input) => {
    const entry: Executed[number] = { tool: name, input, output: null };
    executed.push(entry);
    entry.output = await (shared[name] as Shared).execute(input);
    return entry.output;
  };
}

async function ours(answers: PreparedAnswer[]): Promise<Side & { results: FactOf<'tool.finished'>[] }> {
  const { model, asked } = recordingModel(answers);
  const executed: Executed = [];
  const tools = Object.entries(shared).map(
    ([name, { description, input }]): AnyTool => ({
      name,
      description,
      input,
      readOnly: true,
      idempotent: true,
      subjects: () => [],
      execute: async (given) => ({ output: await watched(name, executed)(given) }),
    }),
  );
  const world = await createWorld({
    tools,
    agents: [{ name: 'any', description: '', prompt: system, source: 'test' }],
    options: { models: { resolve: async () => handleOf(model) } },
  });
  const outcome = await (await world.runtime.start({ task, agent: 'any', tools: { allow: Object.keys(shared) } })).outcome;
  const results = world.facts.filter((fact) => fact.type === 'tool.finished');
  await world[Symbol.asyncDispose]();
  expect(outcome).toMatchObject({ status: 'completed', error: null });
  return { requests: asked, executed, finalText: outcome.summary, results };
}

async function theirs(answers: PreparedAnswer[]): Promise<Side> {
  const { model, asked } = recordingModel(answers);
  const executed: Executed = [];
  const tools = Object.fromEntries(
    Object.entries(shared).map(([name, { description, input }]) => [
      name,
      aiTool({ description, inputSchema: input, execute: watched(name, executed) }),
    ]),
  );
  const result = await generateText({ model, tools, instructions: system, prompt: task, stopWhen: isStepCount(40), maxRetries: 0 });
  return { requests: asked, executed, finalText: result.text };
}

/** A request without the parts that may differ. Order of messages and parts, ids, names, inputs, texts and metadata all count. */
function meaning(request: LanguageModelV4CallOptions) {
  return {
    messages: request.prompt.map((message) =>
      message.role === 'system'
        ? // The environment of the run is ours alone.
          { role: 'system', text: message.content.replace(/\n\nEnvironment:\n(?:- .*\n?)*/, '') }
        : { role: message.role, parts: (message.content as object[]).map((part) => partMeaning(part as Loose)) },
    ),
    tools: (request.tools ?? []).map((each) => {
      if (each.type !== 'function') throw new Error('only functions are offered');
      // The AI SDK adds the `$schema` of the draft, which providers do not read.
      const { $schema: _, ...schema } = each.inputSchema as Record<string, unknown>;
      return { name: each.name, description: each.description, schema };
    }),
    choice: request.toolChoice,
  };
}

interface Loose {
  type: string;
  text?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: { type: string; value?: unknown };
  providerOptions?: object | undefined;
}

function partMeaning({ type, text: said, toolCallId, toolName, input, output, providerOptions }: Loose) {
  const meta = providerOptions ?? null;
  if (type === 'text' || type === 'reasoning') return { type, text: said, meta };
  if (type === 'tool-call') return { type, id: toolCallId, name: toolName, input, meta };
  if (type !== 'tool-result' || !output) throw new Error(`a part that neither side should send: ${type}`);
  if (!output.type.startsWith('error')) return { type, id: toolCallId, name: toolName, ok: true, value: output.value, meta };
  // Our error texts say what to do next, so only the kind and the call must agree, and the text must not be empty.
  // We return the call's metadata with its result; the AI SDK does not for results that it generated itself.
  return { type, id: toolCallId, name: toolName, ok: false, says: typeof output.value === 'string' && output.value !== '' };
}

/** Both start the reading calls of an answer in order. Inputs and results must agree. */
async function compare(answers: PreparedAnswer[]) {
  const [our, their] = [await ours(answers), await theirs(answers)];
  expect(our.requests.map(meaning)).toEqual(their.requests.map(meaning));
  expect(our.executed).toEqual(their.executed);
  expect(our.finalText).toBe(their.finalText.trim()); // an outcome's summary has no blank edges
  return { our, their };
}

const answer = (...parts: Part[]): PreparedAnswer => ({ parts });
const done = answer(text('all done'));
const google = { google: { thoughtSignature: 'c2lnbmVk' } };
const anthropic = { anthropic: { signature: 'ErUB', nested: { list: [1, 'two', null] } } };

const scenarios: [string, PreparedAnswer[]][] = [
  ['text only', [answer(text('hello there'))]],
  ['one call', [answer(call('c1', 'echo', { say: 'hi' })), done]],
  [
    'several calls in one answer',
    [answer(call('c1', 'echo', { say: 'a' }), call('c2', 'echo', { say: 'b' }), call('c3', 'now', {})), done],
  ],
  [
    'calls that end in another order than they were asked',
    [answer(call('c1', 'slow', { ticks: 9 }), call('c2', 'slow', { ticks: 1 })), done],
  ],
  ['several turns', [1, 2, 3, 4].map((n) => answer(call(`c${n}`, 'echo', { say: `turn ${n}`, n }))).concat(done)],
  ['the same id in two turns', [answer(call('call_0', 'echo', { say: 'a' })), answer(call('call_0', 'echo', { say: 'b' })), done]],
  ['text and calls in one answer', [answer(text('let me see'), call('c1', 'echo', { say: 'a' }), text('and then')), done]],
  ['several texts in one answer', [answer(text('one '), text('two'), call('c1', 'now', {})), done]],
  ['empty arguments, as an object and as nothing', [answer(call('c1', 'now', {}), call('c2', 'now', ''), call('c3', 'now', '  ')), done]],
  ['an empty result', [answer(call('c1', 'quiet', {})), done]],
  ['a tool that throws', [answer(call('c1', 'fail', { why: 'no disk' }), call('c2', 'echo', { say: 'still' })), done]],
  ['an unknown tool', [answer(call('c1', 'ecko', { say: 'a' }), call('c2', 'echo', { say: 'b' })), done]],
  ['a name of the prototype as a tool', [answer(call('c1', 'toString', {}), call('c2', 'constructor', {})), done]],
  ['arguments that do not parse', [answer(call('c1', 'echo', '{"say": "a'), call('c2', 'echo', { say: 'b' })), done]],
  ['arguments of the wrong type', [answer(call('c1', 'echo', { say: 7 }), call('c2', 'echo', { say: 'b', m: 1 })), done]],
  ['arguments that are no object', [answer(call('c1', 'echo', '"text"'), call('c2', 'echo', '7')), done]],
  ['reasoning with a signature', [answer(reasoning('hm', anthropic), text('so'), call('c1', 'now', {})), done]],
  ['several reasonings, one without text (redacted)', [answer(reasoning('', anthropic), reasoning('hm'), call('c1', 'now', {})), done]],
  ['metadata on texts and calls', [answer(text('so', google), call('c1', 'now', {}, google), call('c2', 'echo', { say: 'a' })), done]],
  ['a signature on an empty text', [answer(call('c1', 'now', {}), text('', google)), done]],
  ['an empty text without anything', [answer(text(''), call('c1', 'now', {})), done]],
  ['unicode', [answer(text('žluťoučký 👩‍👩‍👧 𝒳'), call('c1', 'echo', { say: '👍🏽\u0000"\\' })), done]],
  ['keys in any order, and like indices', [answer(call('c1', 'echo', '{"z": 1, "10": 2, "2": 3, "say": "x"}')), done]],
];

describe('the loop compared with generateText', () => {
  it.each(scenarios)('%s', async (_, answers) => {
    const { our } = await compare(answers);
    expect(our.requests).toHaveLength(answers.length);
  });

  it('differs for arguments that are a list: providers accept only objects', async () => {
    const answers = [answer(call('c1', 'echo', '[1]')), done];
    const input = ({ requests }: Side) => meaning(requests[1] as LanguageModelV4CallOptions).messages[2]?.parts?.[0];
    expect([input(await ours(answers)), input(await theirs(answers))]).toMatchObject([{ input: {} }, { input: [1] }]);
  });

  it('differs for duplicate keys: the call is refused, while JSON.parse takes the last one', async () => {
    const answers = [answer(call('c1', 'echo', '{"say": "a", "say": "b"}')), done];
    expect([(await ours(answers)).executed, (await theirs(answers)).executed.length]).toEqual([[], 1]);
  });

  it('has the recorded results in its requests', async () => {
    const { our } = await compare([
      answer(call('c1', 'slow', { ticks: 5 }), call('c2', 'fail', { why: 'x' }), call('c3', 'now', {})),
      done,
    ]);
    const last = our.requests.at(-1)?.prompt.at(-1);
    const sent = last?.role === 'tool' ? last.content.map((part) => (part.type === 'tool-result' ? part.output : null)) : [];
    const facts = our.results.toSorted((a, b) => a.data.index - b.data.index);
    expect(sent).toEqual(facts.map(({ data }) => ({ type: data.status === 'ok' ? 'text' : 'error-text', value: data.output })));
  });

  it('agrees on random conversations', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (answers) => void (await compare(answers))),
      { numRuns: 60, seed: 7 },
    );
  });
});

/** Answers with any mix of parts. Inputs differ by a number, so that our guard against repeated calls does not interfere. */
const meta = fc.option(fc.constantFrom(google, anthropic), { nil: undefined });
const words = fc.string({ unit: 'binary', maxLength: 12 });
const spoken = fc.tuple(fc.constantFrom(text, reasoning), words, meta).map(([make, value, own]) => make(value, own));
const kinds = fc.constantFrom('echo', 'slow', 'now', 'quiet', 'fail', 'nobody');
const turn = fc.tuple(fc.array(spoken, { maxLength: 3 }), fc.array(fc.tuple(kinds, words, meta), { minLength: 1, maxLength: 3 }));
const conversation = fc.array(turn, { maxLength: 4 }).map((turns): PreparedAnswer[] => {
  let n = 0;
  const inputs: Record<string, (say: string) => object> = {
    echo: (say) => ({ say, n }),
    slow: () => ({ ticks: 6 - (n % 5) + n / 1000 }),
    fail: (why) => ({ why: `${n} ${why}` }),
  };
  const made = ([kind, say, own]: [string, string, object | undefined]) => {
    n++;
    return call(`c${n}`, kind, inputs[kind]?.(say) ?? { n }, own);
  };
  return [...turns.map(([said, calls]) => answer(...said, ...calls.map(made))), done];
});
