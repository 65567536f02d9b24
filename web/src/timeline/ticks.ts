// Ticks of a time axis, in milliseconds since the beginning of the tree. Pure.
import { niceAtLeast } from './nice.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Steps that people count in. Longer ones are multiples of days. */
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
];

export interface Tick {
  at: number;
  label: string;
}

/** The smallest step with which ticks are at least `minPixels` apart. */
export function tickStep(ms: number, width: number, minPixels: number): number {
  const least = (ms * minPixels) / Math.max(1, width);
  return steps.find((step) => step >= least) ?? Math.max(1, niceAtLeast(least / day)) * day;
}

/** Ticks inside a range that is relative to the beginning of the tree. */
export function timeTicks({ from, to }: { from: number; to: number }, width: number, minPixels = 90): Tick[] {
  if (!(to > from) || width <= 0) return [];
  const step = tickStep(to - from, width, minPixels);
  const ticks: Tick[] = [];
  for (let n = Math.ceil(from / step); n * step <= to; n++) ticks.push({ at: n * step, label: formatTick(n * step, step) });
  return ticks;
}

/** `0`, `250ms`, `1.5s`, `2m30s`, `1h05m`, `3d`: as exact as the step needs, so that neighbours differ. */
export function formatTick(ms: number, step: number): string {
  if (ms === 0) return '0';
  if (ms < 0) return `-${formatTick(-ms, step)}`;
  const parts: string[] = [];
  const days = Math.floor(ms / day);
  const hours = Math.floor((ms % day) / hour);
  const minutes = Math.floor((ms % hour) / minute);
  const seconds = (ms % minute) / second;
  if (days > 0) parts.push(`${days}d`);
  if (hours > 0) parts.push(`${hours}h`);
  if (minutes > 0) parts.push(`${minutes}m`);
  if (seconds > 0) {
    if (ms < second) return `${ms}ms`;
    const digits = step >= second ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
    parts.push(`${seconds.toFixed(digits)}s`);
  }
  return parts.join(' ');
}
