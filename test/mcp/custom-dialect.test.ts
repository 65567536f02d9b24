// A dialect that the server does not know: structured content, what ended untold, progress, and the end of the client.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import type { World } from '../support/world.ts';
import { texts } from './support.ts';
import { type Inside, startInside } from './support-in-process.ts';

const answering = (...steps: object[]) => ({ runs: [{ times: 'any', steps }] });

async function call({ client }: Pick<Inside, 'client'>, name: string, args: Record<string, unknown>, options: CallOptions = {}) {
  return (await client.callTool({ name, arguments: args }, undefined, options)) as CallToolResult;
}
type CallOptions = NonNullable<Parameters<Client['callTool']>[2]>;

/** The part of the call's name that all calls of one session share. */
function sessionOf(result: CallToolResult): string {
  return String((result.structuredContent as { calls: string }).calls).split('/')[0] as string;
}

/** Resolves when there are so many facts of this type. */
function fact({ facts, runtime }: Pick<World, 'facts' | 'runtime'>, type: string, count = 1): Promise<void> {
  const enough = () => facts.filter((each) => each.type === type).length >= count;
  if (enough()) return Promise.resolve();
  return new Promise((resolve) => {
    const end = runtime.listen(() => {
      if (!enough()) return;
      end();
      resolve();
    });
  });
}

describe('a dialect with JSON results', () => {
  it('lists its output schema, title and hints', async () => {
    await using inside = await startInside();
    const { tools } = await inside.client.listTools();
    expect(tools[0]).toMatchObject({
      name: 'ask',
      title: 'Ask somebody',
      outputSchema: { type: 'object', required: ['ok', 'answer', 'calls'] },
      annotations: { title: 'Ask somebody', destructiveHint: false, readOnlyHint: false },
    });
    expect(tools[0]?.outputSchema).not.toHaveProperty('$schema');
    expect(tools[1]).not.toHaveProperty('outputSchema');
    expect(inside.client.getInstructions()).toContain('\n- ask: Asks somebody else.\n- hello: Says how many are open.\n');
  });

  it('answers structured content and its JSON as the one text block; each use has a call of its own', async () => {
    await using inside = await startInside({ script: answering({ text: 'forty\u0007-two' }) });
    await inside.client.listTools();
    const [first, second] = [await call(inside, 'ask', { question: 'what?' }), await call(inside, 'ask', { question: 'what?' })];
    const session = sessionOf(first);
    expect(session).toMatch(/^[0-9a-f]{16}$/);
    expect(first.structuredContent).toEqual({ ok: true, answer: 'forty-two', calls: `${session}/1` });
    expect(texts(first)).toEqual([JSON.stringify(first.structuredContent)]);
    expect(second.structuredContent).toMatchObject({ calls: `${session}/2` });
    expect(texts(await call(inside, 'hello', {}))).toEqual(['open:\n0']);
  });

  it('waits as long as the child; what ended after a timeout is told whole, once', async () => {
    await using inside = await startInside({ script: answering({ delayMs: 300, text: `the answer ${'y'.repeat(50)}` }) });
    await expect(call(inside, 'ask', { question: 'slowly' }, { timeout: 20 })).rejects.toThrow(/timed out/i);
    await fact(inside.world, 'child.ended');
    const next = texts(await call(inside, 'hello', {}));
    expect(next).toEqual([
      'open:\n0',
      expect.stringMatching(
        /^Delegated runs that have ended in the meantime:\n\[run [0-9a-f]{16} · completed · 1 turn · "slowly"\]\nthe answer y{50}$/,
      ),
    ]);
    expect(texts(await call(inside, 'hello', {}))).toEqual(['open:\n0']);
  });

  it('tells no more at once than fits, and the rest with the next result', async () => {
    await using inside = await startInside({ script: answering({ text: 'z'.repeat(12_000) }) });
    for (const question of ['a', 'b']) await call(inside, 'ask', { question, background: true });
    await fact(inside.world, 'child.ended', 2);
    const sizes = [];
    for (let n = 0; n < 3; n++) sizes.push(texts(await call(inside, 'hello', {})).map((text) => text.includes('z'.repeat(12_000))));
    expect(sizes).toEqual([[false, true], [false, true], [false]]);
  });
});

/** Timers fire, and what they sent has arrived. */
async function ticks({ tick }: Inside, count: number): Promise<void> {
  for (let n = 0; n < count; n++) tick();
  await new Promise((done) => setImmediate(done));
}

describe('progress', () => {
  it('gives a sign of life each 10 s while a call waits, and none after it', async () => {
    await using inside = await startInside({ script: answering({ hang: 'start' }) });
    const heard: { progress: number; message?: string }[] = [];
    const stop = new AbortController();
    const given = call(
      inside,
      'ask',
      { question: 'q' },
      { onprogress: (each) => void heard.push(each as (typeof heard)[number]), signal: stop.signal },
    );
    await fact(inside.world, 'model.asked');
    await ticks(inside, 1);
    const before = heard.length;
    await ticks(inside, 60);
    expect(heard.slice(before).map(({ message }) => message)).toEqual(Array(3).fill('1 run is still running'));
    for (const [index, { progress }] of heard.entries()) expect(progress).toBeGreaterThan(heard[index - 1]?.progress ?? 0);
    stop.abort(new Error('stop'));
    await expect(given).rejects.toThrow();
    await fact(inside.world, 'child.ended');
    await ticks(inside, 1);
    const after = heard.length;
    await ticks(inside, 60);
    expect(heard).toHaveLength(after);
  });
});

describe('the end of the client', () => {
  it('ends what it delegated, with that as the cause, and leaves no slot and no timer', async () => {
    await using inside = await startInside({ script: answering({ hang: 'start' }) });
    const given = call(inside, 'ask', { question: 'q' });
    await fact(inside.world, 'model.asked');
    const left = given.catch((error: Error) => error.message);
    await inside.connection.close();
    expect(await left).toMatch(/closed/i);
    const ended = inside.world.facts.filter((each) => each.type === 'run.ended').map((each) => each.data.outcome);
    expect(ended.map(({ status, terminated }) => [status, terminated])).toEqual([
      ['cancelled', 'client_gone'],
      ['completed', null],
    ]);
    expect(inside.world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });

  it('a root that somebody cancelled from elsewhere is replaced at the next delegation', async () => {
    await using inside = await startInside({ script: answering({ text: 'yes' }) });
    await call(inside, 'ask', { question: 'q' });
    const clientRuns = () =>
      inside.world.facts.flatMap((each) => (each.type === 'run.created' && each.data.kind === 'client' ? [each.runId] : []));
    expect(clientRuns()).toHaveLength(1);
    await inside.world.runtime.live(clientRuns()[0] as string)?.cancel('enough');
    await fact(inside.world, 'run.ended', 2);
    expect((await call(inside, 'ask', { question: 'q' })).structuredContent).toMatchObject({ ok: true });
    expect(new Set(clientRuns()).size).toBe(2);
  });
});
