// The delegation capability that the tools of a dialect get, for one run and one of its calls.
import type { Brief } from '../../contract/brief.ts';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { TraceHeaders } from '../../contract/trace-context.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { ChildView, Delegation, DelegationStart, Page, ReadPart } from '../../ports/delegation.ts';
import { cutBytes } from '../../text/cut.ts';
import { cancelRun, sendMessage } from '../orders.ts';
import { createFollowUpBrief, loadState } from '../recovery/history.ts';
import { cancelEarlierRun, findEarlierRun, isDriven } from '../recovery/interrupted.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { composeSummary, stateToRow } from '../state/outcome.ts';
import { type ChildState, endedFact, type RunState } from '../state/state.ts';
import { applyChildren } from './apply.ts';
import { factsToLog } from './child-log.ts';
import { type ClientReach, ownRunsReach } from './client-reach.ts';
import { listAgentSummaries, unknownChildError } from './dialect-tools.ts';

/** `call`: the tool call that delegates; null for a client. `reach`: which runs of other clients a client may see. */
export function createDelegation(
  run: Run,
  { call, reach = ownRunsReach }: { call: CallRef | null; reach?: ClientReach },
  services: Services,
): Delegation {
  const { journal, store, deadlines, clock, runs } = services;
  // Read anew each time: the first child replaces the map.
  const childrenOf = () => run.state.children;
  const { maxOutputBytes, maxConcurrent } = run.grant.limits;
  const by = `run ${run.id}`;
  let briefsSoFar = 0;

  /** A call that was cut off and is made again finds its children; they are not started twice. */
  async function start(brief: Brief, trace?: TraceHeaders): Promise<DelegationStart> {
    const n = briefsSoFar++;
    const existing = call && findChildOfCall(call, n);
    if (existing) return { ok: true, runId: existing };
    const { continues } = brief;
    if (continues !== undefined && !(view(continues) ?? (await viewEarlier(continues))))
      return { ok: false, error: unknownChildError(continues).info };
    try {
      const started = await services.startRun(brief, {
        parent: run,
        call: call && { ...call, n },
        rootModel: findRootModel(run, services),
        trace,
      });
      return { ok: true, runId: started.id };
    } catch (error) {
      if (isRetinueError(error)) return { ok: false, error: error.info };
      throw error;
    }
  }

  function findChildOfCall({ turn, index }: CallRef, n: number): string | null {
    for (const child of childrenOf().values())
      if (child.n === n && child.call?.turn === turn && child.call.index === index) return child.id;
    return null;
  }

  function view(id: string): ChildView | null {
    const child = childrenOf().get(id);
    const live = runs.get(id)?.state;
    const row = run.endedRows.get(id) ?? (live ? stateToRow(live) : null);
    if (!child || !row) return null;
    return { row, outcome: child.outcome, taint: child.outcome || !live ? child.taint : [...live.taint] };
  }

  /** Only a client may look at runs of other clients, and at its own ones that it no longer has in memory. */
  async function viewEarlier(id: string): Promise<ChildView | null> {
    return run.work ? null : findEarlierRun(id, { ...reach, formerIds: [...reach.formerIds, run.id] }, services);
  }

  async function deliver(id: string, text: string): Promise<DelegationStart> {
    const known = view(id) ?? (await viewEarlier(id));
    if (!known) return { ok: false, error: unknownChildError(id).info };
    const child = runs.get(id);
    if (!known.outcome && !child) return { ok: false, error: notDrivenHereError(id, await isDriven(known.row, store)).info };
    if (child && !child.isClosing) {
      await sendMessage(child, { text, from: by }, services);
      return { ok: true, runId: id };
    }
    // A child that is suspended instead of ended rejects; the follow-up below then refuses it.
    await child?.ended.catch(() => {});
    return start({ ...createFollowUpBrief(await loadState(id, store), text), background: true });
  }

  const isOpen = (id: string) => childrenOf().get(id)?.outcome === null;

  return {
    call: call ? `${run.id}/${call.turn}.${call.index}` : run.id,
    maxOutputBytes: maxOutputBytes.value,
    maxConcurrent: maxConcurrent.value,
    async start(briefs, options) {
      const started: DelegationStart[] = [];
      for (const brief of briefs) started.push(await start(brief, options?.trace));
      return started;
    },
    async wait(ids, { mode, ms, signal }) {
      const isPending = () => (mode === 'all' ? ids.some(isOpen) : ids.every(isOpen));
      if (ids.length === 0 || !isPending() || ms === 0) return;
      let isOver = signal?.aborted ?? false;
      const end = () => {
        isOver = true;
        run.notify();
      };
      const endTimer = ms === null ? () => {} : deadlines.at(clock.monotonic() + ms, end);
      signal?.addEventListener('abort', end, { once: true });
      run.slot.endBusyCall();
      while (isPending() && !isOver && !run.signal.aborted) await run.waitForChange();
      run.slot.beginBusyCall();
      endTimer();
      signal?.removeEventListener('abort', end);
    },
    view,
    viewEarlier,
    newest: (idOrLabel) => findNewest(idOrLabel, [...childrenOf().values()]),
    children: () => [...childrenOf().keys()].flatMap((id) => view(id) ?? []),
    message(id, text, { newest = false } = {}) {
      const sent = run.lastMessage.then(() => deliver(newest ? findNewest(id, [...childrenOf().values()]) : id, text));
      run.lastMessage = sent.catch(() => {});
      return sent;
    },
    async read(id, part, page) {
      if (!childrenOf().has(id) && !(await viewEarlier(id))) return null;
      await journal.flushed();
      return cutPage(await readPart(id, part, services), page, maxOutputBytes.value);
    },
    async cancel(ids, reason) {
      const live = ids.flatMap((id) => runs.get(id) ?? []).filter((child) => child.parent === run);
      await Promise.all(
        live.map((child) => cancelRun(child, { reason: reason ?? 'cancelled by the run that delegated it', by }, services)),
      );
      await Promise.allSettled(live.map((child) => child.ended));
      if (run.work) return;
      const others = ids.filter((id) => !view(id));
      for (const id of others) await cancelEarlierRun(id, { reason: reason ?? 'cancelled by a later client', reach }, services);
    },
    async apply(ids, { check }) {
      const stranger = ids.find((id) => !childrenOf().has(id));
      if (stranger !== undefined) return { ok: false, error: unknownChildError(stranger).info };
      try {
        await journal.flushed();
        return { ok: true, ...(await applyChildren(run, { ids, check, call }, services)) };
      } catch (error) {
        if (isRetinueError(error)) return { ok: false, error: error.info };
        throw error;
      }
    },
    agents: () => listAgentSummaries(run.dialect.catalog),
  };
}

