// The files of runs: facts, takeover and end, with real git behind the port.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact, FactOf, FactType } from '../../src/contract/fact.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createWorld, type WorldOptions } from '../support/world.ts';
import { createSandbox, openCheckouts, type Sandbox } from '../workspaces/support.ts';

const call = (tool: string, args: object) => ({ calls: [{ tool, args }] });
const writeFile = (path: string, content: string) => call('write', { path, content });

function open(sandbox: Sandbox, steps: object[], more: WorldOptions = {}) {
  const { options, ...rest } = more;
  return createWorld({ script: { runs: [{ steps }] }, options: { checkouts: openCheckouts(sandbox), ...options }, ...rest });
}

function find<T extends FactType>(facts: Fact[], type: T): FactOf<T>[] {
  return facts.filter((fact) => fact.type === type) as FactOf<T>[];
}

describe('a run with a repository', () => {
  it('records the commit before it starts, and its changes with its end', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const commit = sandbox.git('origin', 'rev-parse', 'HEAD');
    await using world = await open(sandbox, [writeFile('b.txt', 'two\n'), { text: 'done' }]);
    const run = await world.runtime.start({ task: 'x', repository: { path } });
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ status: 'completed' });
    expect(outcome.artifacts.at(-1)).toMatchObject({ kind: 'diff', title: 'patch', value: 'b.txt +1 -0' });
    const types = world.types(run.id);
    expect(types.slice(0, 3)).toEqual(['run.created', 'workspace.prepared', 'run.started']);
    expect(types.slice(-2)).toEqual(['workspace.saved', 'run.ended']);
    const [prepared] = find(world.facts, 'workspace.prepared');
    expect(prepared?.data).toMatchObject({ commit, kind: 'checkout', repository: { path } });
    const [saved] = find(world.facts, 'workspace.saved');
    const patch = await world.store.blob(saved?.data.patch as string);
    expect(Buffer.from(patch as Uint8Array).toString('utf8')).toContain('+++ b/b.txt\n@@ -0,0 +1 @@\n+two\n');
    expect(existsSync(prepared?.data.path as string)).toBe(false);
    expect(existsSync(join(world.workspace, 'b.txt'))).toBe(false);
  });

  it('leaves nothing if it changes nothing', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    await using world = await open(sandbox, [call('read', { path: 'a.txt' }), { text: 'done' }]);
    const outcome = await (await world.runtime.start({ task: 'x', repository: { path } })).outcome;
    expect(outcome.artifacts).toEqual([]);
    expect(find(world.facts, 'tool.finished')[0]?.data.output).toContain('one');
    expect(find(world.facts, 'workspace.saved')[0]?.data).toEqual({ changes: null, files: 0, notices: [], patch: null });
  });

  it('fails with a sentence if there is no such repository', async () => {
    using sandbox = createSandbox();
    await using world = await open(sandbox, [{ text: 'never' }]);
    const outcome = await (await world.runtime.start({ task: 'x', repository: { path: join(sandbox.folder, 'no') } })).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'workspace', message: expect.stringContaining('does not exist') } });
  });

  it('is the only run of its tree that may name one', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', {});
    await using world = await open(sandbox, [{ text: 'done' }]);
    await expect(world.runtime.start({ task: 'x', repository: { path }, workspace: '/x' })).rejects.toMatchObject({
      code: 'invalid_brief',
    });
    await expect(world.runtime.start({ task: 'x', workspace: '/x' })).rejects.toMatchObject({
      code: 'invalid_brief',
      message: expect.stringContaining('start another one in that folder'),
    });
  });

  it('is refused where there are no checkouts', async () => {
    await using world = await createWorld();
    await expect(world.runtime.start({ task: 'x', repository: { path: '/x' } })).rejects.toMatchObject({ code: 'workspace' });
    await expect(world.runtime.start({ task: 'x', isolation: 'worktree' })).rejects.toMatchObject({ code: 'workspace' });
  });

  it('shares its files with its children', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const script = {
      runs: [
        {
          when: { task: 'x' },
          steps: [call('delegate', { tasks: [{ task: 'write it' }] }), call('read', { path: 'c.txt' }), { text: 'done' }],
        },
        { when: { task: 'write it' }, steps: [writeFile('c.txt', 'child\n'), { text: 'written' }] },
      ],
    };
    await using world = await open(sandbox, [], { script });
    const run = await world.runtime.start({ task: 'x', repository: { path } });
    await run.outcome;
    expect(find(world.facts, 'workspace.prepared')).toHaveLength(1);
    expect(find(world.facts, 'workspace.saved')[0]?.data.files).toBe(1);
    expect(
      find(world.facts, 'tool.finished')
        .filter((fact) => fact.runId === run.id)
        .at(-1)?.data.output,
    ).toContain('child');
  });
});

