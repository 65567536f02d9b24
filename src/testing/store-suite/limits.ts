// `limits`: what processes tell each other about a provider's key. How much is granted is the same in all stores and tested with the plan itself.
import { describe, expect, it } from 'vitest';
import type { LimitNews, LimitRequest } from '../../ports/shared-limits.ts';
import type { GetContext } from './fixtures.ts';

function createRequest(owner: string, overrides: Partial<LimitRequest> = {}): LimitRequest {
  const calls = { open: 0, waiting: 1, nextTokens: 10, tokens: 10 };
  return { owner, rate: { concurrent: 3 }, unused: { requests: 0, tokens: 0 }, calls, ...overrides };
}

/** `notifies`: other processes hear of a refusal without asking. */
export function testLimits(getContext: GetContext, { notifies }: { notifies: boolean }): void {
  describe('limits of providers', () => {
    it('are shared by all processes, for each key', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      const calls = { open: 0, waiting: 2, nextTokens: 0, tokens: 0 };
      expect(await store.limits.exchange('k', createRequest('a', { calls }))).toMatchObject({ slots: 2, sharers: 1, isOpen: true });
      expect(await other.limits.exchange('k', createRequest('b', { calls }))).toMatchObject({ slots: 1, sharers: 2 });
      expect(await other.limits.exchange('another', createRequest('b', { calls }))).toMatchObject({ slots: 2, sharers: 1 });
    });

    it('keep a back-off for processes that ask later, as a duration', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      await store.limits.exchange('k', createRequest('a', { report: { kind: 'refused', blockedMs: 60_000, inRow: 2 } }));
      const grant = await other.limits.exchange('k', createRequest('b', { report: { kind: 'probe' } }));
      expect(grant).toMatchObject({ isOpen: false, mayProbe: false, inRow: 2 });
      expect(grant.blockedMs).toBeGreaterThan(30_000);
      expect(grant.blockedMs).toBeLessThanOrEqual(60_000);
    });

    it('name keys by a hash that is the same in all processes and differs for each key', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      const names = [store, other].map(({ limits }) => limits.identify('a key'));
      expect(names[0]).toBe(names[1]);
      expect(store.limits.identify('another key')).not.toBe(names[0]);
    });

    it('hold while many processes ask at once', async () => {
      const { harness, store } = getContext();
      const stores = [store, await harness.open(), await harness.open()];
      const grants = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (stores[n % 3] as typeof store).limits.exchange('k', createRequest(`process ${n}`))),
      );
      expect(grants.reduce((sum, { slots }) => sum + slots, 0)).toBe(3);
    });

    it.runIf(notifies)('tell other processes of a refusal and of its end, and not the one that reports it', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      const heard: [string, LimitNews][] = [];
      const own: LimitNews[] = [];
      const ends = [other.limits.watch((key, news) => void heard.push([key, news])), store.limits.watch((_, news) => void own.push(news))];
      // The first message may be sent before the other process listens.
      for (let n = 1; heard.length === 0 && n < 100; n++) {
        await store.limits.exchange(`k${n}`, createRequest('a', { report: { kind: 'refused', blockedMs: 2_000, inRow: 1 } }));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(heard[0]?.[1]).toEqual({ kind: 'refused', blockedMs: 2_000, inRow: 1 });
      const key = heard[0]?.[0] as string;
      await store.limits.exchange(key, createRequest('a', { report: { kind: 'refused', blockedMs: 0, inRow: 1 } }));
      await expect
        .poll(
          async () => {
            await store.limits.exchange(key, createRequest('a', { report: { kind: 'probe' } }));
            await store.limits.exchange(key, createRequest('a', { report: { kind: 'accepted' } }));
            return heard.some(([each, { kind }]) => each === key && kind === 'accepted');
          },
          { timeout: 20_000 },
        )
        .toBe(true);
      expect(own).toEqual([]);
      for (const end of ends) end();
    });
  });
}
