// Tools of the program: what the AI SDK's `tool({ … })` promises is kept.
import { jsonSchema, type Tool, tool, zodSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { z as zod3 } from 'zod/v3';
import type { RetinueError } from '../../src/contract/error.ts';
import { createMemoryStore, createRetinue, type RetinueOptions } from '../../src/main/index.ts';
import { checkInvariants, scriptedModel } from '../../src/main/testing.ts';

const agents = [{ name: 'clerk', description: 'Works', prompt: 'You work.' }];

/** Calls the tool `own` once per given arguments, and returns the results as the model reads them. */
async function callOwn(own: unknown, args: object[], options: Partial<RetinueOptions> = {}): Promise<string[]> {
  const calls = args.map((each) => ({ tool: 'own', args: each }));
  const model = scriptedModel({ runs: [{ steps: [{ calls }, { text: 'done' }] }] });
  await using retinue = createRetinue({ model, tools: { own: own as Tool }, agents, ...options });
  const run = await retinue.delegate({ task: 'work', agent: 'clerk' });
  const results: string[] = [];
  for await (const event of run.events()) if (event.type === 'tool.finished') results.push(`${event.data.status}: ${event.data.output}`);
  return results;
}

const execute = async (input: unknown) => JSON.stringify(input);

describe('needsApproval', () => {
  const inputSchema = z.object({ amount: z.number() });

  it('denies the call if nobody can be asked', async () => {
    let calls = 0;
    const own = tool({ inputSchema, needsApproval: true, execute: async () => `paid ${++calls}` });
    expect(await callOwn(own, [{ amount: 1 }])).toEqual([
      'denied: denied: own needs approval, and this run cannot ask for approval (rule `needsApproval` of tool own)',
    ]);
    expect(calls).toBe(0);
  });

  it('asks `approve` for the calls for which a function says so', async () => {
    const seen: unknown[] = [];
    const own = tool({
      inputSchema: z.object({ amount: z.coerce.number() }),
      needsApproval: async ({ amount }, { toolCallId }) => {
        seen.push([typeof amount, toolCallId]);
        return amount > 10;
      },
      execute: async ({ amount }, { toolCallId }) => `paid ${amount}, ${seen.some((each) => (each as string[])[1] === toolCallId)}`,
    });
    const asked: unknown[] = [];
    const approve: RetinueOptions['approve'] = async (question) => {
      asked.push(question.arguments);
      return { refused: 'too much' };
    };
    expect(await callOwn(own, [{ amount: 1 }, { amount: '20' }], { approve })).toEqual([
      'ok: paid 1, true',
      'denied: denied: own was refused by the program: too much',
    ]);
    expect(asked).toEqual([{ amount: '20' }]);
    expect(seen.map((each) => (each as string[])[0])).toEqual(['number', 'number']);
  });

  it('cannot weaken a rule, and `always` covers the same call', async () => {
    const own = tool({ inputSchema, needsApproval: true, execute });
    const approve = async () => 'always' as const;
    expect(await callOwn(own, [{ amount: 1 }], { rules: ['deny own'], approve })).toEqual([expect.stringMatching(/^denied: .*`deny own`/)]);
    const model = scriptedModel({
      runs: [{ steps: [{ calls: [{ tool: 'own', args: { amount: 1 } }], repeat: 2 }, { text: 'done' }] }],
    });
    let questions = 0;
    await using retinue = createRetinue({
      ...{ model, tools: { own }, agents },
      approve: async () => {
        questions++;
        return 'always';
      },
    });
    const { outcome } = await retinue.delegate({ task: 'work', agent: 'clerk' });
    expect([(await outcome).status, questions]).toEqual(['completed', 1]);
  });

  it('denies the call if its function fails, also because it wants the conversation', async () => {
    const failing = tool({
      inputSchema,
      needsApproval: () => {
        throw new Error('no database');
      },
      execute,
    });
    expect((await callOwn(failing, [{ amount: 1 }], { approve: async () => true }))[0]).toMatch(/^denied: .*no database/);
    const reading = tool({ inputSchema, needsApproval: (_, { messages }) => messages.length > 3, execute });
    expect((await callOwn(reading, [{ amount: 1 }], { approve: async () => true }))[0]).toMatch(/^denied: .*reads `messages`/);
  });
});

describe('the input of a tool', () => {
  it.each([
    ['zod', z.object({ n: z.coerce.number().default(3), s: z.string().transform((text) => text.length) }), { n: 3, s: 2 }],
    ['zod/mini', mini.object({ n: mini._default(mini.number(), 3), s: mini.string() }), { n: 3, s: 'ab' }],
    ['zodSchema()', zodSchema(z.object({ n: z.number().default(3), s: z.string().transform((text) => text.length) })), { n: 3, s: 2 }],
  ])('is the value of the schema: %s', async (_, inputSchema, expected) => {
    const [result] = await callOwn(tool({ inputSchema: inputSchema as never, execute: execute as never }), [{ s: 'ab' }]);
    expect(result).toBe(`ok: ${JSON.stringify(expected)}`);
  });

  it('is checked by asynchronous refinements, and the model reads what is wrong', async () => {
    const inputSchema = z.object({ n: z.number() }).refine(async ({ n }) => n > 5, { message: 'too small', path: ['n'] });
    expect(await callOwn(tool({ inputSchema, execute }), [{ n: 1 }, { n: 6 }])).toEqual([
      expect.stringContaining('n: too small'),
      'ok: {"n":6}',
    ]);
  });

  it('is checked by the validator of `jsonSchema()`, whose value counts, or else by the schema', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } } } as const;
    const validated = jsonSchema<{ n: number }>(schema, {
      validate: async (value) => {
        const { n } = value as { n: number };
        return n > 5 ? { success: true, value: { n: n * 2 } } : { success: false, error: new Error('too small') };
      },
    });
    expect(await callOwn(tool({ inputSchema: validated, execute }), [{ n: 1 }, { n: 6 }])).toEqual([
      expect.stringContaining('too small'),
      'ok: {"n":12}',
    ]);
    expect((await callOwn(tool({ inputSchema: jsonSchema(schema), execute }), [{ n: 'x' }]))[0]).toMatch(/^error: .*\/n must be number/);
  });

  it('is recorded as the model sent it', async () => {
    const own = tool({ inputSchema: z.object({ n: z.coerce.number() }), execute });
    const model = scriptedModel({ runs: [{ steps: [{ calls: [{ tool: 'own', args: { n: '4' } }] }, { text: 'done' }] }] });
    await using retinue = createRetinue({ model, tools: { own }, agents });
    const run = await retinue.delegate({ task: 'work', agent: 'clerk' });
    for await (const event of run.events()) if (event.type === 'tool.asked') expect(event.data.arguments).toEqual({ n: '4' });
  });

  it('needs a schema that can be shown to a model', async () => {
    const refused = async (inputSchema: unknown) =>
      callOwn({ inputSchema, execute }, [{}]).catch((error: { code: string; message: string }) => [error.code, error.message]);
    expect(await refused(z.object({ at: z.object({ day: z.date() }) }))).toEqual([
      'unknown_tool',
      'the tool own: inputSchema.at.day: Date cannot be represented in JSON Schema',
    ]);
    expect((await refused(zod3.object({})))[1]).toMatch(/^the tool own: inputSchema: schemas of zod 3 cannot be converted/);
    expect((await refused(5))[1]).toMatch(/neither a zod schema/);
  });
});

