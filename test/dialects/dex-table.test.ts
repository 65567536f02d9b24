// Dex's tool as tables: SubagentConfig validation, the texts of the source, activity entries.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Fact } from '../../src/contract/fact.ts';
import { renderResultParts } from '../../src/conversation/result-parts.ts';
import { Recipe } from '../../src/dialects/dex/recipe.ts';
import { type DialectConfig, makeDialect } from '../../src/dialects/index.ts';
import { createEndedChild, createFailedChild, createLiveChild, createRefusal, id, loadDialect, mcpContext } from './table-support.ts';

const { dialect, request, result, findProblems } = loadDialect('dex');
const spawn = 'spawn_subagent';
const base = {
  task: 'look',
  agent: 'dex/explorer',
  limits: { maxTurns: 10, timeoutMs: 600_000 },
  result: { mode: 'summary' },
  rules: ['deny memory'],
};
const readOnlyMemory = ['deny memory', 'allow memory:list', 'allow memory:search'];
const briefOf = (input: object, config: DialectConfig = {}) => {
  const asked = loadDialect('dex', config).request(spawn, { instructions: 'look', ...input });
  return asked.kind === 'delegate' ? asked.briefs[0] : asked;
};

const tester = { description: 'Runs tests.', prompt: 'Run the tests.', tools: ['read', 'bash'], max_turns: 4 };

