import { describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../../src/api/api.ts';
import { renderTree } from '../../../src/cli/progress/render-tree.ts';
import { applyEvent, createLiveState } from '../../../src/views/live-state.ts';
import { cutToWidth, textWidth } from '../../../src/views/width.ts';
import { at, childId, created, fact, outcome, rootId } from '../samples.ts';

const usage = { input: 1000, output: 234, cached: 0, reasoning: 0, estimated: false };
const allow = { action: 'allow' as const, rule: null, owner: 'built-in' };
const hash = 'a'.repeat(64);
const started = (runId?: string) =>
  fact(
    'run.started',
    { loop: 1, model: 'm/x', system: hash, tools: hash, first: 'x', history: null, deadline: null },
    runId ? { runId } : {},
  );
const asked = (turn: number) =>
  fact('model.asked', { turn, attempt: 1, purpose: 'turn', cause: null, model: 'script/x', maxOutputTokens: null, request: hash, upTo: 1 });
const answered = (costUsd: number | null, runId?: string) =>
  fact('model.answered', { turn: 1, content: [], finish: 'stop', usage, costUsd, dropped: 0 }, runId ? { runId } : {});
const tool = (index: number, name: string, args: object, rejected: 'denied' | null = null) =>
  fact('tool.asked', { turn: 1, index, tool: name, arguments: args as never, decision: allow, rejected, idempotent: true, waits: false });
const finished = (index: number, status: 'ok' | 'error' | 'denied' = 'ok') =>
  fact('tool.finished', { turn: 1, index, status, output: '', truncated: null, taint: [], told: [] });
const question = fact('approval.asked', {
  ...{ turn: 1, index: 0, tool: 'bash', arguments: { command: 'x' }, subjects: ['x'], hash },
  ...{ decision: { action: 'ask' as const, rule: 'ask bash', owner: 'the user' }, expiresAt: at(60_000) },
});
const delta = (kind: 'text' | 'reasoning'): LiveEvent => ({ type: 'delta', runId: rootId, turn: 1, kind, text: 'x' });

function lines(events: LiveEvent[], view: { columns?: number; rows?: number; ms?: number } = {}): string[] {
  const state = createLiveState();
  for (const event of events) applyEvent(state, event);
  const now = Date.parse(at(view.ms ?? 5000));
  return renderTree(state, { columns: view.columns ?? 80, rows: view.rows ?? 20, now, colour: false }).map((line) =>
    line.replace(/ +/g, ' '),
  );
}

const child = created({ runId: childId, parentId: rootId, label: 'look at src' });

describe('a line per run', () => {
  const table: [what: string, events: LiveEvent[], expected: string[]][] = [
    ['nothing yet', [], []],
    ['queued', [created()], ['○ general queued']],
    ['started', [created(), started()], ['● general thinking 5s']],
    ['a turn', [created(), started(), asked(3)], ['● general thinking turn 3 · 5s']],
    ['text arrives', [created(), started(), asked(1), delta('text')], ['● general writing turn 1 · 5s']],
    ['usage and cost', [created(), started(), answered(0.5)], ['● general thinking 5s · 1.2k tokens · $0.50']],
    ['an unknown price', [created(), started(), answered(null)], ['● general thinking 5s · 1.2k tokens']],
    ['a tool', [created(), started(), tool(0, 'read', { path: 'a.ts' })], ['● general read a.ts 5s']],
    ['two tools', [created(), started(), tool(0, 'read', { path: 'a' }), tool(1, 'grep', {})], ['● general read a (+1) 5s']],
    ['one of them is done', [created(), started(), tool(0, 'read', {}), tool(1, 'grep', {}), finished(0)], ['● general grep 5s']],
    ['a denied call', [created(), started(), tool(0, 'bash', {}, 'denied')], ['● general thinking 5s']],
    [
      'a child, with its use in the parent’s',
      [created(), started(), tool(0, 'delegate', { tasks: [1] }), child, started(childId), answered(0.25, childId)],
      ['◐ general delegate ×1, 1 c… 0 turns in 2 runs · 5s · 1.2k tokens · $0.25', ' ● look at src thinking 5s · 1.2k tokens · $0.25'],
    ],
    [
      'a parent’s turns, like its tokens, are those of its tree',
      [
        created(),
        started(),
        asked(2),
        child,
        started(childId),
        fact('child.ended', { childId, hash, outcome: outcome() }),
        fact('run.ended', { outcome: outcome() }, { runId: childId }),
        fact('run.ended', { outcome: outcome() }),
      ],
      ['✓ general completed 4 turns in 2 runs · 3s · 1.2k tokens · $0.02', ' ✓ look at src completed turn 2 · 3s · 1.2k tokens · $0.02'],
    ],
    [
      'what a search looks for',
      [created(), started(), tool(0, 'grep', { pattern: 'TODO', path: 'src' })],
      ['● general grep TODO in src 5s'],
    ],
    [
      'completed in spite of calls that did not work',
      [created(), started(), finished(0, 'error'), finished(1, 'denied'), finished(2, 'denied'), fact('run.ended', { outcome: outcome() })],
      ['▲ general completed, 1 call failed, 2 denied turn 2 · 3s · 1.2k tokens · $0.02'],
    ],
    ['waiting for approval', [created(), started(), question], ['◆ general approve? bash x 5s']],
    [
      'ended well',
      [created(), started(), fact('run.ended', { outcome: outcome() })],
      ['✓ general completed turn 2 · 3s · 1.2k tokens · $0.02'],
    ],
    [
      'failed',
      [created(), started(), fact('run.ended', { outcome: outcome('failed') })],
      ['✗ general failed: nothing came turn 2 · 3s · 1.2k tokens · $0.02'],
    ],
    ['cancelling', [created(), started(), fact('cancel.asked', { reason: 'x', by: 'me', code: 'cancelled' })], ['● general cancelling 5s']],
    [
      'late words',
      [created(), fact('run.ended', { outcome: outcome('cancelled') }), delta('text')],
      ['⊘ general cancelled: nothing came turn 2 · 3s · 1.2k tokens · $0.02'],
    ],
    ['an unknown run', [delta('text'), asked(1)], []],
    ['a label with orders to the terminal', [created({ label: 'a\x1b]0;x\x07\x1b[2Jb\nc' })], ['○ ab c queued']],
  ];
  it.each(table)('%s', (_, events, expected) => {
    expect(lines(events)).toEqual(expected);
  });
});

describe('in the room there is', () => {
  const many: LiveEvent[] = [created(), started()];
  for (let i = 0; i < 30; i++) {
    const runId = (0x100 + i).toString(16).padStart(16, '0');
    many.push(created({ runId, parentId: rootId, label: `child ${i}` }));
    if (i === 29) many.push(started(runId));
    if (i < 10) many.push(fact('run.ended', { outcome: outcome('completed', { runId }) }, { runId }));
  }

  it('keeps the root and what runs, and counts the rest', () => {
    const shown = lines(many, { rows: 5 });
    expect(shown).toHaveLength(5);
    expect(shown[0]).toContain('general');
    expect(shown.some((line) => line.includes('child 29'))).toBe(true);
    expect(shown.some((line) => line.includes('completed'))).toBe(false);
    expect(shown.at(-1)).toBe('… 27 more');
  });

  it.each([1, 2, 7, 12, 20, 33, 80, 300])('never passes %d columns', (columns) => {
    const wide = [created({ label: '広い名前'.repeat(20) }), started(), tool(0, 'bash', { command: '走'.repeat(300) })];
    const state = createLiveState();
    for (const event of [...wide, ...many.slice(1)]) applyEvent(state, event);
    for (const line of renderTree(state, { columns, rows: 10, now: Date.parse(at(0)), colour: false }))
      expect(textWidth(line)).toBeLessThanOrEqual(columns);
  });
});

it.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['世界', 4, '世界'],
  ['世界人', 5, '世界…'],
  ['世界人', 4, '世…'],
  ['e\u0301e\u0301', 2, 'e\u0301e\u0301'],
  ['abc', 0, ''],
])('cut %s to %d', (text, columns, expected) => {
  expect(cutToWidth(text, columns)).toBe(expected);
});
