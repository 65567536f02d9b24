// The six events of the source, read off facts and deltas, with progress gathered for 16 ms at a time. Nothing is remembered but which run is
// whose child.
import type { Delta } from '../../contract/delta.ts';
import type { Fact } from '../../contract/fact.ts';
import type { Clock } from '../../ports/clock.ts';
import { oneLine } from '../shared/one-line.ts';
import { endStatus, failureOf, type SubSessionStatus } from './texts.ts';
import { typeOf } from './types.ts';

export const batchMs = 16;

interface Of {
  subSessionId: string;
  parentSessionId: string;
}
export type SubSessionProgress = { type: 'SubSessionProgress'; partType: 'text' | 'tool' | 'error'; content: string } & Of;
export type SubSessionEvent =
  | ({ type: 'SubSessionCreated'; agentType: string } & Of)
  | { type: 'SubSessionStatusChanged'; subSessionId: string; oldStatus: SubSessionStatus; newStatus: SubSessionStatus }
  | SubSessionProgress
  | ({ type: 'SubSessionCompleted'; result: string } & Of)
  | ({ type: 'SubSessionFailed'; error: string } & Of)
  | ({ type: 'SubSessionCancelled' } & Of);

/** Maps one event after the other; those of roots are none of a sub-session. Pure but for the parents it has seen. */
export function createSubSessionMapper(): (event: Fact | Delta) => SubSessionEvent | null {
  const parents = new Map<string, string>();
  return (event) => {
    if (event.type === 'run.created' && event.data.parentId !== null) parents.set(event.runId, event.data.parentId);
    const parentSessionId = parents.get(event.runId);
    return parentSessionId === undefined ? null : eventOf(event, { subSessionId: event.runId, parentSessionId });
  };
}

function eventOf(event: Fact | Delta, of: Of): SubSessionEvent | null {
  switch (event.type) {
    case 'run.created':
      return { type: 'SubSessionCreated', ...of, agentType: typeOf(event.data.agent) };
    case 'run.started':
      return { type: 'SubSessionStatusChanged', subSessionId: of.subSessionId, oldStatus: 'Pending', newStatus: 'Running' };
    case 'delta':
      return event.kind === 'text' ? progress(of, 'text', event.text) : null;
    case 'tool.asked':
      return event.data.rejected === null ? progress(of, 'tool', `${event.data.tool} ${JSON.stringify(event.data.arguments)}`) : null;
    case 'tool.finished':
      return event.data.status === 'ok' ? null : progress(of, 'error', event.data.output);
    case 'model.failed':
      return progress(of, 'error', `${event.data.error.code}: ${event.data.error.message}`);
    case 'run.ended': {
      const { outcome } = event.data;
      const status = endStatus(outcome);
      if (status === 'Completed') return { type: 'SubSessionCompleted', ...of, result: outcome.summary };
      if (status === 'Cancelled') return { type: 'SubSessionCancelled', ...of };
      return { type: 'SubSessionFailed', ...of, error: failureOf(outcome) };
    }
    default:
      return null;
  }
}

function progress(of: Of, partType: SubSessionProgress['partType'], content: string): SubSessionProgress {
  return { type: 'SubSessionProgress', ...of, partType, content: partType === 'text' ? content : oneLine(content) };
}

/**
 * The events of a run with its tree (`run.events({ tree: true })`) as the source's. Progress waits at most 16 ms, text of one subagent that
 * arrives meanwhile is one piece; every other event comes at once, behind the progress before it.
 */
export async function* subSessionEvents(
  events: AsyncIterable<Fact | Delta>,
  { clock }: { clock: Pick<Clock, 'at' | 'monotonic'> },
): AsyncGenerator<SubSessionEvent> {
  const map = createSubSessionMapper();
  const source = events[Symbol.asyncIterator]();
  let batch: SubSessionProgress[] = [];
  let due: Promise<null> | null = null;
  let endTimer = () => {};
  const flush = () => {
    const ready = batch;
    endTimer();
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
      const event = map(first.value);
      if (event === null) continue;
      if (event.type !== 'SubSessionProgress') {
        yield* flush();
        yield event;
        continue;
      }
      add(batch, event);
      due ??= new Promise((resolve) => {
        endTimer = clock.at(clock.monotonic() + batchMs, () => resolve(null));
      });
    }
    yield* flush();
  } finally {
    endTimer();
    // Not awaited: a source that waits for its next event answers only when that has come.
    source.return?.().then(undefined, () => {});
  }
}

function add(batch: SubSessionProgress[], event: SubSessionProgress): void {
  const last = batch.findLast(({ subSessionId }) => subSessionId === event.subSessionId);
  if (last?.partType === 'text' && event.partType === 'text') last.content += event.content;
  else batch.push({ ...event });
}
