// Limits of a provider's key over all processes that share a store: back-off after refusals, and rates.

/** Limits that the user sets for a provider. An absent one does not apply. */
export interface ProviderRate {
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  /** Calls at the same time. */
  concurrent?: number | undefined;
}

/** What a process tells others about a provider. */
export type LimitNews =
  /** It refused a call: no call for `blockedMs`. `inRow`: refusals without an accepted call between them. */
  | { kind: 'refused'; blockedMs: number; inRow: number }
  /** It accepted a call after a refusal. */
  | { kind: 'accepted' };

export interface LimitRequest {
  /** The process. */
  owner: string;
  rate: ProviderRate;
  /** The rest of the last grant, returned with this request. Negative tokens: calls took more than their estimates. */
  unused: { requests: number; tokens: number };
  calls: {
    open: number;
    waiting: number;
    /** Estimated tokens of the first waiting call, and of all of them. */
    nextTokens: number;
    tokens: number;
  };
  /** `probe`: asks to be the one that tries the provider after a back-off. `release`: gives that up without a result. */
  report?: LimitNews | { kind: 'probe' } | { kind: 'release' } | undefined;
}

export interface LimitGrant {
  /** To be used within `validMs`. Unlimited kinds are granted without bound by the caller. */
  requests: number;
  tokens: number;
  /** Calls that the process may have open. Valid for three times `validMs`. */
  slots: number;
  validMs: number;
  /** If the next call lacks something: when to ask again. */
  retryMs: number;
  /** Other processes wait for calls of this one to end. */
  isContended: boolean;
  /** Processes that use the provider now, this one included. */
  sharers: number;
  /** How long no call may begin; 0 if calls may. */
  blockedMs: number;
  inRow: number;
  /** False from a refusal until a call is accepted: only the process that may probe makes one. */
  isOpen: boolean;
  mayProbe: boolean;
}

/**
 * All times are durations, measured by the clock of the store. Calls take milliseconds if the store is reachable; the caller has its own timeout.
 *
 * Failure contract: as for the store.
 */
export interface SharedLimits {
  /** The name of a provider's key in the store: a keyed hash, so that keys cannot be found or compared by it. Null if there is no key for hashes. */
  identify(secret: string): string | null;
  exchange(key: string, request: LimitRequest): Promise<LimitGrant>;
  /** Calls the listener with what other processes report, as far as it arrives. Returns a function that ends it. */
  watch(listener: (key: string, news: LimitNews) => void): () => void;
}