describe('toModelOutput', () => {
  const withOutput = (toModelOutput: unknown) => ({ inputSchema: z.object({}), execute: async () => ({ secret: 1 }), toModelOutput });

  it.each([
    [{ type: 'text', value: 'seen' }, 'ok: seen'],
    [{ type: 'json', value: { a: 1 } }, 'ok: {"a":1}'],
    [{ type: 'error-text', value: 'broken' }, 'error: broken'],
    [{ type: 'error-json', value: ['broken'] }, 'error: ["broken"]'],
    [{ type: 'execution-denied', reason: 'closed' }, 'error: closed'],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      'ok: a\nb',
    ],
    [{ type: 'content', value: [{ type: 'file-data', data: 'AAAA', mediaType: 'image/png' }] }, /^error: .*executed.*`file-data`/],
    [{ type: 'video' }, /^error: .*executed.*`video`/],
  ])('%j', async (given, expected) => {
    const [result] = await callOwn(
      withOutput(async () => given),
      [{}],
    );
    if (typeof expected === 'string') expect(result).toBe(expected);
    else expect(result).toMatch(expected);
  });

  it('gets input, output and the id of the call', async () => {
    const own = withOutput((given: { toolCallId: string }) => ({ type: 'json', value: given }));
    const [result = ''] = await callOwn(own, [{}]);
    expect(JSON.parse(result.slice(4))).toEqual({
      toolCallId: expect.stringMatching(/^[0-9a-f]{16}\/1\.0$/),
      input: {},
      output: { secret: 1 },
    });
  });
});