describe('a worker', () => {
  const worker = (sandbox: Sandbox, root: string, steps: object[], more: WorldOptions = {}) =>
    open(sandbox, steps, {
      ...more,
      options: { checkouts: openCheckouts(sandbox, { root: join(sandbox.folder, root), placesRoots: true, shared: [sandbox.folder] }) },
    });

  it('continues on another machine with what was saved when the tree was handed back', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const memory = createMemoryData();
    const excuses = { ended: 'another worker continues it' };
    const before = [writeFile('b.txt', 'half\n'), { hang: 'start' }];
    await using first = await worker(sandbox, 'one', before, { store: createMemoryStore({ memory }), excuses });
    const run = await first.runtime.start({ task: 'x', repository: { path } });
    await expect.poll(() => first.types(run.id).filter((type) => type === 'model.asked').length).toBe(2);
    await first.runtime.handBack(run.id, 'drained');
    expect(first.types(run.id).slice(-2)).toEqual(['workspace.saved', 'run.paused']);
    const from = find(first.facts, 'workspace.prepared')[0]?.data;
    const after = [before[0] as object, call('read', { path: 'b.txt' }), { text: 'done' }];
    const store = createMemoryStore({ memory });
    await using second = await worker(sandbox, 'two', after, { store, settings: { workspace: first.workspace } });
    const resumed = await second.runtime.resume(run.id, 'worker two');
    if (!resumed.ok) throw new Error('not resumed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    const to = find(second.facts, 'workspace.prepared')[0]?.data;
    expect(to).toMatchObject({ commit: from?.commit, base: from?.base });
    expect(to?.path).not.toBe(from?.path);
    const message = find(second.facts, 'message.received')[0]?.data;
    expect(message).toMatchObject({ from: 'the runtime', text: expect.stringContaining(to?.path ?? '-') });
    expect(message?.text).not.toContain('lost');
    expect(find(second.facts, 'tool.finished').at(-1)?.data.output).toContain('half');
    expect(find(second.facts, 'workspace.saved').at(-1)?.data.files).toBe(1);
  });

  it('tells the model what is lost if another machine takes the tree over', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const memory = createMemoryData();
    const before = [writeFile('b.txt', 'half\n'), { hang: 'start' }];
    const first = await worker(sandbox, 'one', before, { store: createMemoryStore({ memory }) });
    const run = await first.runtime.start({ task: 'x', repository: { path } });
    await expect.poll(() => first.types(run.id).filter((type) => type === 'model.asked').length).toBe(2);
    await first.store.release(first.runtime.owner);
    // The interrupted model call is repeated as it was; the message comes with the next one.
    const after = [before[0] as object, call('read', { path: 'b.txt' }), { expect: { prompt: 'are lost' }, text: 'done' }];
    const options = { store: createMemoryStore({ memory }), settings: { workspace: first.workspace } };
    await using second = await worker(sandbox, 'two', after, options);
    const resumed = await second.runtime.resume(run.id, 'worker two');
    if (!resumed.ok) throw new Error('not resumed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    expect(find(second.facts, 'workspace.saved').at(-1)?.data.files).toBe(0);
    rmSync(first.workspace, { recursive: true });
  });

  it('keeps the files if the same machine takes the tree over', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const memory = createMemoryData();
    const before = [writeFile('b.txt', 'half\n'), { hang: 'start' }];
    const first = await worker(sandbox, 'one', before, { store: createMemoryStore({ memory }) });
    const run = await first.runtime.start({ task: 'x', repository: { path } });
    await expect.poll(() => first.types(run.id).filter((type) => type === 'model.asked').length).toBe(2);
    await first.store.release(first.runtime.owner);
    const after = [before[0] as object, { text: 'done' }];
    const options = { store: createMemoryStore({ memory }), settings: { workspace: first.workspace } };
    await using second = await worker(sandbox, 'one', after, options);
    const resumed = await second.runtime.resume(run.id, 'worker two');
    if (!resumed.ok) throw new Error('not resumed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    expect(second.types(run.id)).not.toContain('message.received');
    expect(find(second.facts, 'workspace.saved').at(-1)?.data.files).toBe(1);
    rmSync(first.workspace, { recursive: true });
  });

  it('gives a tree without tools for files an empty folder, and refuses others', async () => {
    using sandbox = createSandbox();
    await using world = await worker(sandbox, 'one', [{ text: 'done' }]);
    const free = await world.runtime.start({ task: 'x', tools: { allow: [] } });
    expect(await free.outcome).toMatchObject({ status: 'completed' });
    expect(find(world.facts, 'workspace.prepared')[0]?.data.kind).toBe('empty');
    const refused = await (await world.runtime.start({ task: 'x' })).outcome;
    expect(refused).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_brief', message: expect.stringContaining('name a `repository`') },
    });
  });
});

