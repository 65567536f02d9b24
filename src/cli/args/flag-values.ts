// Values of flags as numbers. The `…Flag` functions throw `invalid_limit`, which names the flag and a value that would be right.
import { parseDuration, unitMs } from '../../config/duration.ts';
import { RetinueError } from '../../contract/error.ts';

export function parseDurationFlag(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw invalidValueError(flag, text, 'is not a duration from 1ms to 24d; write `90s`, `10m` or `1h` (a bare number is seconds)');
}

/** Milliseconds of an age, which may be longer than any timer: `12h`, `30d`, `8w`. */
export function parseAgeFlag(flag: string, text: string): number {
  const match = /^(\d{1,6})(s|m|h|d|w)$/.exec(text.trim());
  if (!match) throw invalidValueError(flag, text, 'is not an age; write `12h`, `30d` or `8w`');
  return Number(match[1]) * (match[2] === 'w' ? 7 * 86_400_000 : (unitMs[match[2] as string] as number));
}

export function parseIntegerFlag(flag: string, text: string, range: { min: number; max: number }): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= range.min && value <= range.max) return value;
  throw invalidValueError(flag, text, `is not a whole number from ${range.min} to ${range.max}`);
}

export function parseUsdFlag(flag: string, text: string): number {
  const value = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= 1_000_000) return value;
  throw invalidValueError(flag, text, 'is not an amount in US dollars above 0 and up to 1000000; write `2` or `0.50`');
}

function invalidValueError(flag: string, text: string, problem: string): RetinueError {
  return new RetinueError('invalid_limit', `${flag}: \`${text}\` ${problem}`);
}

/** A duration as a user would write it for a flag: `90s`, `30m`, `1h`. */
export function formatFlagDuration(ms: number): string {
  const units = Object.entries(unitMs).toSorted(([, a], [, b]) => b - a);
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
