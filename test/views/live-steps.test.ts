// The steps of a real flow as rows of its tree, and as items of its conversation.
import { expect, it } from 'vitest';
import { defineFlow } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { applyToConversation, type CallItem, createConversation } from '../../src/views/conversation.ts';
import { applyEvent, createLiveState } from '../../src/views/live-state.ts';
import { listRows } from '../../src/views/tree-rows.ts';
import { anyModel } from '../flows/support.ts';

const flow = defineFlow('everything', null, async (flow) => {
  flow.log('begin');
  await flow.step('first', () => 1);
  await flow.delegate({ task: 'x', label: 'child' });
  await flow.step('break', () => Promise.reject(new Error('no network'))).catch(() => null);
  await flow.ask('Go on?', { timeoutMs: 1 });
  await flow.delegate({ task: 'x', label: 'nobody', agent: 'none' }).catch(() => null);
  return 'done';
});

it('shows every step of a flow with its name and state, delegations as their runs', async () => {
  await using retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: createMemoryStore() });
  const run = await retinue.flow(flow, null);
  await run.outcome;
  const state = createLiveState();
  const conversation = createConversation();
  const seen: string[][] = [];
  const rows = (filter = '', folded: string[] = []) =>
    listRows({ state, undriven: new Set(), unloaded: new Set() }, { folded: new Set(folded), filter, showEnded: true });
  for (const fact of await retinue.api.logs(run.id, { tree: true })) {
    if (!('data' in fact)) continue;
    applyEvent(state, fact);
    if (fact.runId === run.id) applyToConversation(conversation, fact);
    seen.push(rows().map((row) => `${row.run.name} ${row.status}`));
  }
  expect(rows().map(({ run: row, status, depth, opens }) => [depth, row.agent, row.name, status, opens === run.id])).toEqual([
    [0, null, 'everything', 'completed', true],
    [1, 'step', 'first', 'completed', true],
    [1, 'general', 'child', 'completed', false],
    [1, 'step', 'break', 'failed', true],
    [1, 'ask', 'Go on?', 'failed', true],
    [1, 'delegate', 'nobody', 'failed', true],
  ]);
  expect(seen).toContainEqual(['everything running', 'first running']);
  expect(seen.some((names) => names.includes('Go on? waiting'))).toBe(true);
  // Ids of rows are unique, and a filter and a fold count steps.
  expect(new Set(rows().map(({ run: row }) => row.id)).size).toBe(6);
  expect(rows('break').map(({ run: row }) => row.name)).toEqual(['everything', 'break']);
  expect(rows('', [run.id])).toMatchObject([{ hidden: 5, fold: 'folded' }]);
  const calls = conversation.items.filter((item): item is CallItem => item.kind === 'call');
  expect(calls.map(({ tool, status, output, children }) => [tool, status, output, children.length])).toEqual([
    ['step', 'ok', '1', 0],
    ['delegate', 'ok', '', 1],
    ['step', 'error', 'Error: no network', 0],
    ['ask', 'denied', expect.stringContaining('no answer in time'), 0],
    ['delegate', 'error', expect.stringContaining('unknown agent'), 0],
  ]);
  expect(conversation.items[0]).toMatchObject({ kind: 'log', text: 'begin' });
});