describe('a parent with children in worktrees', () => {
  const lines = (...changed: [number, string][]) =>
    Array.from({ length: 12 }, (_, n) => `${changed.find(([at]) => at === n)?.[1] ?? n}\n`).join('');
  const child = (label: string, ...steps: object[]) => ({ when: { label }, steps: [...steps, { text: `${label} done` }] });
  const task = (label: string) => ({ task: label, label, isolation: 'worktree' });
  const children = [
    child('one', call('read', { path: 'a.txt' }), writeFile('a.txt', lines([1, 'ONE']))),
    child('two', call('read', { path: 'a.txt' }), writeFile('a.txt', lines([9, 'TWO']))),
    child('three', call('read', { path: 'a.txt' }), writeFile('a.txt', lines([1, 'THREE']))),
  ];
  const delegate = call('delegate', { tasks: [task('one'), task('two'), task('three')] });
  // The ids of a test are counted.
  const ids = ['0000000000000002', '0000000000000003', '0000000000000004'];

  it('merges the good ones and is told the conflict', async () => {
    using sandbox = createSandbox();
    const own = { expect: { prompt: 'delegate_apply to take them over' }, ...call('delegate_apply', { ids, check: true }) };
    const steps = [
      call('read', { path: 'a.txt' }),
      delegate,
      own,
      { expect: { prompt: 'would apply · 2 runs · 1 file' }, ...call('delegate_apply', { ids }) },
      { expect: { prompt: `[run ${ids[2]} · conflict · not applied]` }, ...call('read', { path: 'a.txt' }) },
      { text: 'merged' },
    ];
    await using world = await open(sandbox, [], { script: { runs: [...children, { steps }] }, files: { 'a.txt': lines() } });
    const run = await world.runtime.start({ task: 'x' });
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    expect(readFileSync(join(world.workspace, 'a.txt'), 'utf8')).toBe(lines([1, 'ONE'], [9, 'TWO']));
    expect(world.types(run.id).filter((type) => type.startsWith('changes.'))).toEqual(['changes.planned', 'changes.made']);
  });

  it('may apply only its own children, and only what its rules let it pass on', async () => {
    using sandbox = createSandbox();
    const steps = [
      call('delegate', { tasks: [task('one')] }),
      call('delegate_apply', { ids: ['ffffffffffffffff'] }),
      { expect: { prompt: 'is none of your delegated runs' }, ...call('delegate_apply', { ids: [ids[0]] }) },
      { expect: { prompt: 'may not be written' }, text: 'done' },
    ];
    const files = { 'a.txt': lines() };
    await using world = await open(sandbox, [], { script: { runs: [children[0] as object, { steps }] }, files });
    const run = await world.runtime.start({ task: 'x' });
    // The rule comes after the child has written in its own copy.
    await expect.poll(() => world.types(run.id).includes('child.ended'), { interval: 1 }).toBe(true);
    await run.send('careful', 'the user', ['deny write:a.txt']);
    await run.outcome;
    expect(readFileSync(join(world.workspace, 'a.txt'), 'utf8')).toBe(lines());
  });
});