describe('SubagentConfig struct defined with validation', () => {
  test.each([
    { input: {}, wanted: base },
    { input: { hat: 'planner' }, wanted: { ...base, agent: 'dex/planner' } },
    { input: { max_turns: 0 }, wanted: base },
    { input: { max_turns: -3 }, wanted: base },
    { input: { max_turns: 25 }, wanted: { ...base, limits: { maxTurns: 25, timeoutMs: 600_000 } } },
    { input: { max_turns: 26 }, wanted: { ...base, limits: { maxTurns: 25, timeoutMs: 600_000 } } },
    { input: { timeout: 90 }, wanted: { ...base, limits: { maxTurns: 10, timeoutMs: 90_000 } } },
    { input: { timeout: '90' }, wanted: { ...base, limits: { maxTurns: 10, timeoutMs: 90_000 } } },
    { input: { timeout: '10m' }, wanted: base },
    { input: { timeout: '1h30m' }, wanted: { ...base, limits: { maxTurns: 10, timeoutMs: 5_400_000 } } },
    { input: { timeout: 0 }, wanted: base },
    { input: { timeout: -1 }, wanted: base },
    { input: { timeout: '0s' }, wanted: base },
    { input: { timeout: '-5m' }, wanted: base },
    { input: { timeout: '0h0m' }, wanted: base },
    { input: { files: ['a.ts'] }, wanted: { ...base, files: ['a.ts'] } },
    { input: { inherit_memories: true }, wanted: { ...base, inheritMemories: true, rules: readOnlyMemory } },
    { input: { summary_mode: false }, wanted: { ...base, result: { mode: 'full' } } },
    { input: { instructions: ' ' }, wanted: { kind: 'refuse', message: 'invalid subagent config: instructions: must not be empty' } },
    {
      input: { timeout: 'soon' },
      wanted: { kind: 'refuse', message: 'invalid subagent config: timeout: must be whole seconds or a text like "10m", up to 24 days' },
    },
    {
      input: { timeout: 9_999_999 },
      wanted: { kind: 'refuse', message: 'invalid subagent config: timeout: must be whole seconds or a text like "10m", up to 24 days' },
    },
  ])('$input', ({ input, wanted }) => {
    expect(briefOf(input)).toEqual(wanted);
  });

  test.each([
    { config: { default_max_turns: 7 }, input: {}, wanted: { limits: { maxTurns: 7 } } },
    { config: { default_max_turns: 40 }, input: {}, wanted: { limits: { maxTurns: 25 } } },
    { config: { max_max_turns: 5 }, input: { max_turns: 9 }, wanted: { limits: { maxTurns: 5 } } },
    { config: { default_timeout: 30 }, input: {}, wanted: { limits: { timeoutMs: 30_000 } } },
    { config: { default_timeout: '2m' }, input: { timeout: 0 }, wanted: { limits: { timeoutMs: 120_000 } } },
    { config: { allowed_hats: ['critic'] }, input: { hat: 'critic' }, wanted: { agent: 'dex/critic' } },
    { config: { allowed_hats: ['critic'] }, input: {}, wanted: { agent: 'dex/critic' } },
    { config: { allowed_hats: ['planner', 'explorer'] }, input: {}, wanted: { agent: 'dex/explorer' } },
    { config: { hats: { tester } }, input: { hat: 'tester' }, wanted: { agent: 'dex/tester', limits: { maxTurns: 4 } } },
    { config: { hats: { tester } }, input: { hat: 'tester', max_turns: 9 }, wanted: { limits: { maxTurns: 9 } } },
    { config: { hats: { tester: { ...tester, max_turns: 90 } } }, input: { hat: 'tester' }, wanted: { limits: { maxTurns: 25 } } },
    {
      config: { enabled: false },
      input: {},
      wanted: { kind: 'refuse', message: 'subagents are not enabled (`dialects.dex.enabled`)' },
    },
  ])('with $config: $input', ({ config, input, wanted }) => {
    expect(briefOf(input, config)).toMatchObject(wanted);
  });

  test.each([
    [{ instructions: 'x', hat: 'editor' }, /^hat: /],
    [{ instructions: 'x', max_turns: 2.5 }, /^max_turns: /],
    [{ instructions: 'x', files: 'a' }, /^files: /],
    [{ instructions: 'x', timeout: 1.5 }, /^timeout: must be whole seconds or a text like "10m"/],
    [{ instructions: 'x', timeout: true }, /^timeout: must be whole seconds/],
    [{ instructions: 'x', inherit_memories: 'yes' }, /^inherit_memories: /],
    [{ instructions: 'x', hats: 'critic' }, /hats/],
    [{}, /^instructions: /],
  ])('%j is refused by name', (input, said) => {
    expect(findProblems(spawn, input)).toMatch(said);
  });

  test.each([
    [{ allowed_hats: ['editor'] }, /allowed_hats/],
    [{ allowed_hats: ['expl'] }, /allowed_hats/],
    [{ allowed_hats: [] }, /allowed_hats/],
    [{ hats: { explorer: tester } }, /hats\.explorer.*built in/],
    [{ hats: { Tester: tester } }, /hats\.Tester/],
    [{ hats: { tester: { ...tester, tools: 'expl' } } }, /hats\.tester\.tools.*available: explorer/],
    [{ hats: { tester: { tools: ['read'] } } }, /hats\.tester\.prompt/],
  ])('%j is not a valid configuration', (config, said) => {
    expect(() => loadDialect('dex', config as DialectConfig)).toThrow(said);
  });

  test('the schema names only allowed hats, and the default that is used', () => {
    const hatOf = (config: DialectConfig) => {
      const { properties } = z.toJSONSchema(loadDialect('dex', config).tool(spawn).input, { io: 'input' });
      return properties?.hat as { enum: string[]; description: string };
    };
    expect(hatOf({})).toMatchObject({
      enum: ['explorer', 'planner', 'creator', 'critic'],
      description: expect.stringMatching(/default: explorer/),
    });
    const narrowed = hatOf({ hats: { tester }, allowed_hats: ['tester', 'critic'] });
    expect(narrowed).toMatchObject({ enum: ['tester', 'critic'], description: expect.stringMatching(/default: tester/) });
    expect(loadDialect('dex', { hats: { tester } }).tool(spawn).description(mcpContext)).toMatch(/Further hats:\n- tester: Runs tests\.$/);
  });

  test('a hat gets the tools and rules of the hat that it names', () => {
    const { agents = [] } =
      loadDialect('dex', { hats: { auditor: { prompt: 'Audit.', tools: 'critic', rules: ['deny grep'] } } }).dialect.setup ?? {};
    const [critic, auditor] = ['dex/critic', 'dex/auditor'].map((name) => agents.find((agent) => agent.name === name));
    expect([auditor?.tools, auditor?.rules]).toEqual([critic?.tools, [...(critic?.rules ?? []), 'deny grep']]);
  });

  test('it waits until the subagent has ended, for models and over MCP: no other tool could return the result', () => {
    for (const context of [undefined, mcpContext]) expect(request(spawn, { instructions: 'x' }, context)).toMatchObject({ waitMs: null });
  });
});

