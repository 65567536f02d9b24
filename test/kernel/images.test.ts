// Images that come with a brief are part of every request, of a replay, of a follow-up and of an export, and go with the tree when it is erased.
import { describe, expect, it } from 'vitest';
import { eraseTrees } from '../../src/records/erase.ts';
import { exportTree } from '../../src/records/export-tree.ts';
import { verifyTrees } from '../../src/records/verify.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { sha256 } from '../../src/text/canonical.ts';
import { createWorld } from '../support/world.ts';

const data = Buffer.from('the bytes of an image').toString('base64');
const image = { mediaType: 'image/png' as const, data };
const script = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'seen' }] }] };

describe('an image of a brief', () => {
  it('is recorded as a blob, and its facts verify, replay and export with it', async () => {
    await using world = await createWorld({ script });
    const { runtime, store, facts } = world;
    const run = await runtime.start({ task: 'what is this?' }, { images: [image, image] });
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    const created = facts.find((fact) => fact.type === 'run.created');
    const stored = { blob: sha256(data), mediaType: 'image/png' };
    expect([created?.v, created?.data.images]).toEqual([5, [stored, stored]]);
    expect(JSON.stringify(created)).not.toContain(data);
    const started = facts.find((fact) => fact.type === 'run.started');
    const history = JSON.parse((await store.blob(started?.data.history as string)) as string);
    const part = { data: { data, type: 'data' }, mediaType: 'image/png', type: 'file' };
    expect(history).toEqual([{ content: [part, part], role: 'user' }]);
    expect(await verifyTrees(undefined, store, { pause: async () => {} })).toMatchObject({ trees: 1, broken: [], faults: [] });
    const lines: unknown[] = [];
    for await (const line of (await exportTree(run.id, { live: false }, store)).lines) lines.push(line);
    expect(lines).toContainEqual({ blob: sha256(data), text: data });
  });

  it('is a part of the conversation that a follow-up continues', async () => {
    await using world = await createWorld({ script });
    const { runtime, store } = world;
    const first = await runtime.start({ task: 'what is this?' }, { images: [image] });
    await first.outcome;
    const second = await runtime.start({ task: 'and now?', continues: first.id });
    await second.outcome;
    const [started] = await store.facts({ runId: second.id, types: ['run.started'] });
    const history = JSON.parse((await store.blob(started?.type === 'run.started' ? (started.data.history ?? '') : '')) as string);
    expect(history[0].content[0].data.data).toBe(data);
  });

  it('is available to a process that starts the run of a dead one', async () => {
    const store = createMemoryStore();
    const blocked = { when: { task: 'wait' }, times: 'any', steps: [{ delayMs: 3_600_000, text: 'late' }] };
    const options = { script: { runs: [blocked, ...script.runs] }, store };
    const first = await createWorld({ ...options, options: { slots: 1 } });
    await first.runtime.start({ task: 'wait' });
    const run = await first.runtime.start({ task: 'what is this?' }, { images: [image] });
    expect(first.types(run.id)).toEqual(['run.created']);
    await store.release(first.runtime.owner);
    await using second = await createWorld({
      ...options,
      store: { ...store, close: async () => {} },
      settings: { workspace: first.workspace },
      excuses: { ended: 'the other run still waits', told: 'the other run still waits' },
    });
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok ? resumed.handles[0] : null)?.outcome).toMatchObject({ status: 'completed', error: null });
    const started = second.facts.find((fact) => fact.type === 'run.started');
    expect(await store.blob(started?.data.history as string)).toContain(data);
    await first.runtime.close();
  });

  it('is erased with its tree', async () => {
    await using world = await createWorld({ script, excuses: { chain: 'it is erased' } });
    const { runtime, store } = world;
    const run = await runtime.start({ task: 'what is this?' }, { images: [image] });
    await run.outcome;
    await eraseTrees([run.id], { store, forget: undefined, now: () => '2026-11-17T00:00:00.000Z' });
    expect(await store.blob(sha256(data))).toBeNull();
  });

  it.each([
    ['a type that models do not read', [{ mediaType: 'image/svg+xml', data }], 'image 1: must be image/png'],
    ['text that is not base64', [image, { mediaType: 'image/png', data: '<svg>' }], 'image 2: is not base64'],
    ['too many bytes', [{ mediaType: 'image/png', data: 'A'.repeat(5_242_884) }], 'image 1: is larger'],
    ['too many images', Array.from({ length: 21 }, () => image), 'the images: at most 20'],
    ['too much together', Array.from({ length: 3 }, () => ({ ...image, data: 'A'.repeat(5_242_880) })), 'the images: together'],
  ])('with %s is refused before anything is recorded', async (_, images, message) => {
    await using world = await createWorld({ script });
    const { runtime, store } = world;
    await expect(runtime.start({ task: 'x' }, { images: images as never })).rejects.toMatchObject({
      code: 'invalid_brief',
      message: expect.stringContaining(message),
    });
    expect(await store.runs({})).toEqual([]);
  });
});
