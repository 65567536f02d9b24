// Delegation as a tool holds it, and the tools of a dialect made of it. The desk behind it is the runtime's one door for briefs.
import type { Brief } from '../contract/brief.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import { defaultLimits } from '../contract/limits.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { ChildView, Delegation, DelegationStart, Page, ReadPart } from '../ports/delegation.ts';
import type { Store } from '../ports/store.ts';
import type { Deadlines } from '../scheduling/deadlines.ts';
import { cutBytes } from '../text/cut.ts';
import { unknownChildError } from './dialect-tools.ts';
import { rowOf, summaryOf } from './fold.ts';
import { followUp, loadState } from './history.ts';
import type { Journal } from './journal.ts';
import type { LiveRun } from './live.ts';
import type { Steering } from './steer.ts';

/** What delegation needs of the runtime. */
export interface Desk {
  start(brief: Brief, parent: LiveRun, call: { turn: number; index: number; n: number } | null): Promise<LiveRun>;
  message: Steering['message'];
  cancel(run: LiveRun, reason: string, by: string): Promise<void>;
  live(runId: string): LiveRun | null;
  /** A run that a client of another time delegated. */
  recall(runId: string): Promise<ChildView | null>;
  /** Ends such a run where no living process drives it. */
  endEarlier(runId: string, reason: string): Promise<void>;
  journal: Journal;
  store: Store;
  deadlines: Deadlines;
  monotonic(): number;
  catalog: Catalog;
}

export function createDelegation(run: LiveRun, call: { turn: number; index: number } | null, desk: Desk): Delegation {
  const by = `run ${run.id}`;
  const maxOutputBytes = desk.journal.state(run.id).created.data.grant.limits.maxOutputBytes.value ?? defaultLimits.maxOutputBytes;

  let asked = 0;

  /** A call that was cut off and is made again finds the children that it had: they are not started twice. */
  async function start(brief: Brief): Promise<DelegationStart> {
    const n = asked++;
    const made = call && madeBy(call, n);
    if (made) return { ok: true, runId: made };
    try {
      return { ok: true, runId: (await desk.start(brief, run, call && { ...call, n })).id };
    } catch (error) {
      if (isRetinueError(error)) return { ok: false, error: error.info };
      throw error;
    }
  }

  function view(id: string): ChildView | null {
    const child = desk.journal.state(run.id).children.get(id);
    if (!child) return null;
    const row = run.endedRows.get(id) ?? (desk.live(id) ? rowOf(desk.journal.state(id)) : null);
    const taint = child.outcome || !desk.live(id) ? child.taint : [...desk.journal.state(id).taint];
    return row && { row, outcome: child.outcome, taint };
  }

  function madeBy(at: { turn: number; index: number }, n: number): string | null {
    for (const child of desk.journal.state(run.id).children.values())
      if (child.n === n && child.call?.turn === at.turn && child.call.index === at.index) return child.id;
    return null;
  }

  const isOpen = (id: string) => desk.journal.state(run.id).children.get(id)?.outcome === null;

  const recall = async (id: string) => (run.admitted ? null : desk.recall(id));

  return {
    call: call ? `${run.id}/${call.turn}.${call.index}` : run.id,
    maxOutputBytes,
    async start(briefs) {
      const started: DelegationStart[] = [];
      for (const brief of briefs) started.push(await start(brief));
      return started;
    },
    async wait(ids, { mode, ms, signal }) {
      const pending = () => (mode === 'all' ? ids.some(isOpen) : ids.every(isOpen));
      if (ids.length === 0 || !pending() || ms === 0) return;
      let over = signal?.aborted ?? false;
      const end = () => {
        over = true;
        run.notify();
      };
      const endTimer = ms === null ? () => {} : desk.deadlines.at(desk.monotonic() + ms, end);
      signal?.addEventListener('abort', end, { once: true });
      run.slot.idle();
      while (pending() && !over && !run.signal.aborted) await run.changed();
      run.slot.busy();
      endTimer();
      signal?.removeEventListener('abort', end);
    },
    view,
    recall,
    children: () => [...desk.journal.state(run.id).children.keys()].flatMap((id) => view(id) ?? []),
    async message(id, text) {
      const known = view(id) ?? (await recall(id));
      if (!known) return { ok: false, error: unknownChildError(id).info };
      if (!known.outcome && !desk.live(id)) return { ok: false, error: elsewhere(id).info };
      const child = desk.live(id);
      if (child && !child.closing) {
        await desk.message(child, { text, from: by });
        return { ok: true, runId: id };
      }
      await child?.ended.catch(() => {});
      return start({ ...followUp(await loadState(id, desk.store), text), background: true });
    },
    async read(id, part, page) {
      if (!desk.journal.state(run.id).children.has(id) && !(await recall(id))) return null;
      await desk.journal.settled();
      return slice(await readPart(id, part, desk.store), page, maxOutputBytes);
    },
    async cancel(ids, reason) {
      const live = ids.map(desk.live).filter((child) => child !== null && child.parent === run);
      await Promise.all(live.map((child) => desk.cancel(child as LiveRun, reason ?? 'cancelled by the run that delegated it', by)));
      await Promise.allSettled(live.map((child) => (child as LiveRun).ended));
      const others = ids.filter((id) => !view(id));
      if (!run.admitted) for (const id of others) await desk.endEarlier(id, reason ?? 'cancelled by a later client');
    },
    agents: () => desk.catalog.list().map(({ name, description }) => ({ name, description })),
  };
}

function elsewhere(id: string): RetinueError {
  return new RetinueError('parent_ended', `run ${id} is not at work here: \`retinue resume ${id}\` goes on with it`);
}

async function readPart(id: string, part: ReadPart, store: Store): Promise<string> {
  if (part === 'log')
    return (await store.facts({ runId: id })).map((fact) => `${fact.seq} ${fact.at} ${fact.type} ${JSON.stringify(fact.data)}`).join('\n');
  const state = await loadState(id, store);
  if (part === 'summary') return summaryOf(state, state.ended?.data.outcome.success ?? false);
  const wanted = state.artifacts.filter((artifact) => (part === 'diff' ? artifact.kind === 'diff' : true));
  return wanted
    .map((artifact) => (part === 'diff' ? artifact.value : `${artifact.kind} ${artifact.title ?? ''} ${artifact.value}`))
    .join('\n');
}

/** A page never holds more than fits into the caller's context at once, so that nothing of it is cut away afterwards. */
function slice(text: string, { offset, limit }: { offset: number; limit: number }, maxBytes: number): Page {
  return { text: cutBytes(text.slice(offset, offset + limit), maxBytes).text, offset, total: text.length };
}
