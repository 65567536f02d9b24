// `flow.apply`: the changes of children become part of the workspace, and the record of it is part of the flow.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineFlow } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { checkInvariants, scriptedModel } from '../../src/main/testing.ts';
import { createDyingStore } from '../support/dying-store.ts';

const model = () =>
  scriptedModel({
    runs: ['a', 'b'].map((label) => ({
      when: { label },
      steps: [{ calls: [{ tool: 'write', args: { path: `${label}.txt`, content: `new ${label}\n` } }] }, { text: 'done' }],
    })),
  });

const flow = defineFlow('merge', null, async (flow) => {
  const writers = ['a', 'b'].map((label) => flow.delegate({ task: `write ${label}.txt`, label, isolation: 'worktree' }));
  const outcomes = await flow.all(writers);
  // At the same time: they must not disturb each other.
  const reports = await flow.all(outcomes.map((outcome) => flow.apply([outcome])));
  return { merged: reports.map(({ applied }) => applied.length), workspace: flow.workspace };
});

function createWorkspace(): Disposable & { folder: string; read(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-apply-'));
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(folder, name), 'old\n');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { folder, read, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

it('makes no second tree', async () => {
  using workspace = createWorkspace();
  const store = createMemoryStore();
  const retinue = createRetinue({ model: model(), workspace: workspace.folder, store: { ...store, close: async () => {} } });
  const run = await retinue.flow(flow, null);
  expect(await run.outcome).toMatchObject({ status: 'completed', data: { merged: [1, 1], workspace: workspace.folder } });
  expect([workspace.read('a.txt'), workspace.read('b.txt')]).toEqual(['new a\n', 'new b\n']);
  const runs = await retinue.api.ps({ all: true });
  expect(runs.map(({ rootId, kind }) => [rootId, kind])).toEqual(['agent', 'agent', 'flow'].map((kind) => [run.id, kind]));
  const types = (await retinue.api.logs(run.id)).map(({ type }) => type).filter((type) => type.startsWith('changes.'));
  expect(types).toEqual(['changes.planned', 'changes.made', 'changes.planned', 'changes.made']);
  expect(await retinue.api.undo([run.id], { check: false })).toMatchObject({ files: expect.arrayContaining(['a.txt', 'b.txt']), left: [] });
  expect(workspace.read('a.txt')).toBe('old\n');
  await retinue.close();
  expect(await checkInvariants(store)).toEqual([]);
}, 60_000);

it('carries out a plan that its process recorded before it died', async () => {
  using workspace = createWorkspace();
  const store = createMemoryStore();
  const dying = createDyingStore(store, 1000, { after: 'changes.planned' });
  const first = createRetinue({ model: model(), workspace: workspace.folder, store: dying.store });
  const run = await first.flow(flow, null);
  await dying.died;
  await dying.bury();
  expect(workspace.read('a.txt')).toBe('old\n');
  const second = createRetinue({
    model: model(),
    workspace: workspace.folder,
    store: { ...store, close: async () => {} },
    flows: [flow],
  });
  const [handle] = await second.api.resume(run.id);
  expect(await handle?.outcome).toMatchObject({ status: 'completed', data: { merged: [1, 1] } });
  expect([workspace.read('a.txt'), workspace.read('b.txt')]).toEqual(['new a\n', 'new b\n']);
  await second.close();
  expect(await checkInvariants(store)).toEqual([]);
}, 60_000);
