// The database is out of reach for longer than a call is repeated, but the process lives and sends heartbeats again afterwards.
import { describe, expect, it } from 'vitest';
import { createPlace, useProxy } from '../stores/support/postgres.ts';
import { createGateClock } from '../support/gate-clock.ts';
import { enqueue, expectAllEnded, openTestApi, startTestWorker } from './support.ts';

const script = { runs: [{ times: 'any' as const, steps: [{ delayMs: 1, text: 'done' }] }] };

describe('a worker that could not write its trees', () => {
  // The database is out of reach for longer than calls are repeated, so this takes more than a minute.
  it.runIf(process.env.RETINUE_TORTURE === 'full')(
    'releases them when it reaches the database again, so that others can drive them',
    { timeout: 240_000 },
    async () => {
      const place = await createPlace();
      const proxy = await useProxy(place.url);
      // Its lease is not lost meanwhile.
      const timing = { connect: 500, giveUp: 500, unknown: 500, silence: 600_000 };
      const store = await place.open({ timing, url: proxy.url });
      const other = await place.open({ timing: { silence: 600_000 } });
      const api = await openTestApi(other);
      const scriptClock = createGateClock();
      const cut = await startTestWorker({ store, script, scriptClock });
      const rootIds = [await enqueue(api), await enqueue(api)];
      await expect.poll(() => cut.count('tree.taken')).toBe(2);
      proxy.isDown = true;
      proxy.cutAll();
      scriptClock.open();
      await expect.poll(() => cut.count('tree.lost')).toBe(2);
      expect(cut.worker.status().trees).toHaveLength(2);
      const healthy = await startTestWorker({ store: other, script, scriptClock });
      proxy.isDown = false;
      await expect.poll(() => cut.worker.status().trees.length).toBe(0);
      await expectAllEnded(other, rootIds);
      expect(healthy.count('tree.taken') + cut.count('tree.taken')).toBe(4);
    },
  );
});
