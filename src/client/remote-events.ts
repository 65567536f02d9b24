// The parts of the event stream that a reader of one run, or of several, wants.
import type { Api, StreamEvent } from '../api/api.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import type { Delta } from '../contract/delta.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Client } from './client.ts';
import { isRemoteError, RemoteError } from './error.ts';
import type { ConnectionState, EventStreamOptions } from './events.ts';

export interface RemoteEventsDeps {
  client: Client;
  /** Fires when the API is closed. */
  closed: AbortSignal;
  onConnection?: ((state: ConnectionState) => void) | undefined;
}

type RemoteEvents = Pick<Api, 'follow' | 'events' | 'stream' | 'wait'>;

export function createRemoteEvents({ client, closed, onConnection }: RemoteEventsDeps): RemoteEvents {
  const open = ({ signal, ...options }: EventStreamOptions): AsyncGenerator<StreamEvent> =>
    client.events({ ...options, onConnection, signal: signal ? AbortSignal.any([signal, closed]) : closed });

  /** Ends with the run. An erased run has no events. */
  async function* runEvents(
    id: string,
    options: { tree?: boolean; after?: string; signal?: AbortSignal },
  ): AsyncGenerator<StoredFact | Delta> {
    const { tree = false, after, signal } = options;
    const { runId, endedAt, erasedAt } = await client.run(id, { signal });
    if (erasedAt !== undefined) return;
    const isOfInterest = tree ? await createSubtreeFilter(runId, after) : (event: { runId: string }) => event.runId === runId;
    if (after !== undefined && endedAt !== null && (await isOver(runId, after))) return;
    try {
      for await (const event of open({ tree: runId, after, signal })) {
        if (event.type === 'reset')
          throw new RemoteError('usage', `the log of run ${runId} no longer has that position; read it from the beginning`);
        if (!isOfInterest(event)) continue;
        yield event;
        if (event.type === 'run.ended' && event.runId === runId) return;
      }
    } catch (error) {
      if (!isRemoteError(error) || error.code !== 'erased') throw error;
    }
  }

  /** Whether the end of a run is not after this position, so that nothing of it would come. */
  async function isOver(runId: string, after: string): Promise<boolean> {
    return !(await client.facts(runId, { after })).some(({ type }) => type === 'run.ended');
  }

  /** Accepts events of a run and its descendants. A reader in the middle learns from a snapshot which runs these are. */
  async function createSubtreeFilter(runId: string, after: string | undefined): Promise<(event: StoredFact | Delta) => boolean> {
    const ids = new Set([runId]);
    if (after !== undefined)
      for (const { id, parentId } of (await client.tree(runId)).runs) if (parentId !== null && ids.has(parentId)) ids.add(id);
    return (event) => {
      if (event.type === 'run.created' && event.data.parentId !== null && ids.has(event.data.parentId)) ids.add(event.runId);
      return ids.has(event.runId);
    };
  }

  return {
    stream: open,
    events: (id, options = {}) => runEvents(id, options),
    async *follow(id, options) {
      for await (const event of runEvents(id, options)) if (event.type !== 'delta') yield event;
    },
    async wait(ids, { any, signal }) {
      // The position comes first: what ends while the runs are looked at comes over the stream again.
      const after = await client.position({ signal });
      const runs = await Promise.all(ids.map((id) => client.run(id, { signal })));
      const outcomes = await Promise.all(runs.map(loadOutcome));
      const isDone = () => (any ? outcomes.some((each) => each !== null) : outcomes.every((each) => each !== null));
      const [root, ...otherRoots] = new Set(runs.map(({ rootId }) => rootId));
      if (isDone() || root === undefined) return outcomes;
      for await (const event of open({ tree: otherRoots.length === 0 ? root : undefined, after, signal })) {
        for (const [i, { runId }] of runs.entries()) {
          if (event.type === 'run.ended' && event.runId === runId) outcomes[i] = completeOutcome(event.data.outcome);
          if (event.type === 'reset') outcomes[i] ??= await client.outcome(runId);
        }
        if (isDone()) break;
      }
      return outcomes;
    },
  };

  async function loadOutcome({ runId, erasedAt, outcome }: Awaited<ReturnType<Client['run']>>): Promise<Outcome | null> {
    // The server's own error says that, and when, the run was erased.
    return erasedAt === undefined ? outcome : client.outcome(runId);
  }
}
