// Which traces are exported. The decision depends only on the trace id and the caller's flag, so that every process decides alike.

export interface Sampling {
  /** The share of traces that are exported, 0 to 1. */
  ratio: number;
  /** A trace that was passed on is exported if the caller exports it. */
  followsCaller: boolean;
}

/** `flags`: those of the caller's `traceparent`; null without one. */
export function isSampled(traceId: string, flags: string | null, { ratio, followsCaller }: Sampling): boolean {
  if (flags !== null && followsCaller) return (Number.parseInt(flags, 16) & 1) === 1;
  // The last 14 digits are random also in ids of other systems.
  return ratio >= 1 || Number.parseInt(traceId.slice(-14), 16) / 16 ** 14 < ratio;
}
