// User-defined dialects: mistakes are reported when the dialect is defined.
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { nonNativeToolNames } from '../../src/dialects/settings.ts';
import { type DialectTool, defineDialect, defineDialectTool, dialectNames, makeDialect } from '../../src/main/dialects.ts';

const tool: DialectTool<{ what: string }> = {
  name: 'hand_over',
  description: () => 'Hands it over.',
  input: z.strictObject({ what: z.string().describe('what') }),
  readOnly: false,
  toRequest: ({ what }) => ({ kind: 'delegate', briefs: [{ task: what }], waitMs: null }),
  fromReply: (reply) => ({ parts: [{ text: reply.kind }], isError: false }),
};
const given = { name: 'mine', description: 'My own.', tools: [tool] };

it('returns the dialect with its setup', () => {
  expect(defineDialect(given)).toEqual(given);
  expect(defineDialect({ ...given, setup: { limits: { maxDepth: 2 } } }).setup).toEqual({ limits: { maxDepth: 2 } });
});

describe('refuses with invalid_config', () => {
  const agent = { name: 'mine/a', description: '', prompt: '', source: 'mine' };
  it.each([
    ['a name', { name: 'My Own' }, /the name must start with a letter/],
    ['a taken name', { name: 'rx' }, /built-in dialect/],
    ['no description', { description: ' ' }, /no description/],
    ['no tools', { tools: [] }, /no tools/],
    ['a tool’s name', { tools: [{ ...tool, name: 'hand over' }] }, /`hand over`/],
    ['two tools of one name', { tools: [tool, tool] }, /two tools have the name `hand_over`/],
    ['no function', { tools: [{ ...tool, toRequest: undefined }] }, /`toRequest` of hand_over/],
    ['no object as input', { tools: [{ ...tool, input: z.string() }] }, /`input` of hand_over/],
    ['an input without JSON Schema', { tools: [{ ...tool, input: z.strictObject({ at: z.date() }) }] }, /`input` of hand_over/],
    ['an output without JSON Schema', { tools: [{ ...tool, output: z.strictObject({ at: z.bigint() }) }] }, /`output` of hand_over/],
    ['a key of setup', { setup: { limit: {} } }, /unknown key of setup `limit`; did you mean `limits`/],
    ['a limit', { setup: { limits: { maxDepth: -1 } } }, /setup\.limits\.maxDepth/],
    ['an agent', { setup: { agents: [{ ...agent, name: 'A' }] } }, /setup\.agents\.0\.name/],
  ])('%s', (_, wrong, said) => {
    const define = () => defineDialect({ ...given, ...wrong } as never);
    expect(define).toThrow(said);
    expect(define).toThrow(expect.objectContaining({ code: 'invalid_config' }));
  });
});

it('the built-in dialects are valid definitions under another name', () => {
  for (const name of dialectNames) expect(() => defineDialect({ ...makeDialect(name), name: `my-${name}` }), name).not.toThrow();
});

it('rules may name the tools of every dialect', () => {
  const toolsOf = (name: string) => makeDialect(name).tools.map((each) => each.name);
  const names = new Set(dialectNames.flatMap(toolsOf));
  expect(new Set([...toolsOf('native'), ...nonNativeToolNames])).toEqual(names);
});

it('infers the input of a tool from its schema', () => {
  const ask = defineDialectTool({
    name: 'ask',
    description: () => 'asks',
    input: z.object({ question: z.string() }),
    readOnly: true,
    toRequest(input) {
      expectTypeOf(input).toEqualTypeOf<{ question: string }>();
      return { kind: 'refuse', message: input.question };
    },
    fromReply: () => ({ parts: [], isError: false }),
  });
  expect(defineDialect({ ...given, tools: [ask] }).tools).toEqual([ask]);
});
