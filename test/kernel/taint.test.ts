// Untrusted sources are recorded with a result and passed up with a child's report.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { loadState } from '../../src/kernel/recovery/history.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createWorld } from '../support/world.ts';

const page: AnyTool = {
  name: 'page',
  description: 'A page.',
  input: z.strictObject({}),
  readOnly: true,
  idempotent: true,
  subjects: () => [],
  execute: async () => ({ output: 'hello', taint: ['web'] }),
};

/** With all tools. */
const all = { name: 'all', description: 'Does all.', source: 'test', prompt: 'Do it.' };

const call = (tool: string, args: object = {}) => ({ calls: [{ tool, args }] });
const delegate = (label: string, more: object = {}) => call('delegate', { tasks: [{ task: `do ${label}`, label, agent: 'all' }], ...more });

it('a delegate result carries what its child has read, and what its grandchild has read', async () => {
  const runs = [
    { when: { label: 'leaf' }, steps: [call('page'), call('read', { path: 'f' }), { text: 'leaf done' }] },
    { when: { label: 'middle' }, steps: [delegate('leaf'), { text: 'middle done' }] },
    { steps: [delegate('middle'), { text: 'done' }] },
  ];
  await using world = await createWorld({ script: { runs }, agents: [all], limits: { maxDepth: 2 }, tools: [page], files: { f: 'text' } });
  await (await world.runtime.start({ task: 'root', agent: 'all' })).outcome;
  const finished = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data.taint] : []));
  const everything = ['child', 'untrusted-file', 'web'];
  expect(finished).toEqual([['web'], ['untrusted-file'], everything, everything]);
  const ended = world.facts.flatMap((fact) => (fact.type === 'child.ended' ? [fact.data.taint] : []));
  expect(ended).toEqual([['untrusted-file', 'web'], everything]);
});

it('the taint of a background child is a fact of its parent, and still there after a resume', async () => {
  const runs = [
    { when: { label: 'leaf' }, steps: [call('page'), { text: 'leaf done' }] },
    {
      steps: [
        delegate('leaf', { wait_seconds: 0 }),
        call('delegate_wait'),
        call('delegate_read', { id: '{{run:1}}', part: 'log' }),
        { text: 'done' },
      ],
    },
  ];
  await using world = await createWorld({ script: { runs }, agents: [all], limits: { maxDepth: 2 }, tools: [page] });
  const root = await world.runtime.start({ task: 'root', agent: 'all' });
  await root.outcome;
  const state = await loadState(root.id, world.store);
  expect([...state.children.values()].map(({ taint }) => taint)).toEqual([['web']]);
  expect([...state.taint].sort()).toEqual(['child', 'web']);
  const read = world.facts.findLast((fact) => fact.type === 'tool.finished' && fact.runId === root.id);
  expect(read?.data).toMatchObject({ taint: ['child', 'web'] });
});

it('a run that continues another inherits its taint', async () => {
  const runs = [
    { when: { task: 'first' }, steps: [call('page'), { text: 'done' }] },
    { when: { task: 'and' }, steps: [{ text: 'done' }] },
  ];
  await using world = await createWorld({ script: { runs }, agents: [all], tools: [page] });
  const { id, outcome } = await world.runtime.start({ task: 'first', agent: 'all' });
  await outcome;
  const next = await world.runtime.start({ task: 'and', agent: 'all', continues: id });
  await next.outcome;
  expect([...(await loadState(next.id, world.store)).taint]).toEqual(['web']);
});
