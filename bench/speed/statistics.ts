/** The median, and the middle half of the values. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

/** Ratios of values that were measured one after the other, pair by pair: a busy moment of the machine concerns both. */
export function ratios(values: number[], base: number[]): Spread {
  return spread(values.map((value, i) => value / (base[i] as number)));
}

export function formatSpread({ median, low, high }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}
