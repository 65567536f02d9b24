// The server with a user-defined dialect: structured content, unreported ends, progress, and disconnecting.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { native } from '../../src/dialects/native.ts';
import type { World } from '../support/world.ts';
import { readTexts } from './support.ts';
import { type InProcessServer, startInProcess } from './support-in-process.ts';

const createScript = (...steps: object[]) => ({ runs: [{ times: 'any', steps }] });

async function call({ client }: Pick<InProcessServer, 'client'>, name: string, args: Record<string, unknown>, options: CallOptions = {}) {
  return (await client.callTool({ name, arguments: args }, undefined, options)) as CallToolResult;
}
type CallOptions = NonNullable<Parameters<Client['callTool']>[2]>;

/** The part of the call's name that all calls of one session share. */
function sessionOf(result: CallToolResult): string {
  return String((result.structuredContent as { calls: string }).calls).split('/')[0] as string;
}

/** Resolves when there are `count` facts of this type. */
function waitForFact({ facts, runtime }: Pick<World, 'facts' | 'runtime'>, type: string, count = 1): Promise<void> {
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
    await using inside = await startInProcess();
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

  it('returns structured content and its JSON as the only text block; each call has its own name', async () => {
    await using inside = await startInProcess({ script: createScript({ text: 'forty\u0007-two' }) });
    await inside.client.listTools();
    const [first, second] = [await call(inside, 'ask', { question: 'what?' }), await call(inside, 'ask', { question: 'what?' })];
    const session = sessionOf(first);
    expect(session).toMatch(/^[0-9a-f]{16}$/);
    expect(first.structuredContent).toEqual({ ok: true, answer: 'forty-two', calls: `${session}/1` });
    expect(readTexts(first)).toEqual([JSON.stringify(first.structuredContent)]);
    expect(second.structuredContent).toMatchObject({ calls: `${session}/2` });
    expect(readTexts(await call(inside, 'hello', {}))).toEqual(['open:\n0']);
  });

  it('waits as long as the child runs; an outcome after a timeout is reported in full, once', async () => {
    await using inside = await startInProcess({ script: createScript({ delayMs: 300, text: `the answer ${'y'.repeat(50)}` }) });
    await expect(call(inside, 'ask', { question: 'slowly' }, { timeout: 20 })).rejects.toThrow(/timed out/i);
    await waitForFact(inside.world, 'child.ended');
    const next = readTexts(await call(inside, 'hello', {}));
    expect(next).toEqual([
      'open:\n0',
      expect.stringMatching(
        /^Delegated runs that have ended in the meantime:\n\[run [0-9a-f]{16} · completed · 1 turn · "slowly"\]\nthe answer y{50}$/,
      ),
    ]);
    expect(readTexts(await call(inside, 'hello', {}))).toEqual(['open:\n0']);
  });

  it('reports only what fits, and the rest with the next result', async () => {
    await using inside = await startInProcess({ script: createScript({ text: 'z'.repeat(12_000) }) });
    for (const question of ['a', 'b']) await call(inside, 'ask', { question, background: true });
    await waitForFact(inside.world, 'child.ended', 2);
    const sizes = [];
    for (let n = 0; n < 3; n++) sizes.push(readTexts(await call(inside, 'hello', {})).map((text) => text.includes('z'.repeat(12_000))));
    expect(sizes).toEqual([[false, true], [false, true], [false]]);
  });
});

/** Fires the timers `count` times and lets their notifications arrive. */
async function runTicks({ tick }: InProcessServer, count: number): Promise<void> {
  for (let n = 0; n < count; n++) tick();
  await new Promise((done) => setImmediate(done));
}

describe('progress', () => {
  it('sends a keep-alive every 10 s while a call waits, and none afterwards', async () => {
    await using inside = await startInProcess({ script: createScript({ hang: 'start' }) });
    const heard: { progress: number; message?: string }[] = [];
    const stop = new AbortController();
    const given = call(
      inside,
      'ask',
      { question: 'q' },
      { onprogress: (each) => void heard.push(each as (typeof heard)[number]), signal: stop.signal },
    );
    await waitForFact(inside.world, 'model.asked');
    await runTicks(inside, 1);
    const before = heard.length;
    await runTicks(inside, 60);
    expect(heard.slice(before).map(({ message }) => message)).toEqual(Array(3).fill('1 run is still running'));
    for (const [index, { progress }] of heard.entries()) expect(progress).toBeGreaterThan(heard[index - 1]?.progress ?? 0);
    stop.abort(new Error('stop'));
    await expect(given).rejects.toThrow();
    await waitForFact(inside.world, 'child.ended');
    await runTicks(inside, 1);
    const after = heard.length;
    await runTicks(inside, 60);
    expect(heard).toHaveLength(after);
  });

  it('counts only runs that have not ended', async () => {
    const runs = [
      { when: { task: 'quick' }, steps: [{ text: 'done' }] },
      { when: { task: 'slow' }, times: 2, steps: [{ hang: 'start' }] },
    ];
    await using inside = await startInProcess({ script: { runs } }, native);
    const heard: (string | undefined)[] = [];
    const stop = new AbortController();
    const listen = { onprogress: ({ message }: { message?: string | undefined }) => void heard.push(message), signal: stop.signal };
    const delegated = call(inside, 'delegate', { tasks: [{ task: 'quick' }, { task: 'slow' }, { task: 'slow' }] }, listen);
    await waitForFact(inside.world, 'child.ended');
    await waitForFact(inside.world, 'model.asked', 3);
    await runTicks(inside, 30);
    expect(heard.at(-1)).toBe('2 runs are still running');
    const ids = inside.world.facts.flatMap((each) => (each.type === 'run.created' && each.data.parentId !== null ? [each.runId] : []));
    const waited = call(inside, 'delegate_wait', { ids }, listen);
    await runTicks(inside, 30);
    expect(heard.slice(-2)).toEqual(['2 runs are still running', '2 runs are still running']);
    stop.abort(new Error('stop'));
    await Promise.allSettled([delegated, waited]);
    await waitForFact(inside.world, 'child.ended', 3);
  });
});

describe('when the client disconnects', () => {
  it('its runs end with that cause, and no slot or timer is left', async () => {
    await using inside = await startInProcess({ script: createScript({ hang: 'start' }) });
    const given = call(inside, 'ask', { question: 'q' });
    await waitForFact(inside.world, 'model.asked');
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

  it('a client run that was cancelled from elsewhere is replaced at the next delegation', async () => {
    await using inside = await startInProcess({ script: createScript({ text: 'yes' }) });
    await call(inside, 'ask', { question: 'q' });
    const clientRuns = () =>
      inside.world.facts.flatMap((each) => (each.type === 'run.created' && each.data.kind === 'client' ? [each.runId] : []));
    expect(clientRuns()).toHaveLength(1);
    await inside.world.runtime.findLiveRun(clientRuns()[0] as string)?.cancel('enough');
    await waitForFact(inside.world, 'run.ended', 2);
    expect((await call(inside, 'ask', { question: 'q' })).structuredContent).toMatchObject({ ok: true });
    expect(new Set(clientRuns()).size).toBe(2);
  });
});
