// Pure parts of the pages: filters, folds and what keys do.
import { describe, expect, it } from 'vitest';
import type { Question } from '../../src/contract/view.ts';
import { mergeQuestions, removeSettled } from '../../web/src/pages/approvals/inbox.ts';
import { filterLog } from '../../web/src/pages/run/log-filter.ts';
import { factsToTurnCosts } from '../../web/src/pages/run/turn-costs.ts';
import { findTarget, keyToMove } from '../../web/src/pages/tree/grid-keys.ts';
import { isFiltered, queryToFilter } from '../../web/src/pages/trees/filter.ts';
import { createFact } from './support.ts';

describe('keys in a tree of runs', () => {
  const rows = [
    { depth: 0, fold: 'open' },
    { depth: 1, fold: 'folded' },
    { depth: 1, fold: 'open' },
    { depth: 2, fold: 'none' },
  ] as const;
  const target = (at: number, move: Parameters<typeof findTarget>[2]) => findTarget([...rows], at, move);

  it('move between rows, and stop at both ends', () => {
    expect([target(0, 'up'), target(0, 'down'), target(3, 'down'), target(2, 'first'), target(0, 'last'), target(1, 'page-down')]).toEqual([
      0, 1, 3, 0, 3, 3,
    ]);
  });

  it('fold, unfold, and go to the parent or the first child', () => {
    expect([target(0, 'left'), target(1, 'right'), target(2, 'right'), target(3, 'left'), target(1, 'left'), target(3, 'right')]).toEqual([
      'fold',
      'unfold',
      3,
      2,
      0,
      3,
    ]);
    expect(target(1, 'open')).toBe('open');
  });

  it('are left to the browser with a modifier', () => {
    const none = { ctrlKey: false, metaKey: false, altKey: false };
    expect(keyToMove({ key: 'ArrowDown', ...none })).toBe('down');
    expect(keyToMove({ key: 'ArrowDown', ...none, ctrlKey: true })).toBeNull();
    expect(keyToMove({ key: 'x', ...none })).toBeNull();
  });
});

it('reads the filter of the trees from the address', () => {
  const filter = queryToFilter(new URLSearchParams('state=failed&agent=explore&text=build'));
  expect(filter).toEqual({ status: ['failed', 'timed_out', 'exhausted'], agent: 'explore', text: 'build' });
  expect(isFiltered(filter)).toBe(true);
  expect(isFiltered(queryToFilter(new URLSearchParams('state=odd')))).toBe(false);
});

it('filters the log by type, line and content', () => {
  const entry = (type: 'run.paused' | 'run.resumed', text: string, data: object, seq: number) => ({
    fact: createFact({ type, data }, seq),
    text,
  });
  const log = [entry('run.paused', 'for lunch', { reason: 'lunch' }, 1), entry('run.resumed', 'by ann', { by: 'ann', order: 'XYZ' }, 2)];
  const seqs = (type: string, text: string) => filterLog(log, { type, text }).map(({ fact }) => fact.seq);
  expect(seqs('', '')).toEqual([1, 2]);
  expect(seqs('run.paused', '')).toEqual([1]);
  expect(seqs('', 'LUNCH')).toEqual([1]);
  expect(seqs('', 'xyz')).toEqual([2]);
  expect(seqs('run.paused', 'xyz')).toEqual([]);
});

it('adds up what each turn used, with failed calls', () => {
  const usage = { input: 100, output: 10, cached: 40, reasoning: 5, estimated: false };
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const facts = [
    createFact({ type: 'model.asked', at: at(0), data: { turn: 1, model: 'a' } }, 1),
    createFact({ type: 'model.failed', at: at(1), data: { turn: 1, usage, costUsd: 0.5 } }, 2),
    createFact({ type: 'model.asked', at: at(2), data: { turn: 1, model: 'b' } }, 3),
    createFact({ type: 'model.answered', at: at(4), data: { turn: 1, usage: { ...usage, estimated: true }, costUsd: 0.25 } }, 4),
    createFact({ type: 'model.asked', at: at(5), data: { turn: 2, model: 'b' } }, 5),
    createFact({ type: 'model.failed', at: at(6), data: { turn: 2, usage: null, costUsd: null } }, 6),
  ];
  expect(factsToTurnCosts(facts)).toEqual([
    {
      turn: 1,
      model: 'b',
      input: 200,
      cached: 80,
      output: 20,
      reasoning: 10,
      costUsd: 0.75,
      ms: 4000,
      failures: 1,
      isEstimated: true,
      hasCompaction: false,
    },
    {
      turn: 2,
      model: 'b',
      input: 0,
      cached: 0,
      output: 0,
      reasoning: 0,
      costUsd: null,
      ms: 1000,
      failures: 1,
      isEstimated: false,
      hasCompaction: false,
    },
  ]);
});

describe('the approvals inbox', () => {
  const question = (id: string, hash = 'h') => ({ id, hash }) as Question;

  it('keeps cards in their places, and marks those that no longer wait', () => {
    const first = mergeQuestions([], [question('a'), question('b')]);
    const second = mergeQuestions(first, [question('c'), question('b')]);
    expect(second.map(({ question: { id }, state }) => `${id} ${state.kind}`)).toEqual(['a settled', 'b open', 'c open']);
    expect(removeSettled(second).map(({ question: { id } }) => id)).toEqual(['b', 'c']);
  });

  it('treats another call of the same run as another question', () => {
    const merged = mergeQuestions(mergeQuestions([], [question('a', 'old')]), [question('a', 'new')]);
    expect(merged.map(({ question: { hash }, state }) => `${hash} ${state.kind}`)).toEqual(['old settled', 'new open']);
  });

  it('does not open an answered question again while the server still lists it', () => {
    const answered = mergeQuestions([], [question('a')]).map((entry) => ({
      ...entry,
      state: { kind: 'settled', text: 'Approved.', tone: 'ok' } as const,
    }));
    expect(mergeQuestions(answered, [question('a')])).toEqual(answered);
  });
});
