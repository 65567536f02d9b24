// The states of a run. Without a schema library, so that the dashboard can use it at no cost.
import type { OutcomeStatus } from './outcome.ts';

export const liveStatuses = ['queued', 'running', 'waiting', 'paused'] as const;
export type LiveStatus = (typeof liveStatuses)[number];
export type RunStatus = LiveStatus | OutcomeStatus;

export function isLive(status: RunStatus): status is LiveStatus {
  return (liveStatuses as readonly string[]).includes(status);
}
