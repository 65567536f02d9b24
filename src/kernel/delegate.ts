// Delegation as a tool holds it, and the tools of a dialect made of it. The desk behind it is the runtime's one door for briefs.
import type { Brief } from '../contract/brief.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import { defaultLimits } from '../contract/limits.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { ChildView, Delegation, Page, ReadPart, Started } from '../ports/delegation.ts';
import type { ChildReply, DelegationReply, DelegationRequest, Dialect, DialectContext, DialectTool } from '../ports/dialect.ts';
import type { Store } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { Deadlines } from './deadlines.ts';
import { joinParts } from './deliver.ts';
import { rowOf, summaryOf } from './fold.ts';
import { loadState } from './history.ts';
import type { Journal } from './journal.ts';
import type { LiveRun } from './live.ts';
import { cutBytes } from './text.ts';

/** What delegation needs of the runtime. */
export interface Desk {
  start(brief: Brief, parent: LiveRun, call: { turn: number; index: number } | null): Promise<LiveRun>;
  message(run: LiveRun, text: string, from: string): Promise<void>;
  cancel(run: LiveRun, reason: string, by: string): Promise<void>;
  live(runId: string): LiveRun | null;
  journal: Journal;
  store: Store;
  deadlines: Deadlines;
  monotonic(): number;
  catalog: Catalog;
}

export function createDelegation(run: LiveRun, call: { turn: number; index: number } | null, desk: Desk): Delegation {
  const by = `run ${run.id}`;
  const maxOutputBytes = desk.journal.state(run.id).created.data.grant.limits.maxOutputBytes.value ?? defaultLimits.maxOutputBytes;

  async function start(brief: Brief): Promise<Started> {
    try {
      return { ok: true, runId: (await desk.start(brief, run, call)).id };
    } catch (error) {
      if (isRetinueError(error)) return { ok: false, error: error.info };
      throw error;
    }
  }

  function view(id: string): ChildView | null {
    const child = desk.journal.state(run.id).children.get(id);
    if (!child) return null;
    const row = run.endedRows.get(id) ?? (desk.live(id) ? rowOf(desk.journal.state(id)) : null);
    return row && { row, outcome: child.outcome };
  }

  const isOpen = (id: string) => desk.journal.state(run.id).children.get(id)?.outcome === null;

  return {
    maxOutputBytes,
    async start(briefs) {
      const started: Started[] = [];
      for (const brief of briefs) started.push(await start(brief));
      return started;
    },
    async wait(ids, { mode, ms }) {
      const pending = () => (mode === 'all' ? ids.some(isOpen) : ids.every(isOpen));
      if (ids.length === 0 || !pending()) return;
      let over = ms === 0;
      const endTimer =
        ms === null || over
          ? () => {}
          : desk.deadlines.at(desk.monotonic() + ms, () => {
              over = true;
              run.notify();
            });
      run.slot.idle();
      while (pending() && !over && !run.signal.aborted) await run.changed();
      run.slot.busy();
      endTimer();
    },
    view,
    children: () => [...desk.journal.state(run.id).children.keys()].flatMap((id) => view(id) ?? []),
    async message(id, text) {
      const child = desk.live(id);
      if (child && !child.closing) {
        await desk.message(child, text, by);
        return { ok: true, runId: id };
      }
      const known = view(id);
      if (!known) return { ok: false, error: { code: 'unknown_run', message: `${id} is none of your delegated runs`, retryable: false } };
      await child?.ended.catch(() => {});
      const { agent, label } = known.row;
      return start({
        task: text,
        continues: id,
        background: true,
        ...(agent === null ? {} : { agent }),
        ...(label === null ? {} : { label }),
      });
    },
    async read(id, part, page) {
      if (!desk.journal.state(run.id).children.has(id)) return null;
      await desk.journal.settled();
      return slice(await readPart(id, part, desk.store), page, maxOutputBytes);
    },
    async cancel(ids, reason) {
      const live = ids.map(desk.live).filter((child) => child !== null && child.parent === run);
      await Promise.all(live.map((child) => desk.cancel(child as LiveRun, reason ?? 'cancelled by the run that delegated it', by)));
      await Promise.allSettled(live.map((child) => (child as LiveRun).ended));
    },
    agents: () => desk.catalog.list().map(({ name, description }) => ({ name, description })),
  };
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

/** Carries out what a delegation tool asked for. */
export async function perform(request: DelegationRequest, delegation: Delegation): Promise<DelegationReply> {
  switch (request.kind) {
    case 'refuse':
      return { kind: 'refused', error: { code: 'invalid_brief', message: request.message, retryable: false } };
    case 'delegate': {
      const started = await delegation.start(request.briefs);
      await delegation.wait(
        started.flatMap((each) => (each.ok ? [each.runId] : [])),
        { mode: 'all', ms: request.waitMs },
      );
      return { kind: 'children', children: started.map((each) => (each.ok ? reply(each.runId, delegation) : { ...each, asked: null })) };
    }
    case 'wait': {
      const ids = request.ids ?? delegation.children().flatMap(({ row, outcome }) => (outcome ? [] : [row.runId]));
      await delegation.wait(
        ids.filter((id) => delegation.view(id)),
        { mode: request.mode, ms: request.waitMs },
      );
      return { kind: 'children', children: ids.map((id) => reply(id, delegation)) };
    }
    case 'message': {
      const sent = await delegation.message(request.id, request.text);
      return { kind: 'children', children: [sent.ok ? reply(sent.runId, delegation) : { ...sent, asked: request.id }] };
    }
    case 'cancel':
      await delegation.cancel(request.ids, request.reason);
      return { kind: 'children', children: request.ids.map((id) => reply(id, delegation)) };
    case 'read': {
      const page = await delegation.read(request.id, request.part, request);
      return page ? { kind: 'page', id: request.id, page } : { kind: 'refused', error: notYours(request.id).info };
    }
  }
}

function reply(id: string, delegation: Delegation): ChildReply {
  const view = delegation.view(id);
  return view ? { ok: true, view } : { ok: false, error: notYours(id).info, asked: id };
}

function notYours(id: string): RetinueError {
  return new RetinueError('unknown_run', `${id} is none of your delegated runs`);
}

/** A dialect's tools for a parent model. They keep their own time, because they wait for children. */
export function dialectTools(dialect: Dialect, catalog: Catalog): AnyTool[] {
  const context: DialectContext = { door: 'model', agents: catalog.list().map(({ name, description }) => ({ name, description })) };
  return dialect.tools.map((tool) => ({
    name: tool.name,
    description: tool.description(context),
    input: tool.input,
    readOnly: tool.readOnly,
    idempotent: false,
    timeoutMs: null,
    maxOutputBytes: 1_048_576,
    subjects: () => [],
    execute: (input, { delegation }) => runTool(tool, input, delegation, context),
  }));
}

async function runTool(tool: DialectTool, input: unknown, delegation: Delegation, context: DialectContext) {
  const request = tool.toRequest(input, context);
  const answer = await perform(request, delegation);
  const result = tool.fromReply(answer, request, context);
  const ended =
    answer.kind === 'children' ? answer.children.flatMap((child) => (child.ok && child.view.outcome ? [child.view.row.runId] : [])) : [];
  return { output: joinParts(result.parts, delegation.maxOutputBytes), isError: result.isError, told: ended, taint: ['child'] };
}
