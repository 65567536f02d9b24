import type { ReactNode } from 'react';
import { formatStatus, type ShownStatus, statusGlyph } from '../../../src/views/format.ts';

export type Tone = 'neutral' | 'running' | 'ok' | 'warning' | 'error' | 'paused';

export const statusTone: Record<ShownStatus, Tone> = {
  queued: 'neutral',
  running: 'running',
  waiting: 'running',
  paused: 'paused',
  interrupted: 'warning',
  completed: 'ok',
  failed: 'error',
  timed_out: 'error',
  cancelled: 'neutral',
  exhausted: 'warning',
};

export interface StatusMarkProps {
  status: ShownStatus;
  /** Completed, but some of its calls failed or were denied. */
  hasProblems?: boolean;
  /** It waits for the user. */
  needsUser?: boolean;
  /** Show the word besides the mark. */
  withText?: boolean;
}

/** The state of a run. Without text, screen readers still get the word. */
export function StatusMark({ status, hasProblems = false, needsUser = false, withText = false }: StatusMarkProps): ReactNode {
  const tone = needsUser || (hasProblems && status === 'completed') ? 'warning' : statusTone[status];
  const text = formatStatus(status);
  return (
    <span className={`status tone-${tone} ${status === 'running' ? 'is-live' : ''}`} title={withText ? undefined : text}>
      <span className="status-glyph" aria-hidden="true">
        {statusGlyph[status]}
      </span>
      <span className={withText ? 'status-text' : 'visually-hidden'}>{text}</span>
    </span>
  );
}

export function Badge({ tone = 'neutral', title, children }: { tone?: Tone; title?: string; children: ReactNode }): ReactNode {
  return (
    <span className={`badge tone-${tone}`} title={title}>
      {children}
    </span>
  );
}
