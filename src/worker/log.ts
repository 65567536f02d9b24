// What a worker reports: one line for each event, as text for people or as JSON for programs that collect logs.
import type { Instant } from '../contract/ids.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { shortId } from '../views/format.ts';

export type WorkerEvent =
  | { event: 'started'; worker: string; queues: string[]; concurrency: number }
  | { event: 'health'; url: string }
  | { event: 'tree.taken'; rootId: string; queue: string; isOrphan: boolean }
  | { event: 'tree.ended'; rootId: string; status: string }
  | { event: 'tree.rests'; rootId: string; until: Instant | null }
  | { event: 'tree.handed_back'; rootId: string }
  | { event: 'tree.lost'; rootId: string }
  | { event: 'tree.put_back'; rootId: string; reason: string }
  | { event: 'schedule.due'; schedule: string; rootId: string; isNew: boolean }
  | { event: 'problem'; message: string }
  | { event: 'stopping'; trees: number }
  | { event: 'stopped' };

export type WorkerLog = (event: WorkerEvent) => void;

/** One line without its end. */
export function formatEvent(event: WorkerEvent, at: Instant, json: boolean): string {
  if (json) return JSON.stringify({ at, level: levelOf(event), ...event });
  return `${at.slice(11, 19)} ${sanitizeLine(describe(event))}`;
}

function levelOf({ event }: WorkerEvent): 'info' | 'warn' {
  return event === 'problem' || event === 'tree.put_back' || event === 'tree.lost' ? 'warn' : 'info';
}

function describe(event: WorkerEvent): string {
  switch (event.event) {
    case 'started':
      return `worker ${event.worker} takes runs from ${event.queues.join(', ')}, up to ${event.concurrency} at a time`;
    case 'health':
      return `health checks at ${event.url}/healthz and ${event.url}/readyz`;
    case 'tree.taken':
      return event.isOrphan
        ? `${shortId(event.rootId)} taken over from a dead process`
        : `${shortId(event.rootId)} taken from ${event.queue}`;
    case 'tree.ended':
      return `${shortId(event.rootId)} ${event.status}`;
    case 'tree.rests':
      return `${shortId(event.rootId)} waits ${event.until === null ? 'until somebody continues it' : `until ${event.until}`}`;
    case 'tree.handed_back':
      return `${shortId(event.rootId)} handed back to the queue`;
    case 'tree.lost':
      return `${shortId(event.rootId)} was taken by another process`;
    case 'tree.put_back':
      return `${shortId(event.rootId)} put back: ${event.reason}`;
    case 'schedule.due':
      return `schedule ${event.schedule} is due: ${shortId(event.rootId)}${event.isNew ? '' : ' (already queued)'}`;
    case 'problem':
      return event.message;
    case 'stopping':
      return event.trees === 0 ? 'stopping' : `stopping; ${event.trees} ${event.trees === 1 ? 'run goes' : 'runs go'} back to the queue`;
    case 'stopped':
      return 'stopped';
  }
}
