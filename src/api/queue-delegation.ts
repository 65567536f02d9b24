// Delegation of a client whose briefs go into a queue: each is a tree of its own, which a worker drives. They outlive the client.

import type { Brief } from '../contract/brief.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import { isRetinueError } from '../contract/error.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import { cutPage, findNewest, readPart } from '../kernel/delegation.ts';
import { unknownChildError } from '../kernel/dialect-tools.ts';
import { followUpBrief, loadState } from '../kernel/history.ts';
import type { Clock } from '../ports/clock.ts';
import type { ChildView, Delegation, DelegationStart } from '../ports/delegation.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import type { Api } from './api.ts';

export interface QueueDelegationDeps {
  api: Pick<Api, 'enqueue' | 'wait' | 'cancel' | 'message'>;
  store: Store;
  clock: Clock;
  redact: Redact;
  queue: string;
  /** Of the client: each brief has at most these. */
  limits: LimitsGiven;
}

/** `own`: the delegation of the client run, for runs of earlier clients. */
export function createQueueDelegation(own: Delegation, { api, store, clock, redact, queue, limits }: QueueDelegationDeps): Delegation {
  const children = new Map<string, ChildView>();
  const created: { id: string; label: string | null; continues: string | null }[] = [];

  async function refresh(runId: string): Promise<ChildView | null> {
    const row = await store.run(runId);
    if (row === null) return null;
    const [ended] = row.endedAt === null ? [] : await store.facts({ runId, types: ['run.ended'] });
    const view: ChildView = { row, outcome: ended?.type === 'run.ended' ? completeOutcome(ended.data.outcome) : null };
    children.set(runId, view);
    return view;
  }

  async function start(brief: Brief, trace: TraceHeaders | undefined): Promise<DelegationStart> {
    const { continues } = brief;
    if (continues !== undefined && !children.has(continues) && !(await own.recall(continues)))
      return { ok: false, error: unknownChildError(continues).info };
    try {
      const narrowed = { ...brief, limits: narrow(brief.limits ?? {}, limits) };
      const { runId } = await api.enqueue(narrowed, { job: { queue }, usesWorkspace: true, isFromModel: true, trace });
      await refresh(runId);
      created.push({ id: runId, label: brief.label ?? null, continues: continues ?? null });
      return { ok: true, runId };
    } catch (error) {
      if (isRetinueError(error)) return { ok: false, error: error.info };
      throw error;
    }
  }

  async function wait(ids: string[], { mode, ms, signal }: Parameters<Delegation['wait']>[1]): Promise<void> {
    const known = ids.filter((id) => children.has(id));
    if (known.length === 0 || ms === 0) return;
    const stop = new AbortController();
    const end = () => stop.abort();
    const endTimer = ms === null ? () => {} : clock.at(clock.monotonic() + ms, end);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
    try {
      await api.wait(known, { any: mode === 'any', signal: stop.signal });
    } finally {
      endTimer();
      signal?.removeEventListener('abort', end);
    }
    for (const id of known) await refresh(id);
  }

  return {
    ...own,
    async start(briefs, options) {
      const started: DelegationStart[] = [];
      for (const brief of briefs) started.push(await start(brief, options?.trace));
      return started;
    },
    wait,
    view: (id) => children.get(id) ?? null,
    recall: async (id) => (children.has(id) ? refresh(id) : own.recall(id)),
    children: () => [...children.values()],
    newest: (idOrLabel) => findNewest(own.newest(idOrLabel), created),
    async message(idOrLabel, text, options) {
      const id = options?.newest ? findNewest(own.newest(idOrLabel), created) : idOrLabel;
      if (!children.has(id)) return own.message(id, text);
      const view = await refresh(id);
      if (view?.outcome) return start({ ...followUpBrief(await loadState(id, store), text), background: true }, undefined);
      try {
        await api.message(id, text, { followUp: false });
        return { ok: true, runId: id };
      } catch (error) {
        if (isRetinueError(error)) return { ok: false, error: error.info };
        throw error;
      }
    },
    async read(id, part, page) {
      if (!children.has(id)) return own.read(id, part, page);
      return cutPage(await readPart(id, part, { store, redact }), page, own.maxOutputBytes);
    },
    async cancel(ids, reason) {
      const known = ids.filter((id) => children.has(id));
      if (known.length > 0) await api.cancel(known, reason ?? 'cancelled by the client that delegated it');
      for (const id of known) await refresh(id);
      await own.cancel(
        ids.filter((id) => !children.has(id)),
        reason,
      );
    },
  };
}

/** The smaller one of each limit. */
function narrow(given: LimitsGiven, most: LimitsGiven): LimitsGiven {
  const narrowed: Record<string, number> = { ...given } as Record<string, number>;
  for (const [name, value] of Object.entries(most) as [string, number | undefined][])
    if (value !== undefined) narrowed[name] = Math.min(value, narrowed[name] ?? value);
  return narrowed as LimitsGiven;
}