describe('a run that is cancelled while the arguments of a call are checked', () => {
  it('does not make the call', async () => {
    let checks = 0;
    let calls = 0;
    const isChecking = Promise.withResolvers<void>();
    const isCancelled = Promise.withResolvers<boolean>();
    // It is checked before the call is judged, and again before it is made.
    const checked = z.object({}).refine(() => {
      if (++checks === 1) return true;
      isChecking.resolve();
      return isCancelled.promise;
    });
    const own = tool({ inputSchema: checked, execute: async () => `called ${++calls}` });
    const model = scriptedModel({ runs: [{ steps: [{ calls: [{ tool: 'own', args: {} }] }, { text: 'done' }] }] });
    await using retinue = createRetinue({ model, tools: { own: own as Tool }, agents });
    const run = await retinue.delegate({ task: 'work', agent: 'clerk' });
    await isChecking.promise;
    await run.cancel('enough');
    isCancelled.resolve(true);
    expect(await run.outcome).toMatchObject({ status: 'cancelled' });
    expect([checks, calls]).toEqual([2, 0]);
  });
});

describe('a pause while the program reviews a call', () => {
  it.each(['a tool', 'a result'] as const)('records no verdict: the resumed run asks again (%s)', async (what) => {
    const isReviewing = Promise.withResolvers<void>();
    let isPaused = false;
    let calls = 0;
    const review = () => {
      if (isPaused) return Promise.resolve(true);
      isReviewing.resolve();
      return new Promise<boolean>(() => {});
    };
    const own = tool({ inputSchema: z.object({}), needsApproval: async () => !(await review()), execute: async () => `called ${++calls}` });
    const result = z.object({ n: z.number() }).refine(review);
    const call = what === 'a tool' ? { tool: 'own', args: {} } : { tool: 'submit_result', args: { n: 1 } };
    const store = createMemoryStore();
    const create = () => {
      const steps = [{ calls: [call] }, ...(what === 'a tool' ? [{ text: 'done' }] : [])];
      const model = scriptedModel({ runs: [{ steps }] });
      return createRetinue({ model, tools: { own: own as Tool }, agents, store: { ...store, close: async () => {} } });
    };
    const first = create();
    const run = await first.delegate({ task: 'work', agent: 'clerk', ...(what === 'a result' && { result }) });
    const outcome = run.outcome.catch((error: RetinueError) => error.code);
    await isReviewing.promise;
    await first.api.drain('a new version');
    expect(await outcome).toBe('paused');
    await first.close();
    isPaused = true;
    await using second = create();
    const [handle] = await second.api.resume(run.id);
    expect(await handle?.outcome).toMatchObject({ status: 'completed' });
    const facts = await store.facts({ runId: run.id });
    expect(facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.status] : []))).toEqual(['ok']);
    expect(calls).toBe(what === 'a tool' ? 1 : 0);
    // The answer that was not judged has been paid for.
    expect(facts.flatMap((fact) => (fact.type === 'model.failed' ? [fact.data.usage !== null] : []))).toEqual([true]);
    expect(await checkInvariants(store)).toEqual([]);
  });
});

