// The shared limits of providers in memory. Keys are compared as they are: nothing leaves the process.
import type { LimitNews, SharedLimits } from '../../ports/shared-limits.ts';
import { type LimitState, newLimitState, planExchange } from '../provider-limits.ts';

export interface MemoryLimitData {
  states: Map<string, LimitState>;
  /** With the store that each belongs to. */
  listeners: Map<(key: string, news: LimitNews) => void, object>;
}

/** `now`: milliseconds on a clock that is never set. */
export function createMemoryLimits({ states, listeners }: MemoryLimitData, now: () => number): SharedLimits {
  const self = {};
  return {
    identify: (secret) => secret,
    async exchange(key, request) {
      const { state, grant, news } = planExchange(states.get(key) ?? newLimitState, request, now());
      states.set(key, state);
      if (news !== null) for (const [listener, from] of [...listeners]) if (from !== self) listener(key, news);
      return grant;
    },
    watch(listener) {
      listeners.set(listener, self);
      return () => void listeners.delete(listener);
    },
  };
}