describe('recipes', () => {
  const recipe = Recipe.parse({
    name: 'audit',
    description: 'Audits a file.',
    hat: 'critic',
    max_turns: 6,
    files: ['AGENTS.md'],
    parameters: { file: 'The file.', depth: { description: 'How deep.', default: 2 } },
    instructions: 'Audit {{file}} to depth {{ depth }}. Keep {{this}}.',
  });
  const own = makeDialect('dex', {}, { recipes: [recipe] });
  const [tool] = own.tools;
  const ask = (input: object) => {
    const asked = tool?.toRequest(tool.input.parse(input), mcpContext);
    return asked?.kind === 'delegate' ? asked.briefs[0] : asked;
  };

  test.each([
    {
      input: { recipe: 'audit', parameters: { file: 'a.ts' } },
      wanted: { task: 'Audit a.ts to depth 2. Keep {{this}}.', agent: 'dex/critic' },
    },
    { input: { hat: 'audit', parameters: { file: 'a.ts', depth: 3 } }, wanted: { task: 'Audit a.ts to depth 3. Keep {{this}}.' } },
    { input: { recipe: 'audit', hat: 'planner', parameters: { file: 'b' } }, wanted: { agent: 'dex/planner', limits: { maxTurns: 6 } } },
    { input: { recipe: 'audit', parameters: { file: 'b' }, files: ['b'] }, wanted: { files: ['AGENTS.md', 'b'] } },
    {
      input: { recipe: 'audit', parameters: { file: 'b' }, instructions: 'Be brief.' },
      wanted: { task: 'Audit b to depth 2. Keep {{this}}.\n\nBe brief.' },
    },
    { input: { recipe: 'audit' }, wanted: { kind: 'refuse', message: expect.stringContaining('parameters.file: the recipe audit needs') } },
    {
      input: { recipe: 'audit', parameters: { file: 'a', x: 1 } },
      wanted: {
        kind: 'refuse',
        message: expect.stringContaining('parameters.x: the recipe audit has no such parameter; available: file, depth'),
      },
    },
    { input: {}, wanted: { kind: 'refuse', message: 'invalid subagent config: instructions: required without a recipe' } },
    {
      input: { instructions: 'x', parameters: { a: 1 } },
      wanted: { kind: 'refuse', message: expect.stringContaining('they belong to a recipe') },
    },
  ])('$input', ({ input, wanted }) => {
    expect(ask(input)).toMatchObject(wanted);
  });

  test('are in the description of the tool; a recipe whose hat is not allowed is not', () => {
    expect(tool?.description(mcpContext)).toMatch(/Recipes .*:\n- audit \{file, depth\?\}: Audits a file\.$/);
    const [narrow] = makeDialect('dex', { allowed_hats: ['explorer'] }, { recipes: [recipe] }).tools;
    expect(narrow?.description(mcpContext)).not.toContain('audit');
    expect(() => makeDialect('dex', {}, { recipes: [{ ...recipe, hat: 'auditor' }] })).toThrow(/recipe audit: unknown hat `auditor`/);
  });
});

