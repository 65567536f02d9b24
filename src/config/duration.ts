// Durations as people write them in flags and agent files.
import { maxMs } from '../contract/limits.ts';

export const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `10m`, `1h` or `500ms`; a bare number is seconds. Null if it is not a duration or is out of range. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (!match) return null;
  const ms = Math.round(Number(match[1]) * (unitMs[match[2] ?? 's'] as number));
  return ms >= 1 && ms <= maxMs ? ms : null;
}
