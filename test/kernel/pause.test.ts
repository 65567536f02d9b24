// If a provider says when it accepts calls again, the run is paused until then: without a slot, as a fact, and only within its deadline.
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld } from '../support/world.ts';

const limited = (retryAfterMs: number) => ({ error: { status: 429, message: 'quota', retryAfterMs } });

describe('a provider limit with a known time', () => {
  it('pauses the run, which continues at that time', async () => {
    const clock = createHandClock();
    await using world = await createWorld({ clock, script: { runs: [{ steps: [limited(120_000), { text: 'done' }] }] } });
    const run = await world.runtime.start({ task: 'x' });
    await clock.advance(1000);
    const paused = world.facts.find((fact) => fact.type === 'run.paused') as FactOf<'run.paused'>;
    expect(Date.parse(paused.data.resumeAt as string) - clock.now()).toBeGreaterThan(100_000);
    expect(world.runtime.stats()).toMatchObject({ active: 0, runs: 1 });
    expect((await world.store.run(run.id))?.status).toBe('paused');
    await clock.advance(130_000);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
    expect(world.types()).toContain('run.resumed');
  });

  it('past the deadline fails the run at once, with the time in the message', async () => {
    const clock = createHandClock();
    await using world = await createWorld({ clock, script: { runs: [{ steps: [limited(3_600_000)] }] } });
    const run = await world.runtime.start({ task: 'x', limits: { timeoutMs: 60_000 } });
    await clock.advance(2000);
    expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'rate_limited' } });
    expect(world.types()).not.toContain('run.paused');
  });

  it('pauses the run no longer than its deadline or a cancel', async () => {
    const clock = createHandClock();
    await using world = await createWorld({ clock, script: { runs: [{ times: 'any', steps: [limited(100_000)] }] } });
    const late = await world.runtime.start({ task: 'x', limits: { timeoutMs: 100_500 } });
    const gone = await world.runtime.start({ task: 'y' });
    await clock.advance(1000);
    await gone.cancel('enough');
    expect((await gone.outcome).status).toBe('cancelled');
    await clock.advance(200_000);
    expect(['timed_out', 'failed']).toContain((await late.outcome).status);
    expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });
});
