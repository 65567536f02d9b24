// Runs that a principal may see and that another session or process drives: waits for them and gives them orders through the API, which reaches the process
// that drives them. Principals that may not start runs have no client run; for them nothing is written but these orders.
import type { Api } from '../api/api.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import { factsToLog } from '../kernel/delegation/child-log.ts';
import { createClientTag, findClientId } from '../kernel/delegation/client-reach.ts';
import { cutPage, stateToPart } from '../kernel/delegation/delegation.ts';
import { foldFacts } from '../kernel/state/fold.ts';
import { stateToRow } from '../kernel/state/outcome.ts';
import { endedFact } from '../kernel/state/state.ts';
import type { ChildView, Delegation, DelegationStart } from '../ports/delegation.ts';
import { emptyDelegation } from './delegation.ts';

type ReadingApi = Pick<Api, 'show' | 'logs'>;

/** How long a cancelled run may take to end before the call answers. */
const endMs = 5_000;

/** Reads what clients of this name delegated, or what all clients did. */
export function createReadingDelegation(api: ReadingApi, { name, seesAllClients }: { name: string; seesAllClients: boolean }): Delegation {
  async function loadFacts(id: string): Promise<Fact[] | null> {
    const run = await findRun(id, api);
    const clientId = run && run.erasedAt === undefined ? (run.parentId ?? findClientId(run.brief?.tags)) : null;
    const client = clientId === null ? null : await findRun(clientId, api);
    if (client?.kind !== 'client') return null;
    if (!seesAllClients && !client.brief?.tags?.includes(createClientTag(name))) return null;
    return (await api.logs(id)) as Fact[];
  }

  return {
    ...emptyDelegation,
    async viewEarlier(id) {
      const facts = await loadFacts(id);
      if (!facts) return null;
      const state = foldFacts(facts);
      const ended = endedFact(state);
      return { row: stateToRow(state), outcome: ended && completeOutcome(ended.data.outcome), taint: [...state.taint] };
    },
    async read(id, part, page) {
      const facts = await loadFacts(id);
      if (!facts) return null;
      return cutPage(part === 'log' ? factsToLog(facts) : stateToPart(foldFacts(facts), part), page, emptyDelegation.maxOutputBytes);
    },
  };
}

/** Null for an unknown id. A run id over MCP is always whole. */
async function findRun(id: string, api: ReadingApi): Promise<Awaited<ReturnType<Api['show']>> | null> {
  try {
    const run = await api.show(id);
    return run.runId === id ? run : null;
  } catch (error) {
    if (isRetinueError(error) && (error.code === 'unknown_run' || error.code === 'ambiguous_id')) return null;
    throw error;
  }
}

export interface OtherRunsOptions {
  api: Pick<Api, 'wait' | 'message' | 'cancel'>;
  /** Ids that the request waits for; null waits for the caller's own runs. */
  waitIds: string[] | null;
  /** Why a finished run cannot be asked a follow-up; null if it can. */
  followUpRefusal: string | null;
}

/** The same delegation, extended to runs that it can view and that are driven elsewhere. */
export function includeOtherRuns(own: Delegation, { api, waitIds, followUpRefusal }: OtherRunsOptions): Delegation {
  /** Null for an own run, an unknown one, and one that has ended. */
  async function findOpenElsewhere(id: string): Promise<ChildView | null> {
    const view = own.view(id) ? null : await own.viewEarlier(id);
    return view && !view.outcome ? view : null;
  }

  async function listOpenElsewhere(ids: string[]): Promise<string[]> {
    const views = await Promise.all(ids.map(findOpenElsewhere));
    return views.flatMap((view) => (view ? [view.row.runId] : []));
  }

  /** Null if the run ended meanwhile. The API starts no follow-up: that belongs to the caller's own runs, and needs the role for it. */
  async function sendElsewhere(id: string, text: string): Promise<DelegationStart | null> {
    try {
      await api.message(id, text, { followUp: false });
      return { ok: true, runId: id };
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      return error.code === 'parent_ended' && !(await findOpenElsewhere(id)) ? null : { ok: false, error: error.info };
    }
  }

  return {
    ...own,
    async wait(ids, { mode, ms, signal }) {
      const others = ms === 0 ? [] : await listOpenElsewhere((waitIds ?? []).filter((id) => !ids.includes(id)));
      if (others.length === 0) return own.wait(ids, { mode, ms, ...(signal && { signal }) });
      const over = new AbortController();
      const stop = AbortSignal.any([over.signal, ...(signal ? [signal] : []), ...(ms === null ? [] : [AbortSignal.timeout(ms)])]);
      const waits = [
        api.wait(others, { any: mode === 'any', signal: stop }),
        ...(ids.length > 0 ? [own.wait(ids, { mode, ms, signal: stop })] : []),
      ];
      try {
        await (mode === 'any' ? Promise.race(waits) : Promise.all(waits));
      } finally {
        over.abort();
      }
    },
    async message(idOrLabel, text, options): Promise<DelegationStart> {
      const id = options?.newest ? own.newest(idOrLabel) : idOrLabel;
      const sent = (await findOpenElsewhere(id)) && (await sendElsewhere(id, text));
      if (sent) return sent;
      const isFinished = !own.view(id) && (await own.viewEarlier(id)) !== null;
      if (isFinished && followUpRefusal !== null) return { ok: false, error: new RetinueError('denied', followUpRefusal).info };
      return own.message(idOrLabel, text, options);
    },
    async cancel(ids, reason) {
      await own.cancel(ids, reason);
      const others = await listOpenElsewhere(ids);
      if (others.length === 0) return;
      await api.cancel(others, reason ?? 'cancelled by a client');
      await api.wait(others, { any: false, signal: AbortSignal.timeout(endMs) });
    },
  };
}
