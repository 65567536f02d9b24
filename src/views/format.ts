// Numbers and statuses as text.
import type { OutcomeStatus, Tokens } from '../contract/outcome.ts';
import type { RunStatus } from '../contract/run-status.ts';

export type ShownStatus = RunStatus | 'interrupted';

export const statusGlyph: Record<ShownStatus, string> = {
  queued: '○',
  running: '●',
  waiting: '◐',
  paused: '‖',
  interrupted: '?',
  completed: '✓',
  failed: '✗',
  timed_out: '✗',
  cancelled: '⊘',
  exhausted: '!',
};

/** The beginning of an id, as people see it. Commands accept any unique beginning. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${twoDigits(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h${twoDigits(minutes % 60)}m` : `${Math.floor(hours / 24)}d${twoDigits(hours % 24)}h`;
}

/** A time of day, with the date if it is another day. */
export function formatInstant(iso: string, now: number): string {
  const day = iso.slice(0, 10);
  return `${day === new Date(now).toISOString().slice(0, 10) ? '' : `${day} `}${iso.slice(11, 16)} UTC`;
}

/** For a run that is not running: its time limit keeps counting. */
export function describeDeadline(deadline: string, now: number): string {
  return `its time limit ${Date.parse(deadline) <= now ? 'ended' : 'ends'} at ${formatInstant(deadline, now)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

export function formatCount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${(value / 1000).toFixed(value < 9950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** `97 %`. A share that is neither nothing nor everything is never shown as that. */
export function formatShare(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  if (percent > 0 && percent < 1) return '<1 %';
  return `${percent < 100 ? Math.min(99, Math.round(percent)) : 100} %`;
}

export function totalTokens(tokens: Tokens): number {
  return tokens.input + tokens.output;
}

/** Empty if the cost is unknown: an unknown price is never shown as zero. */
export function formatCost(usd: number | null): string {
  if (usd === null) return '';
  if (usd === 0) return '$0';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function formatBytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)} kB` : `${(value / 1_000_000).toFixed(1)} MB`;
}

/** What erasing gave back to the file system. */
export function describeFreedBytes(freed: number): string {
  if (freed > 0) return `the database is ${formatBytes(freed)} smaller on disk`;
  return 'the database is not smaller on disk; later runs use the free space in it';
}

export function formatPlural(value: number, word: string): string {
  return `${value} ${word}${value === 1 ? '' : 's'}`;
}

export function formatStatus(status: OutcomeStatus | ShownStatus): string {
  return status.replace('_', ' ');
}

/** A path as one argument in a shell. */
export function quoteForShell(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
