// Providers that send a useless Retry-After: the usual back-off applies, so that six attempts are not made within milliseconds.
import { describe, expect, it } from 'vitest';
import { errorToFailure } from '../../src/models/failure.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld } from '../support/world.ts';

const past = 'Mon, 01 Jan 2024 00:00:00 GMT';

describe('a Retry-After', () => {
  it.each([['0'], [''], [past], ['-5'], ['soon']])('of %j never means to retry sooner than usual', (value) => {
    const thrown = Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': value } });
    const { retryAfterMs } = errorToFailure(thrown, (date) => Date.parse(date) - Date.UTC(2026, 0, 1) || null);
    expect(retryAfterMs ?? 0).toBeLessThanOrEqual(0);
  });

  it.each([429, 503])('of 0 with status %i spreads the attempts of a run over seconds', async (status) => {
    const clock = createHandClock();
    const failing = { error: { status, message: 'slow down', retryAfterMs: 0 } };
    await using world = await createWorld({
      clock,
      script: { runs: [{ steps: [failing, failing, failing, { text: 'done' }] }] },
    });
    const run = await world.runtime.start({ task: 'x' });
    const attempts = () => world.types().filter((type) => type === 'model.asked').length;
    await clock.advance(300);
    expect(attempts()).toBe(1);
    await clock.advance(30_000);
    expect((await run.outcome).success).toBe(true);
    expect(attempts()).toBe(4);
  });
});