describe('who gets the tools of the program', () => {
  it.each([
    ['general', true],
    ['explore', false],
    ['review', false],
    ['clerk', true],
    ['listed', true],
    ['bare', false],
  ])('%s: %s', async (agent, isOffered) => {
    const own = tool({ inputSchema: z.object({}), execute });
    const model = scriptedModel({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
    const more = [
      { name: 'listed', description: 'x', prompt: 'x', tools: ['OWN'] },
      { name: 'bare', description: 'x', prompt: 'x', tools: ['Read'] },
    ];
    await using retinue = createRetinue({ model, tools: { own }, agents: [...agents, ...more] });
    const run = await retinue.delegate({ task: 'work', agent });
    for await (const event of run.events()) {
      if (event.type !== 'run.created') continue;
      const { tools } = event.data.grant;
      expect([tools.includes('own'), agent !== 'bare' || tools.includes('read')]).toEqual([isOffered, true]);
    }
  });
});

describe('names', () => {
  const create = (options: Partial<RetinueOptions>) => () =>
    createRetinue({ model: scriptedModel({ runs: [{ steps: [{ text: 'x' }] }] }), ...options });
  const own = tool({ inputSchema: z.object({}), execute });
  const agent = { name: 'z', description: 'd', prompt: 'p' };

  it.each([
    ['bash', 'a built-in tool'],
    ['Read', 'a built-in tool'],
    ['skill', 'a built-in tool'],
    ['delegate', 'a delegation tool'],
    ['submit_result', 'the tool for structured results'],
    ['network', 'rules use this name'],
    ['mcp__x__y', 'MCP servers'],
    ['a b', 'letters, digits'],
    ['x'.repeat(65), 'letters, digits'],
  ])('%s is refused for a tool of the program', (name, reason) => {
    expect(create({ tools: { [name]: own } })).toThrow(reason);
  });

  it('may be in rules of the options, of agents, of briefs and of messages', async () => {
    const model = scriptedModel({ runs: [{ steps: [{ delayMs: 60_000, text: 'late' }] }] });
    const rules = ['deny searchDocs'];
    await using retinue = createRetinue({ model, tools: { searchDocs: own }, rules, agents: [{ ...agent, rules }] });
    const wrong = ['deny bash', 'deny serchDocs'];
    expect(create({ tools: { searchDocs: own }, agents: [{ ...agent, rules: wrong }] })).toThrow('did you mean `searchDocs`?');
    const run = await retinue.delegate({ task: 'work', rules });
    await run.send('', rules);
    await expect(run.send('', wrong)).rejects.toMatchObject({
      code: 'invalid_rule',
      message: expect.stringMatching(/^`deny serchDocs` \(the message, rules\.1\): unknown tool `serchDocs`; did you mean `searchDocs`/),
    });
    await expect(retinue.delegate({ task: 'work', rules: wrong })).rejects.toMatchObject({ code: 'invalid_rule' });
    await run.cancel('enough');
    await run.outcome;
  });

  it('that an agent lists must exist', () => {
    const lists = (list: object) => create({ tools: { searchDocs: own }, agents: [{ ...agent, ...list }] });
    expect(lists({ tools: ['serchDocs'] })).toThrow(/^`agents\.0\.tools`: unknown tool `serchDocs`; did you mean `searchDocs`/);
    expect(lists({ disallowedTools: ['bsh'] })).toThrow(/did you mean `bash`/);
    expect(lists({ tools: ['searchdocs', 'Read', 'mcp__any__thing', 'delegate*'] })).not.toThrow();
  });
});
