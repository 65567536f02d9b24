import { expect, it } from 'vitest';
import type { LiveEvent } from '../../../src/api/api.ts';
import { createOpenforkLines } from '../../../src/cli/progress/openfork-lines.ts';
import { childId, created, fact, outcome, rootId } from '../samples.ts';

const io = (columns: number, on = false) => ({ columns: () => columns, colour: { out: on, err: on } });
const child = (dialect: string) => {
  const made = created({ runId: childId, parentId: rootId, agent: 'openfork/explore' });
  Object.assign(made.data, { dialect });
  return made;
};
const usage = { input: 1, output: 1, cached: 0, reasoning: 0, estimated: false };
const said = (text: string): LiveEvent =>
  fact(
    'model.answered',
    { turn: 1, content: [{ type: 'text', text }], finish: 'stop', usage, costUsd: null, dropped: 0 },
    { runId: childId },
  );
const broke = fact(
  'tool.finished',
  { turn: 1, index: 0, status: 'error', output: 'no such file', truncated: null, taint: [], told: [] },
  { runId: childId },
);
const ended = (summary: string) => fact('run.ended', { outcome: outcome('completed', { runId: childId, summary }) }, { runId: childId });

it('lines of a subagent are cut at 100 characters and hold nothing a terminal acts on', () => {
  const line = createOpenforkLines(io(80));
  line(child('openfork'));
  expect(line(said(`\x1b[31mred\n${'x'.repeat(200)}`))?.text).toBe(`  ↳ Subagent: red ${'x'.repeat(95)}…\n`);
  expect(line(said('  '))).toBeNull();
});

it('is for that dialect alone, and for subagents alone', () => {
  const line = createOpenforkLines(io(80));
  line(child('dex'));
  expect(line(said('hello'))).toBeNull();
  const root = createOpenforkLines(io(80));
  root(created());
  expect(root(fact('run.ended', { outcome: outcome() }))).toBeNull();
});

it('a panel is never wider than the terminal, and wide characters count two', () => {
  const line = createOpenforkLines(io(24));
  line(child('openfork'));
  expect(line(ended('界'.repeat(12)))).toEqual({
    kind: 'end',
    text: `✓ Subagent completed\n╭─Subagent Result──────╮\n│ ${'界'.repeat(10)} │\n│ 界界                 │\n╰──────────────────────╯\n`,
  });
});

it('colours, where the terminal has them: dim, cyan, red, green', () => {
  const line = createOpenforkLines(io(80, true));
  line(child('openfork'));
  expect(line(broke)?.text).toBe('  \x1b[2m↳ Subagent:\x1b[22m \x1b[31mno such file\x1b[39m\n');
  expect(line(ended('x'))?.text).toContain('\x1b[32m✓\x1b[39m Subagent completed\n\x1b[32m╭─Subagent Result─╮\x1b[39m');
});
