// `retinue subagent`, and the same as a flag: one outcome as JSON, whatever becomes of the task.
import { describe, expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const words = [['subagent'], ['--subagent']];

describe.each(words)('retinue %s', (...word) => {
  it('prints one JSON outcome, and its first message is context and task', async () => {
    const expected = { prompt: 'Context: it is small\n\nTask: count' };
    using place = createPlace({ runs: [{ steps: [{ expect: expected, text: 'Three.' }] }] });
    const { code, out } = await place.run(...word, '--task', 'count', '--context', 'it is small');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'completed', success: true, summary: 'Three.', depth: 0 });
  });

  it('has no delegation tools', async () => {
    const calls = [{ tool: 'delegate', args: { tasks: [{ task: 'x' }] } }];
    using place = createPlace({ runs: [{ steps: [{ calls }, { expect: { prompt: 'not available' }, text: 'no' }] }] });
    expect(JSON.parse((await place.run(...word, '--task', 'x')).out)).toMatchObject({ status: 'completed', summary: 'no' });
  });

  it('prints the outcome of a failure too, and uses its exit code', async () => {
    using place = createPlace({ runs: [{ steps: [{ error: { status: 401, message: 'no' } }] }] });
    const { code, out } = await place.run(...word, '--task', 'x');
    expect([code, JSON.parse(out).status]).toEqual([1, 'failed']);
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)('cancels the run at %s and prints its outcome', async (signal) => {
    using place = createPlace({ runs: [{ steps: [{ hang: 'start' }] }] });
    const running = place.start(...word, '--task', 'x');
    await place.facts((facts) => facts.some(({ type }) => type === 'model.asked'));
    running.process.kill(signal);
    const { code, out } = await running.finished;
    expect([code, JSON.parse(out)]).toEqual([
      signal === 'SIGINT' ? 130 : 143,
      expect.objectContaining({ status: 'cancelled', success: false }),
    ]);
  });

  it('needs a task', async () => {
    using place = createPlace({ runs: [] });
    expect(await place.run(...word)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--task') });
  });
});
