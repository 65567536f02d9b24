import { expect, it } from 'vitest';
import { createProgress } from '../../../src/cli/progress/progress.ts';
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