describe('the first message', () => {
  const first = dialect.setup?.first as NonNullable<NonNullable<typeof dialect.setup>['first']>;
  const nothing = { context: null, files: [], memories: [] };
  const at = '2026-01-01T00:00:00.000Z';
  test.each([
    { given: nothing, wanted: '# Subagent Task\n\nlook\n\n' },
    {
      given: { ...nothing, files: [{ path: 'a.ts', file: { ok: true as const, text: 'A', truncated: false } }] },
      wanted: '# Subagent Task\n\nlook\n\n## Pre-loaded Files\n\n### a.ts\n```\nA\n```\n\n',
    },
    {
      given: { ...nothing, files: [{ path: 'b', file: { ok: false as const, reason: 'does not exist' } }] },
      wanted: '# Subagent Task\n\nlook\n\n## Pre-loaded Files\n\n### b\n(failed to read: does not exist)\n\n',
    },
    {
      given: { ...nothing, files: [{ path: 'c', file: { ok: true as const, text: 'C', truncated: true } }] },
      wanted: '# Subagent Task\n\nlook\n\n## Pre-loaded Files\n\n### c\n```\nC\n```\n[cut at 10000 characters; the file has more]\n\n',
    },
    {
      given: { ...nothing, memories: [{ title: 'db', text: 'make db', at }] },
      wanted: '# Subagent Task\n\nlook\n\n## Project Knowledge\n\n- **db**: make db\n\n',
    },
    { given: { ...nothing, context: 'c' }, wanted: '# Subagent Task\n\nlook\n\n## Context\n\nc\n\n' },
  ])('$wanted', ({ given, wanted }) => {
    expect(first({ task: 'look', ...given })).toBe(wanted);
  });

  test('memories beyond the limit are left out, and the newest are kept', () => {
    const memories = Array.from({ length: 300 }, (_, n) => ({ title: `m${n}`, text: 'x'.repeat(100), at }));
    const text = first({ task: 'look', ...nothing, memories });
    expect(text.length).toBeLessThan(21_000);
    expect(text).toContain('- **m0**');
    expect(text).not.toContain('- **m299**');
  });
});

