// Runs that this process started or resumed on a server. Their events reach the listeners of `Api.watch`, and their outcomes arrive over the stream.
import type { LiveEvent, RunHandle } from '../api/api.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Client } from './client.ts';
import { RemoteError } from './error.ts';
import type { ConnectionState } from './events.ts';

export interface RemoteRuns {
  /** A handle of a run, with its events from the first on, or only those after a position. */
  follow(runId: string, after?: string): RunHandle;
  watch(listener: (event: LiveEvent) => void, options?: { deltas?: boolean }): () => void;
  /** Stops watching all runs, which continue on the server. Their outcomes reject with `paused`. */
  leave(): void;
}

export interface RemoteRunsOptions {
  client: Client;
  onConnection?: ((state: ConnectionState) => void) | undefined;
}

export function createRemoteRuns({ client, onConnection }: RemoteRunsOptions): RemoteRuns {
  const listeners = new Set<(event: LiveEvent) => void>();
  const left = new AbortController();

  function notify(event: LiveEvent): void {
    for (const listener of [...listeners]) {
      try {
        listener(event);
      } catch {
        listeners.delete(listener);
      }
    }
  }

  async function awaitOutcome(runId: string, after: string | undefined): Promise<Outcome> {
    for await (const event of client.events({ tree: runId, after, signal: left.signal, onConnection })) {
      if (event.type === 'reset') {
        const outcome = await client.outcome(runId);
        if (outcome) return outcome;
        continue;
      }
      notify(event);
      if (event.type === 'run.ended' && event.runId === runId) return completeOutcome(event.data.outcome);
    }
    throw new RemoteError('paused', `run ${runId} continues on the server`);
  }

  return {
    follow(runId, after) {
      const outcome = awaitOutcome(runId, after);
      // The caller may look at the outcome later, or never.
      outcome.catch(() => {});
      return {
        id: runId,
        outcome,
        cancel: async (reason) => void (await client.cancel(runId, { reason })),
        send: async (text, _from, rules) => void (await client.message(runId, { text, ...(rules?.length ? { rules } : {}) })),
        pause: (reason) => void client.pause(runId, { reason }).catch(() => {}),
        compact: () => {
          client.compact(runId).catch(() => {});
          return true;
        },
        resume: () => void client.resume(runId).catch(() => {}),
        async answer({ turn, index, hash }, { allowed, always, reason }) {
          const answer = { allowed, hash, ...(always ? { always } : {}), ...(reason ? { reason } : {}) };
          return (await client.answer(`${runId}.${turn}.${index}`, answer)).result !== 'late';
        },
      };
    },
    watch(given, { deltas = true } = {}) {
      const listener = (event: LiveEvent) => (deltas || event.type !== 'delta') && given(event);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    leave: () => left.abort(),
  };
}
