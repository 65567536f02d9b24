// Counts failures by address in a fixed window, with a bounded number of addresses.
const maxAddresses = 10_000;

export interface RateLimit {
  /** Counts one more; false if there are too many. */
  add(address: string, now: number): boolean;
}

export function createRateLimit({ max, windowMs }: { max: number; windowMs: number }): RateLimit {
  const windows = new Map<string, { until: number; count: number }>();
  return {
    add(address, now) {
      const window = windows.get(address);
      if (window !== undefined && window.until > now) return ++window.count <= max;
      windows.delete(address);
      windows.set(address, { until: now + windowMs, count: 1 });
      if (windows.size > maxAddresses) windows.delete(windows.keys().next().value as string);
      return true;
    },
  };
}