describe('Parent receives formatted result', () => {
  /** The text without fences, which are added only in a conversation. */
  const markdown = (child: ReturnType<typeof createEndedChild>) =>
    renderResultParts(
      result(spawn, { instructions: 'x' }, [child]).parts.map(({ text }) => ({ text })),
      1e6,
    );
  const tokens = { input: 30, output: 12, cached: 0, reasoning: 0 };
  test.each([
    {
      name: 'success',
      child: createEndedChild({ tokens }),
      wanted: '## Subagent Result (Success)\n\ndone it\n\n*(12 iterations, 42 tokens)*',
    },
    {
      name: 'Artifacts (created files) tracked',
      child: createEndedChild({
        tokens,
        artifacts: [
          { kind: 'path', value: 'src/a.ts', title: 'created', bytes: 1 },
          { kind: 'diff', value: '@@', title: 'src/a.ts', bytes: 2 },
          { kind: 'note', value: 'a\nnote', bytes: 3 },
        ],
      }),
      wanted:
        '## Subagent Result (Success)\n\ndone it\n\n**Artifacts:**\n- src/a.ts: created\n- note: a note\n\n\n*(12 iterations, 42 tokens)*',
    },
    {
      name: 'exhausted',
      child: createFailedChild('max_turns', 'the limit of 10 turns was reached', { status: 'exhausted', summary: 'half', turns: 10 }),
      wanted: '## Subagent Result (Terminated)\n\n**Reason**: the limit of 10 turns was reached\n\nhalf\n\n*(10 iterations, 0 tokens)*',
    },
    {
      name: 'timed out',
      child: createFailedChild('deadline', 'the deadline passed', { status: 'timed_out' }),
      wanted: '## Subagent Result (Terminated)\n\n**Reason**: the deadline passed\n\n\n\n*(12 iterations, 0 tokens)*',
    },
    {
      name: 'cancelled',
      child: createFailedChild('cancelled', 'enough', { status: 'cancelled' }),
      wanted: '## Subagent Result (Terminated)\n\n**Reason**: enough\n\n\n\n*(12 iterations, 0 tokens)*',
    },
    {
      name: 'cut',
      child: createEndedChild({ truncated: { originalBytes: 90, keptBytes: 7 } }),
      wanted: '## Subagent Result (Success)\n\ndone it\n[truncated: kept 7 of 90 bytes]\n\n*(12 iterations, 0 tokens)*',
    },
  ])('$name', ({ child, wanted }) => {
    expect(markdown(child)).toBe(wanted);
    expect(result(spawn, { instructions: 'x' }, [child]).isError).toBe(false);
  });

  test('the result of the source as data beside the text, each artifact once', () => {
    const path = (title: string) => ({ kind: 'path' as const, value: 'a.ts', title, bytes: 1 });
    const diff = { kind: 'diff' as const, value: '@@', title: 'a.ts', bytes: 2 };
    const notes = ['one', 'two'].map((value) => ({ kind: 'note' as const, value, bytes: 3 }));
    const child = createEndedChild({ tokens, artifacts: [diff, path('created'), diff, path('changed'), ...notes] });
    const given = result(spawn, { instructions: 'x' }, [child]);
    expect([given.besideText, given.structured]).toEqual([
      true,
      {
        success: true,
        summary: 'done it',
        iterations: 12,
        tokens_used: 42,
        artifacts: { 'a.ts': 'created', note: 'one', 'note 2': 'two' },
      },
    ]);
    const failed = createFailedChild('max_turns', 'the limit of 10 turns was reached', { status: 'exhausted', summary: 'half' });
    expect(result(spawn, { instructions: 'x' }, [failed]).structured).toMatchObject({
      success: false,
      summary: 'half',
      terminated: 'the limit of 10 turns was reached',
    });
  });

  test('only the text of the subagent is marked with its run', () => {
    expect(result(spawn, { instructions: 'x' }, [createEndedChild()]).parts.map(({ run }) => run)).toEqual([undefined, id, undefined]);
  });

  test.each([
    { reply: createRefusal('depth', 'x'), said: 'subagents cannot spawn additional subagents' },
    { reply: createRefusal('max_runs', 'this tree has\nenough'), said: 'this tree has enough' },
  ])('a refusal: $said', ({ reply, said }) => {
    expect(result(spawn, { instructions: 'x' }, [reply])).toEqual({ parts: [{ text: said }], isError: true });
  });

  test('a subagent that is still running', () => {
    expect(result(spawn, { instructions: 'x' }, [createLiveChild()]).parts[0]?.text).toContain(id);
  });
});

describe('Activity log tracks subagent lifecycle', () => {
  const activity = dialect.setup?.activity as NonNullable<NonNullable<typeof dialect.setup>['activity']>;
  const fact = (type: string, data: object) => ({ type, data }) as unknown as Fact;
  test('subagent_spawn, subagent_complete, and nothing else', () => {
    const created = fact('child.created', { childId: id, agent: 'dex/critic' });
    expect(activity(created, { brief: { task: 't' }, maxTurns: 10 })).toEqual({
      type: 'subagent_spawn',
      message: 'spawned',
      metadata: { subagent_id: id, hat: 'critic', max_turns: '10' },
      debug: 'spawning subagent: hat=critic, max_turns=10',
    });
    const done = fact('child.ended', { childId: id, outcome: createEndedChild().view.outcome });
    expect(activity(done, null)).toEqual({
      type: 'subagent_complete',
      message: 'completed',
      metadata: { subagent_id: id, success: 'true', iterations: '12' },
      debug: 'subagent completed: success=true, iterations=12, tokens=0',
    });
    expect(activity(fact('run.started', {}), null)).toBeNull();
  });
});
