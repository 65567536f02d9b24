// Durations as Dex writes them.
import { maxMs } from '../../contract/limits.ts';

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `10m`, `1h30m`; plain digits are seconds. Null if it is not a duration, zero, or too long for a timer. */
export function parseDuration(text: string): number | null {
  const ms = durationToMs(text);
  return ms >= 1 && ms <= maxMs ? ms : null;
}

/** The same for any duration, also zero and with a minus before it; NaN for every other text. */
export function durationToMs(text: string): number {
  const [, minus, unsigned = ''] = /^(-?)(.*)$/s.exec(text.trim()) ?? [];
  const ms = /^\d{1,15}$/.test(unsigned) ? Number(unsigned) * 1000 : sumParts(unsigned);
  return minus ? -ms : ms;
}

function sumParts(text: string): number {
  if (!/^(\d{1,15}(\.\d{1,6})?(ms|s|m|h|d))+$/.test(text)) return Number.NaN;
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)];
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit as string] as number), 0));
}
