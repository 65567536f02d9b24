// One run in detail, from its row and its facts.
import { completeOutcome } from '../contract/complete-outcome.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact, FactOf } from '../contract/fact.ts';
import { loadPinnedServers } from '../kernel/recovery/pinned-agent.ts';
import type { Store } from '../ports/store.ts';
import { subtreeRows } from '../records/descendants.ts';
import { findRun } from '../records/find-run.ts';
import { isoToMs, msToIso } from '../text/instant.ts';
import type { RunDetail, RunView } from './api.ts';
import { findFileNotices } from './changes.ts';
import { loadCompactions } from './compactions.ts';
import { describeModels } from './model-changes.ts';
import type { createRunViews } from './run-views.ts';
import { findTreeDrivers } from './tree-drivers.ts';
import { findPauseInRows } from './tree-pause.ts';

export function createShow(store: Store, rowsToViews: ReturnType<typeof createRunViews>): (id: string) => Promise<RunDetail> {
  return async (id) => {
    const row = await findRun(id, store);
    const facts = await store.facts({
      runId: row.runId,
      types: [
        'run.started',
        'run.ended',
        'run.paused',
        'run.resumed',
        'model.asked',
        'tool.finished',
        'child.ended',
        'message.received',
        'session.opened',
        'workspace.prepared',
        'workspace.saved',
        'context.compacted',
      ],
    });
    const started = facts.find((fact) => fact.type === 'run.started') as FactOf<'run.started'> | undefined;
    const created = row.erasedAt === undefined ? await loadCreated(row.runId, store) : null;
    const ended = facts.find((fact) => fact.type === 'run.ended') as FactOf<'run.ended'> | undefined;
    const sessions = facts.flatMap((fact) => (fact.type === 'session.opened' ? [fact.data] : []));
    const children = await store.runs({ parentId: row.runId, order: 'oldest' });
    const [view, ...childViews] = await rowsToViews([row, ...children]);
    const driver = (await findTreeDrivers([row.rootId], store)).get(row.rootId);
    const pause =
      view?.status === 'paused'
        ? await findPauseInRows(subtreeRows(await store.runs({ rootId: row.rootId, live: true }), row.runId), store)
        : null;
    return {
      ...(view as RunView),
      ...(pause && { pause }),
      ...(row.endedAt === null && driver?.queue && { queue: driver.queue }),
      brief: created?.data.brief ?? null,
      grant: created?.data.grant ?? null,
      outcome: ended ? completeOutcome(ended.data.outcome) : null,
      pid: row.endedAt === null ? (driver?.pid ?? null) : null,
      host: created?.data.host ?? null,
      servers: created && row.endedAt === null ? await loadPinnedServers(created, store) : {},
      model: row.model ?? started?.data.model ?? null,
      ...(created?.data.external && {
        external: {
          program: created.data.external.agent,
          version: sessions.at(-1)?.version ?? null,
          gated: created.data.external.gated,
        },
      }),
      ...describeModels(created?.data ?? null, facts),
      ...(await loadCompactions(row.runId, facts, store)),
      deadline: started ? factsToDeadline(started.data.deadline, facts) : null,
      addedRules: facts.flatMap((fact) => (fact.type === 'message.received' ? (fact.data.rules ?? []) : [])),
      notices: created
        ? [
            ...created.data.notices,
            ...(created.data.missingTools === undefined ? [] : [created.data.missingTools]),
            ...new Set(sessions.flatMap(({ notices }) => notices)),
            ...findFileNotices(facts),
          ]
        : [],
      taint: factsToTaint(facts),
      ...(row.erasedAt === undefined ? {} : { erasedAt: row.erasedAt }),
      children: childViews,
    };
  };
}

export async function loadCreated(runId: string, store: Store): Promise<FactOf<'run.created'>> {
  const [created] = await store.facts({ runId, types: ['run.created'] });
  if (created?.type !== 'run.created')
    throw new RetinueError('store_corrupt', `the database has no beginning (run.created) of run ${runId}`);
  return created;
}

/** The taint of a run, from the facts that carry it. */
function factsToTaint(facts: Fact[]): string[] {
  const all = facts.flatMap((fact) => {
    if (fact.type === 'tool.finished') return fact.data.taint;
    if (fact.type === 'run.started') return fact.data.taint ?? [];
    return fact.type === 'child.ended' ? ['child', ...(fact.data.taint ?? [])] : [];
  });
  return [...new Set(all)].sort();
}

/** Pauses for shared budgets do not count; during one there is no deadline. */
function factsToDeadline(deadline: string | null, facts: Fact[]): string | null {
  let since: string | null = null;
  let pausedMs = 0;
  for (const { type, data, at } of facts) {
    if (type === 'run.paused' && data.budget !== undefined) since ??= at;
    if (type !== 'run.resumed' || since === null) continue;
    pausedMs += isoToMs(at) - isoToMs(since);
    since = null;
  }
  return deadline === null || since !== null ? null : msToIso(isoToMs(deadline) + pausedMs);
}
