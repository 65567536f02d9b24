// What a run has read is part of its facts: a change by somebody else is noticed after a resume and in a follow-up, and what was read may be edited.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createWorld, type World } from '../support/world.ts';

const read = { tool: 'read', args: { path: 'plan.md' } };
const edit = { tool: 'edit', args: { path: 'plan.md', old: 'one', new: 'two' } };
const results = (world: World) =>
  (world.facts.filter((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>[]).map(({ data }) => data);

/** A run that reads a file, is interrupted and goes on in another process, where it edits the file. */
async function resumeAfter(change: (path: string) => void) {
  const store = createMemoryStore();
  const steps = [{ calls: [read] }, { hang: 'start' }];
  const first = await createWorld({
    store: { ...store, close: async () => {} },
    files: { 'plan.md': 'one\n' },
    script: { runs: [{ steps }] },
    excuses: { ended: 'interrupted', told: 'interrupted' },
  });
  const { id } = await first.runtime.start({ task: 'x' });
  await expect.poll(() => first.types().filter((type) => type === 'model.asked').length).toBe(2);
  await first.runtime.drain('the machine restarts');
  await first.runtime.close();
  const path = join(first.workspace, 'plan.md');
  change(path);
  await using second = await createWorld({
    store,
    script: { runs: [{ steps: [{ calls: [read] }, { calls: [edit] }, { text: 'done' }] }] },
    settings: { workspace: first.workspace },
  });
  const resumed = await second.runtime.resume(id, 'a test');
  if (!resumed.ok) throw new Error('not resumed');
  await resumed.handles[0]?.outcome;
  return { result: results(second)[0], text: readFileSync(path, 'utf8') };
}

describe('a run that was resumed', () => {
  it('may edit a file that it read before', async () => {
    const { result, text } = await resumeAfter(() => {});
    expect(result?.status).toBe('ok');
    expect(text).toBe('two\n');
  });

  it('does not overwrite what somebody changed in the meantime', async () => {
    const { result, text } = await resumeAfter((path) => writeFileSync(path, 'one, as I want it\n'));
    expect(result).toMatchObject({ status: 'error', output: expect.stringContaining('changed since you read it') });
    expect(text).toBe('one, as I want it\n');
  });
});

describe('a follow-up', () => {
  it.each([
    ['may edit a file that the run before it has read', 'one\n', 'ok'],
    ['does not overwrite what somebody changed in the meantime', 'one!\n', 'error'],
  ])('%s', async (_, text, status) => {
    await using world = await createWorld({
      files: { 'plan.md': 'one\n' },
      script: {
        runs: [
          { when: { task: 'look' }, steps: [{ calls: [read] }, { text: 'read' }] },
          { when: { task: 'change' }, steps: [{ calls: [edit] }, { text: 'done' }] },
        ],
      },
    });
    const { id, outcome } = await world.runtime.start({ task: 'look' });
    await outcome;
    writeFileSync(join(world.workspace, 'plan.md'), text);
    await (await world.runtime.start({ task: 'change', continues: id })).outcome;
    expect(results(world)[1]?.status).toBe(status);
    expect(readFileSync(join(world.workspace, 'plan.md'), 'utf8')).toBe(status === 'ok' ? 'two\n' : text);
    const started = world.facts.findLast((fact) => fact.type === 'run.started') as FactOf<'run.started'>;
    expect(started.data.memo).toEqual({ 'read:plan.md': expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(started.v).toBe(3);
  });
});