/** `Delegation.newest`. Children are in the order of their creation, so one pass follows a chain to its end. */
export function findNewest(idOrLabel: string, children: Pick<ChildState, 'id' | 'label' | 'continues'>[]): string {
  const isId = children.some(({ id, continues }) => id === idOrLabel || continues === idOrLabel);
  const start = isId ? idOrLabel : (children.findLast(({ label }) => label === idOrLabel)?.id ?? idOrLabel);
  return children.reduce((newest, { id, continues }) => (continues === newest ? id : newest), start);
}

/** The model that the user chose for the tree. */
function findRootModel(run: Run, { settings }: Services): string | null {
  let root = run;
  while (root.parent) root = root.parent;
  return root.work?.model.id ?? settings.model;
}

function notDrivenHereError(id: string, isDrivenElsewhere: boolean): RetinueError {
  if (isDrivenElsewhere)
    return new RetinueError('parent_ended', `another process is running ${id}; use \`retinue message ${id} TEXT\` in a terminal`);
  return new RetinueError('parent_ended', `run ${id} was interrupted; continue it with \`retinue resume ${id}\``);
}

export async function readPart(id: string, part: ReadPart, { store, redact }: Pick<Services, 'store' | 'redact'>): Promise<string> {
  if (part === 'log') return factsToLog(await store.facts({ runId: id }));
  const state = await loadState(id, store);
  const patch = part === 'diff' && state.files?.saved?.patch ? await store.blob(state.files.saved.patch) : null;
  if (patch !== null) return redact(Buffer.from(patch).toString('utf8'), true);
  return stateToPart(state, part);
}

export function stateToPart(state: RunState, part: Exclude<ReadPart, 'log'>): string {
  if (part === 'summary') return composeSummary(state, endedFact(state)?.data.outcome.success ?? false);
  if (part === 'diff') return state.artifacts.flatMap(({ kind, value }) => (kind === 'diff' ? [value] : [])).join('\n');
  return state.artifacts.map(({ kind, title, value }) => `${kind} ${title ?? ''} ${value}`).join('\n');
}

/** A page is never larger than what fits into the caller's context at once, so that nothing of it is cut afterwards. */
export function cutPage(text: string, { offset, limit }: { offset: number; limit: number }, maxBytes: number | null): Page {
  const page = text.slice(offset, offset + limit);
  return { text: maxBytes === null ? page : cutBytes(page, maxBytes).text, offset, total: text.length };
}
