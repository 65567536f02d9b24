// Facts as lines of text: `logs`, and progress without a terminal.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { noteName, writeHandOver } from '../../examples/demo/long/model.ts';
import type { Fact } from '../../src/contract/fact.ts';
import type { Json } from '../../src/contract/json.ts';
import { applyToConversation, createConversation, describeCompaction, type NoteItem } from '../../src/views/conversation.ts';
import { describeCall } from '../../src/views/describe-call.ts';
import { createFactDescriber, createProgressDescriber } from '../../src/views/describe-fact.ts';
import { fact } from '../cli/samples.ts';
import { readerWorld, task } from '../support/note-reader.ts';

type Prompt = LanguageModelV4CallOptions['prompt'];

/** Results that are long enough to be removed. */
const longNotes = Object.fromEntries(
  Array.from({ length: 30 }, (_, i) => [noteName(i + 1), `The code word is heron-7. ${'x'.repeat(i % 3 === 0 ? 900 : 400)}`]),
);

describe('a call in a few words', () => {
  const table: [tool: string, input: Json, text: string][] = [
    ['grep', { path: '.', pattern: 'TODO|FIXME' }, 'grep TODO|FIXME'],
    ['grep', { path: 'src', pattern: 'TODO' }, 'grep TODO in src'],
    ['glob', { pattern: '**/*.ts', path: 'test' }, 'glob **/*.ts in test'],
    ['bash', { command: 'npm test', description: 'run the tests' }, 'bash npm test'],
    ['read', { path: 'a.ts', offset: 3 }, 'read a.ts'],
    ['webfetch', { url: 'https://example.com' }, 'webfetch https://example.com'],
    ['delegate', { tasks: [{ task: 'count', label: 'counter' }] }, 'delegate counter'],
    ['delegate', { tasks: [{ task: 'a' }, { task: 'b' }] }, 'delegate ×2'],
    ['mcp__demo__find', { limit: 3, text: 'needle' }, 'mcp__demo__find needle'],
    ['list', {}, 'list'],
    ['submit_result', { n: 1 }, 'submits its result'],
    ['odd', 'text', 'odd'],
  ];
  it.each(table)('%s %j', (tool, input, text) => expect(describeCall(tool, input)).toBe(text));
});

describe('results of calls are sentences', () => {
  const allow = { action: 'allow' as const, rule: null, owner: 'built-in' };
  const asked = (tool: string, rejected: 'submit' | 'unknown' | 'malformed' | 'repeated' | 'duplicate' | null) =>
    fact('tool.asked', { turn: 1, index: 0, tool, arguments: {}, decision: allow, rejected, idempotent: true, waits: false });
  const finished = (status: 'ok' | 'unknown' | 'timeout' | 'error', output = '') =>
    fact('tool.finished', { turn: 1, index: 0, status, output, truncated: null, taint: [], told: [] });

  it.each([
    [[asked('submit_result', 'submit')], 'submits its result'],
    [[asked('submit_result', 'submit'), finished('ok', 'accepted')], 'submits its result · ok · accepted'],
    [[asked('raed', 'unknown')], 'raed · not executed: there is no such tool'],
    [[asked('read', 'malformed')], 'read · not executed: its arguments are wrong'],
    [[asked('read', 'repeated')], 'read · not executed: the same call was made too often'],
    [[asked('bash', null), finished('unknown')], 'bash · cut off, result unknown'],
    [[asked('bash', null), finished('timeout')], 'bash · timed out'],
    [[finished('unknown')], 'a call from before · cut off, result unknown'],
  ])('%#: %s', (facts, text) => {
    const describeFact = createFactDescriber();
    expect(facts.map(describeFact).at(-1)).toBe(text);
  });
});

it('a result of a check names its command, or its reviewer and what that must find true', () => {
  const describeFact = createFactDescriber();
  const started = (index: number, command: string, agent?: string) =>
    describeFact(fact('check.started', { index, round: 1, command, ...(agent !== undefined && { agent }) }));
  const finished = (index: number, round = 1) => describeFact(fact('check.finished', { index, round, status: 'failed', output: 'why' }));
  expect(started(0, 'npm test')).toBe('round 1 · npm test');
  expect(finished(0)).toBe('round 1 · npm test · failed · why');
  started(1, 'npm run lint');
  expect(finished(1)).toBe('round 1 · npm run lint · failed · why');
  started(2, 'It is short.', 'review');
  expect(finished(2)).toBe('round 1 · review by review · It is short. · failed · why');
  expect(finished(0, 2)).toBe('round 2 · failed · why');
});

describe('a compaction', () => {
  const conversationOf = async (summarize: (prompt: Prompt) => string) => {
    const { world } = await readerWorld({ notes: 30, summarize, world: { files: longNotes } });
    await using _ = world;
    await (await world.runtime.start(task)).outcome;
    const conversation = createConversation();
    for (const fact of world.facts) applyToConversation(conversation, fact);
    return conversation.items;
  };

  it('is a part of the conversation, with the tokens before and after', async () => {
    const items = await conversationOf(writeHandOver);
    const notes = items.filter((item): item is NoteItem => item.kind === 'context' && item.compaction !== undefined);
    expect(notes.length).toBeGreaterThan(0);
    for (const note of notes) {
      const next = items.slice(items.indexOf(note)).find(({ kind }) => kind === 'answer');
      expect(note.compaction?.after).toBe(next?.kind === 'answer' && next.usage.input);
      expect(note.compaction?.before).toBeGreaterThan(note.compaction?.after ?? Number.POSITIVE_INFINITY);
      expect(describeCompaction(note)).toMatch(/^[\d.]+k → [\d.]+k? tokens$/);
    }
  });

  it('that changed nothing says why in the conversation', async () => {
    const items = await conversationOf(() => 'long '.repeat(9_000));
    const texts = items.flatMap((item) => (item.kind === 'context' ? [item.text] : []));
    expect(texts).toContain('the summary saved too little, so it was not used');
    expect(items.some((item) => item.kind === 'context' && item.compaction !== undefined)).toBe(false);
  });

  const linesOf = async (summarize: (prompt: Prompt) => string, describeFact: (fact: Fact) => string | null) => {
    const { world } = await readerWorld({ notes: 30, summarize, world: { files: longNotes } });
    await using _ = world;
    await (await world.runtime.start(task)).outcome;
    return world.facts.map(describeFact).filter((line) => line !== null);
  };

  it.each([
    ['the summary was empty, so it was not used', () => ''],
    ['the summary saved too little, so it was not used', () => 'long '.repeat(9_000)],
  ])('that changed nothing says why: %s', async (why, summarize) => {
    const lines = await linesOf(summarize, createFactDescriber());
    expect(lines.filter((line) => line.includes(why)).length).toBeGreaterThan(0);
    expect(lines.find((line) => line.includes(why))).toMatch(/old tool results? removed|turn \d+/);
  });

  it('is a line of the progress', async () => {
    const lines = await linesOf(writeHandOver, createProgressDescriber());
    expect(lines.some((line) => / compacted · .* tokens before/.test(line))).toBe(true);
    expect(lines.some((line) => line.includes('was not used'))).toBe(false);
  });
});
