import { describe, expect, test } from 'vitest';
import { all, answer, ask, callsOf, ground, key, textOf } from './providers-support.ts';

describe.each(all)('$provider', ({ provider, model }) => {
  test('streamed text, with usage', async () => {
    const text = 'Hello there, 你好, and 😀 to all of you.';
    const { handle } = await ground([{ text, chunkSize: 5, usage: { input: 120, output: 30, cached: 100, reasoning: 0 } }]);
    const { result, deltas } = await ask(await handle(model));
    expect(result).toMatchObject({ ok: true, answer: { finish: 'stop', dropped: 0 } });
    if (!result.ok) return;
    expect(textOf(result.answer.content)).toBe(text);
    expect(result.answer.usage).toEqual({ input: 120, output: 30, cached: 100, reasoning: 0, estimated: false });
    expect(deltas.map((delta) => delta.text).join('')).toBe(text);
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.every((delta) => delta.kind === 'text')).toBe(true);
  });

  test('one tool call', async () => {
    const { handle, server } = await ground([{ text: 'I look.', calls: [{ tool: 'look', args: { path: 'a/b.txt' } }], chunkSize: 3 }]);
    const { result, deltas } = await ask(await handle(model));
    if (!result.ok) throw new Error(result.failure.error.message);
    expect(result.answer.finish).toBe('tool-calls');
    expect(callsOf(result.answer.content)).toEqual([{ tool: 'look', input: { path: 'a/b.txt' }, id: 'call_1_1' }]);
    expect(deltas.at(-1)).toEqual({ kind: 'tool', text: 'look' });
    expect(JSON.stringify(server.requests[0]?.body.tools)).toContain('the tool look');
  });

  test('several tool calls keep their order', async () => {
    const paths = ['one', 'two', 'three'];
    const { handle } = await ground([{ calls: paths.map((path) => ({ tool: path === 'two' ? 'write' : 'look', args: { path } })) }]);
    const { content } = await answer(await handle(model));
    expect(callsOf(content).map(({ tool, input }) => [tool, input])).toEqual([
      ['look', { path: 'one' }],
      ['write', { path: 'two' }],
      ['look', { path: 'three' }],
    ]);
  });

  test('the key appears in the headers and nowhere else', async () => {
    const { handle, server } = await ground([{ text: 'x' }]);
    await answer(await handle(model));
    const [request] = server.requests;
    const headers = Object.values(request?.headers ?? {}).join(' ');
    expect(headers.includes(key)).toBe(provider !== 'ollama');
    expect(request?.path).not.toContain(key);
    expect(JSON.stringify(request?.body)).not.toContain(key);
  });

  test('one call makes one request, with an output limit', async () => {
    const { handle, server } = await ground([{ text: 'x' }]);
    const { maxOutputTokens } = await handle(model);
    expect(maxOutputTokens).toBeGreaterThanOrEqual(8192);
    await answer(await handle(model));
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify(server.requests[0]?.body)).toContain(String(maxOutputTokens));
  });

  test.each(['length', 'content-filter'] as const)('an answer that ended with %s says so', async (finish) => {
    const { handle } = await ground([{ text: 'half of it', finish }]);
    expect((await answer(await handle(model))).finish).toBe(finish);
  });

  test('without streaming', async () => {
    const { handle } = await ground([{ text: 'whole', calls: [{ tool: 'look', args: { path: 'p' } }], usage: { input: 9, output: 4 } }]);
    const { model: language } = await handle(model);
    const result = await language.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] });
    expect(result.content.map((part) => part.type)).toEqual(['text', 'tool-call']);
    expect(result.usage.inputTokens.total).toBe(9);
  });
});
