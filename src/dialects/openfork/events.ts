// The six sub-session events of the source, made from facts and deltas. Progress is batched for 16 ms. The only state is each run's
// parent, and whether its text has arrived as deltas.
import type { Delta } from '../../contract/delta.ts';
import type { Fact } from '../../contract/fact.ts';
import type { Clock } from '../../ports/clock.ts';
import { toOneLine } from '../shared/one-line.ts';
import { formatFailure, outcomeToStatus, type SubSessionStatus } from './texts.ts';
import { agentToType } from './types.ts';

export const batchMs = 16;

interface SubSession {
  subSessionId: string;
  parentSessionId: string;
}
export type SubSessionProgress = { type: 'SubSessionProgress'; partType: 'text' | 'tool' | 'error'; content: string } & SubSession;
export type SubSessionEvent =
  | ({ type: 'SubSessionCreated'; agentType: string } & SubSession)
  | { type: 'SubSessionStatusChanged'; subSessionId: string; oldStatus: SubSessionStatus; newStatus: SubSessionStatus }
  | SubSessionProgress
  | ({ type: 'SubSessionCompleted'; result: string } & SubSession)
  | ({ type: 'SubSessionFailed'; error: string } & SubSession)
  | ({ type: 'SubSessionCancelled' } & SubSession);

/** Maps events one by one. Events of roots, and facts that the source has no event for, give null. */
export function createSubSessionMapper(): (event: Fact | Delta) => SubSessionEvent | null {
  const parents = new Map<string, string>();
  /** Runs whose current answer has arrived as deltas. Readers of stored facts get no deltas, so the whole answer is their progress. */
  const streaming = new Set<string>();
  return (event) => {
    if (event.type === 'run.created' && event.data.parentId !== null) parents.set(event.runId, event.data.parentId);
    const parentSessionId = parents.get(event.runId);
    if (parentSessionId === undefined) return null;
    const session = { subSessionId: event.runId, parentSessionId };
    if (event.type === 'delta' && event.kind === 'text') streaming.add(event.runId);
    if (event.type === 'run.ended') parents.delete(event.runId);
    if (event.type !== 'model.answered') return toSubSessionEvent(event, session);
    const text = event.data.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
    return streaming.delete(event.runId) || text.trim() === '' ? null : createProgress(session, 'text', text);
  };
}

function toSubSessionEvent(event: Fact | Delta, session: SubSession): SubSessionEvent | null {
  switch (event.type) {
    case 'run.created':
      return { type: 'SubSessionCreated', ...session, agentType: agentToType(event.data.agent) };
    case 'run.started':
      return { type: 'SubSessionStatusChanged', subSessionId: session.subSessionId, oldStatus: 'Pending', newStatus: 'Running' };
    case 'delta':
      return event.kind === 'text' ? createProgress(session, 'text', event.text) : null;
    case 'tool.asked':
      return event.data.rejected === null
        ? createProgress(session, 'tool', `${event.data.tool} ${JSON.stringify(event.data.arguments)}`)
        : null;
    case 'tool.finished':
      return event.data.status === 'ok' ? null : createProgress(session, 'error', event.data.output);
    case 'model.failed':
      return createProgress(session, 'error', `${event.data.error.code}: ${event.data.error.message}`);
    case 'run.ended': {
      const { outcome } = event.data;
      const status = outcomeToStatus(outcome);
      if (status === 'Completed') return { type: 'SubSessionCompleted', ...session, result: outcome.summary };
      if (status === 'Cancelled') return { type: 'SubSessionCancelled', ...session };
      return { type: 'SubSessionFailed', ...session, error: formatFailure(outcome) };
    }
    default:
      return null;
  }
}

function createProgress(session: SubSession, partType: SubSessionProgress['partType'], content: string): SubSessionProgress {
  return { type: 'SubSessionProgress', ...session, partType, content: partType === 'text' ? content : toOneLine(content) };
}

/**
 * Converts the events of a tree (`run.events({ tree: true })`). Progress is delayed by at most 16 ms, and text of one subagent that
 * arrives in that time is joined. Other events are delivered immediately, after the progress before them.
 */
export async function* subSessionEvents(
  events: AsyncIterable<Fact | Delta>,
  { clock }: { clock: Pick<Clock, 'at' | 'monotonic'> },
): AsyncGenerator<SubSessionEvent> {
  const mapEvent = createSubSessionMapper();
  const source = events[Symbol.asyncIterator]();
  let batch: SubSessionProgress[] = [];
  let due: Promise<null> | null = null;
  let cancelTimer = () => {};
  const flush = () => {
    const ready = batch;
    cancelTimer();
    [batch, due] = [[], null];
    return ready;
  };
  try {
    for (let next = source.next(); ; ) {
      const first = await Promise.race(due === null ? [next] : [next, due]);
      if (first === null) {
        yield* flush();
        continue;
      }
      if (first.done) break;
      next = source.next();
      const event = mapEvent(first.value);
      if (event === null) continue;
      if (event.type !== 'SubSessionProgress') {
        yield* flush();
        yield event;
        continue;
      }
      addToBatch(batch, event);
      due ??= new Promise((resolve) => {
        cancelTimer = clock.at(clock.monotonic() + batchMs, () => resolve(null));
      });
    }
    yield* flush();
  } finally {
    cancelTimer();
    // Not awaited: a source that is waiting for its next event settles only when that arrives.
    source.return?.().then(undefined, () => {});
  }
}

function addToBatch(batch: SubSessionProgress[], event: SubSessionProgress): void {
  const last = batch.findLast(({ subSessionId }) => subSessionId === event.subSessionId);
  if (last?.partType === 'text' && event.partType === 'text') last.content += event.content;
  else batch.push({ ...event });
}
