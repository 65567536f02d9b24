import { expect, it } from 'vitest';
import { createProgress } from '../../../src/cli/progress/progress.ts';
import { childId, created, fact, outcome, rootId } from '../samples.ts';
import { createTestIo } from '../support.ts';

it('on a terminal nothing is printed while a question is open, even if there are two', () => {
  const io = createTestIo({ errTTY: true });
  const progress = createProgress(io, { stream: false, plain: false });
  const first = progress.suspend();
  const second = progress.suspend();
  const before = io.stderr;
  progress.print('in between\n');
  first();
  io.tick();
  expect(io.stderr).toBe(before);
  second();
  expect(io.stderr).toContain('in between\n');
});

it('on a terminal the steps of OpenFork’s subagents are lines under the parent, above the live display', () => {
  const io = createTestIo({ errTTY: true });
  const progress = createProgress(io, { stream: false, plain: false });
  const child = created({ runId: childId, parentId: rootId, agent: 'openfork/explore' });
  Object.assign(child.data, { dialect: 'openfork' });
  const usage = { input: 1, output: 1, cached: 0, reasoning: 0, estimated: false };
  const content = [{ type: 'text' as const, text: 'I look around' }];
  const answered = { turn: 1, content, finish: 'stop' as const, usage, costUsd: null, dropped: 0 };
  for (const event of [child, fact('model.answered', answered, { runId: childId })]) progress.handleEvent(event);
  expect(io.stderr).toContain('  ↳ Subagent: I look around\n');
  progress.handleEvent(fact('run.ended', { outcome: outcome('completed', { runId: childId, summary: 'seen' }) }, { runId: childId }));
  expect(io.stderr).toContain('✓ Subagent completed\n╭─Subagent Result─╮\n');
  progress.end(null);
});
