// Delegation of a client whose briefs go into a queue: each is a tree of its own, which a worker drives. They outlive the client; a tag of the brief names
// the client run, so that a later connection of the same client finds them.
import type { Brief } from '../contract/brief.ts';
import { completeOutcome } from '../contract/complete-outcome.ts';
import { isRetinueError } from '../contract/error.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { RunRow } from '../contract/run.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import { type ClientReach, canSeeClient, findClientId, tagQueuedBrief } from '../kernel/delegation/client-reach.ts';
import { cutPage, findNewest, readPart } from '../kernel/delegation/delegation.ts';
import { unknownChildError } from '../kernel/delegation/dialect-tools.ts';
import { createFollowUpBrief, loadState } from '../kernel/recovery/history.ts';
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
  /** The run of the client. */
  clientId: string;
  /** Which runs of other clients it may see. */
  reach: ClientReach;
  /** Of the client: each brief has at most these. */
  limits: LimitsGiven;
}

/** Open trees that are looked at for those of earlier connections. */
const maxListed = 200;

/** `own`: the delegation of the client run, for runs of earlier clients without a queue. Open runs of earlier connections are listed like its own. */
export async function openQueueDelegation(own: Delegation, deps: QueueDelegationDeps): Promise<Delegation> {
  const { api, store, clock, redact, queue, limits, clientId } = deps;
  const reach = { ...deps.reach, formerIds: [...deps.reach.formerIds, clientId] };
  const children = new Map<string, ChildView>();
  const created: { id: string; label: string | null; continues: string | null }[] = [];
  for (const { view, continues } of await findEarlierTrees(reach, store)) {
    children.set(view.row.runId, view);
    created.push({ id: view.row.runId, label: view.row.label, continues });
  }

  async function refresh(runId: string): Promise<ChildView | null> {
    const row = await store.run(runId);
    if (row === null) return null;
    const view = await loadView(row, store);
    children.set(runId, view);
    return view;
  }

  /** Also a run that an earlier connection delegated to a queue. */
  async function viewEarlier(id: string): Promise<ChildView | null> {
    if (children.has(id)) return refresh(id);
    const row = await store.run(id);
    const client = row && (await findClient(row, store));
    if (row && client) return (await canSeeClient(client.row, reach, store)) ? loadView(row, store) : null;
    return own.viewEarlier(id);
  }

  /** Whether it is a tree of a queue that the client may see. */
  async function isVisible(id: string): Promise<boolean> {
    return children.has(id) || (await viewEarlier(id))?.row.parentId === null;
  }

  async function start(brief: Brief, trace: TraceHeaders | undefined): Promise<DelegationStart> {
    const { continues } = brief;
    if (continues !== undefined && !(await viewEarlier(continues))) return { ok: false, error: unknownChildError(continues).info };
    try {
      const narrowed = { ...brief, limits: narrow(brief.limits ?? {}, limits), tags: tagQueuedBrief(brief.tags ?? [], clientId) };
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
    viewEarlier,
    children: () => [...children.values()],
    newest: (idOrLabel) => findNewest(own.newest(idOrLabel), created),
    async message(idOrLabel, text, options) {
      const id = options?.newest ? findNewest(own.newest(idOrLabel), created) : idOrLabel;
      if (!(await isVisible(id))) return own.message(id, text);
      const view = await viewEarlier(id);
      if (view?.outcome) return start({ ...createFollowUpBrief(await loadState(id, store), text), background: true }, undefined);
      try {
        await api.message(id, text, { followUp: false });
        return { ok: true, runId: id };
      } catch (error) {
        if (isRetinueError(error)) return { ok: false, error: error.info };
        throw error;
      }
    },
    async read(id, part, page) {
      if (!(await isVisible(id))) return own.read(id, part, page);
      return cutPage(await readPart(id, part, { store, redact }), page, own.maxOutputBytes);
    },
    async cancel(ids, reason) {
      const known: string[] = [];
      for (const id of ids) if (await isVisible(id)) known.push(id);
      if (known.length > 0) await api.cancel(known, reason ?? 'cancelled by the client that delegated it');
      for (const id of known) if (children.has(id)) await refresh(id);
      await own.cancel(
        ids.filter((id) => !known.includes(id)),
        reason,
      );
    },
  };
}

async function loadView(row: RunRow, store: Store): Promise<ChildView> {
  const [ended] = row.endedAt === null ? [] : await store.facts({ runId: row.runId, types: ['run.ended'] });
  return { row, outcome: ended?.type === 'run.ended' ? completeOutcome(ended.data.outcome) : null };
}

/** The client run that delegated a tree to a queue, and the run that the tree continues. Null for other runs. */
async function findClient({ runId, parentId, erasedAt }: RunRow, store: Store): Promise<{ row: RunRow; continues: string | null } | null> {
  if (parentId !== null || erasedAt !== undefined) return null;
  const [fact] = await store.facts({ runId, types: ['run.created'] });
  const brief = fact?.type === 'run.created' ? fact.data.brief : null;
  const clientId = findClientId(brief?.tags);
  const row = clientId === null ? null : await store.run(clientId);
  return row?.kind === 'client' ? { row, continues: brief?.continues ?? null } : null;
}

/** The open trees that earlier connections of this client delegated to a queue, oldest first. */
async function findEarlierTrees(reach: ClientReach, store: Store): Promise<{ view: ChildView; continues: string | null }[]> {
  if (reach.name === null) return [];
  const named = { ...reach, seesAllClients: false };
  const roots = (await store.runs({ roots: true, live: true, order: 'newest', limit: maxListed })).filter(({ kind }) => kind === 'agent');
  const queued = await store.queue?.findTrees(roots.map(({ runId }) => runId));
  const visible = new Map<string, boolean>();
  const found: { view: ChildView; continues: string | null }[] = [];
  for (const row of roots.reverse()) {
    const client = queued?.has(row.runId) ? await findClient(row, store) : null;
    if (!client) continue;
    const isVisible = visible.get(client.row.runId) ?? (await canSeeClient(client.row, named, store));
    visible.set(client.row.runId, isVisible);
    if (isVisible) found.push({ view: { row, outcome: null }, continues: client.continues });
  }
  return found;
}

/** The smaller one of each limit. */
function narrow(given: LimitsGiven, most: LimitsGiven): LimitsGiven {
  const narrowed: Record<string, number> = { ...given } as Record<string, number>;
  for (const [name, value] of Object.entries(most) as [string, number | undefined][])
    if (value !== undefined) narrowed[name] = Math.min(value, narrowed[name] ?? value);
  return narrowed as LimitsGiven;
}
