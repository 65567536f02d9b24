// Numbers: durations that tick, ages, money, tokens.
import type { ReactNode } from 'react';
import { formatCost, formatCount, formatDuration } from '../../../src/views/format.ts';
import { useNow } from './clock.ts';

type Moment = string | number | null | undefined;

function toMs(moment: Moment): number | null {
  if (moment === null || moment === undefined) return null;
  return typeof moment === 'number' ? moment : Date.parse(moment);
}

/** The time from one moment to another; without `to`, until now, ticking. */
export function Duration({ from, to }: { from: Moment; to?: Moment }): ReactNode {
  const start = toMs(from);
  const end = toMs(to);
  const now = useNow(start !== null && end === null);
  if (start === null) return <span className="figure">–</span>;
  return <span className="figure">{end === null ? formatTicking(now - start) : formatDuration(end - start)}</span>;
}

/** Whole seconds, so that the text changes once per second. */
function formatTicking(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds === 0 ? '0s' : formatDuration(seconds * 1000);
}

/** The time until a moment; `past` is shown afterwards. */
export function Countdown({ to, past }: { to: string | number; past: ReactNode }): ReactNode {
  const left = (toMs(to) as number) - useNow();
  return left <= 0 ? past : <span className="figure">{formatTicking(left + 999)}</span>;
}

/** How long ago something was, with the full time as a tooltip. */
export function Age({ at }: { at: string | number | null }): ReactNode {
  const moment = toMs(at);
  const now = useNow(moment !== null);
  if (moment === null) return <span className="figure">–</span>;
  const date = new Date(moment);
  return (
    <time className="figure" dateTime={date.toISOString()} title={formatTime(moment)}>
      {formatAge(Math.max(0, now - moment))}
    </time>
  );
}

function formatAge(ms: number): string {
  if (ms < 5_000) return 'just now';
  if (ms < 60_000) return `${Math.floor(ms / 1000)}s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)}h ago`;
  return `${Math.floor(ms / 86_400_000)}d ago`;
}

const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Date and time in the user's zone. */
export function formatTime(at: string | number): string {
  return dateFormat.format(toMs(at) as number);
}

/** The time of day in the user's zone, with milliseconds. */
export function formatClock(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** An unknown price is never shown as zero. */
export function Money({ usd }: { usd: number | null }): ReactNode {
  if (usd === null)
    return (
      <span className="figure muted" title="no price is known for the model">
        –
      </span>
    );
  return <span className="figure">{formatCost(usd)}</span>;
}

/** `value`: a number, or the token counts of a run, of which input and output are shown. */
export function Tokens({ value }: { value: number | { input: number; output: number; cached?: number; reasoning?: number } }): ReactNode {
  const total = typeof value === 'number' ? value : value.input + value.output;
  const title =
    typeof value === 'number'
      ? `${total.toLocaleString('en')} tokens`
      : [
          `${value.input.toLocaleString('en')} input`,
          `${value.output.toLocaleString('en')} output`,
          ...(value.cached ? [`${value.cached.toLocaleString('en')} of the input cached`] : []),
          ...(value.reasoning ? [`${value.reasoning.toLocaleString('en')} of the output reasoning`] : []),
        ].join(' · ');
  return (
    <span className="figure" title={title}>
      {formatCount(total)}
    </span>
  );
}
