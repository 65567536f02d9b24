import { expect, it } from 'vitest';
import { createProgress } from '../../../src/cli/progress/progress.ts';
import { world } from '../support.ts';

it('on a terminal nothing is written while somebody is asked, be it by two who ask', () => {
  const io = world({ io: { errTTY: true } });
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
