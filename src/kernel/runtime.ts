// The runtime of one process: admits briefs, drives their runs, hears orders. Everything it needs comes in through ports.
import type { Brief } from '../contract/brief.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Draft, Fact } from '../contract/fact.ts';
import type { Grant } from '../contract/grant.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Host } from '../ports/host.ts';
import type { Ids } from '../ports/ids.ts';
import type { ModelCaller } from '../ports/model.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Owner, Store } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { Workspaces } from '../ports/workspace.ts';
import { type Admitted, admit, costByHand, type Ground, type ParentView, parseBrief } from './admit.ts';
import { createBudget } from './budget.ts';
import { createContexts } from './context.ts';
import { createDeadlines } from './deadlines.ts';
import { createDelegation, type Desk, dialectTools } from './delegate.ts';
import { completed } from './fold.ts';
import { createJournal, type Part } from './journal.ts';
import { createLanes } from './lanes.ts';
import { clientLimits } from './limits.ts';
import { createLiveRun, endingOf, type LiveRun, type StopCause } from './live.ts';
import { heedOrders } from './orders.ts';
import { broken, driveRun, loopVersion, type RunGround, settleRun } from './run.ts';
import { createScheduler } from './schedule.ts';
import { createSlotKeeper } from './slot.ts';

export interface RuntimeOptions extends Omit<Ground, 'tools' | 'delegationTools'> {
  store: Store;
  clock: Clock;
  ids: Ids;
  tools: AnyTool[];
  dialect: Dialect;
  host: Host;
  callModel: ModelCaller;
  redact: Redact;
  workspaces: Workspaces;
  /** Runs at work at once in this process. */
  slots?: number;
  maxQueued?: number;
}

/** A run of this process, as its starter holds it. */
export interface RunHandle {
  id: string;
  outcome: Promise<Outcome>;
  cancel(reason: string, by?: string): Promise<void>;
  send(text: string, from?: string): Promise<void>;
}

/** Somebody who delegates from outside: a root without a model. */
export interface Client {
  id: string;
  delegation: Delegation;
  delegate(brief: unknown): Promise<RunHandle>;
  /** Ends it; what still runs below it is stopped first. */
  close(): Promise<Outcome>;
}

export interface Runtime {
  owner: Owner;
  start(brief: unknown): Promise<RunHandle>;
  client(options?: { label?: string; limits?: LimitsGiven }): Promise<Client>;
  live(runId: string): RunHandle | null;
  listen(listener: (event: Fact | Delta) => void): () => void;
  /** Slots and timers in use: both 0 when nothing runs. */
  stats(): { active: number; queued: number; timers: number; runs: number };
  /** Stops what runs, waits for it, and gives up the lease. */
  close(): Promise<void>;
}

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { store, clock, ids, catalog, settings, models, compileSchema, callModel } = options;
  const owner = await store.open();
  const runs = new Map<string, LiveRun>();
  const deadlines = createDeadlines(clock);
  const scheduler = createScheduler({ slots: options.slots ?? 256, maxQueued: options.maxQueued ?? 20_000 });
  const journal = createJournal({ store, owner, clock, lost: loseTree });
  const lanes = createLanes({ clock, deadlines, random: () => ids.random() });
  const delegating = dialectTools(options.dialect, catalog);
  const tools = new Map([...options.tools, ...delegating].map((tool) => [tool.name, tool]));
  const ground: Ground = { settings, catalog, models, compileSchema, tools, delegationTools: delegating.map((tool) => tool.name) };
  const desk: Desk = {
    start,
    message,
    cancel,
    live: (id) => runs.get(id) ?? null,
    journal,
    store,
    deadlines,
    monotonic: () => clock.monotonic(),
    catalog,
  };
  const runGround: RunGround = {
    journal,
    store,
    clock,
    deadlines,
    lanes,
    random: () => ids.random(),
    tools,
    contexts: createContexts({ workspaces: options.workspaces, clock, tools }),
    desk,
    callModel,
    redact: options.redact,
    gone: (run) => void runs.delete(run.id),
  };
  const endOrders = heedOrders({ store, owner, journal, live: desk.live, cancel, message });
  let closed = false;

  function loseTree(rootId: string, error: RetinueError): void {
    runs.get(rootId)?.stop({ code: 'lost', message: error.message, error });
  }

  async function start(input: unknown, parent: LiveRun | null, call: { turn: number; index: number } | null): Promise<LiveRun> {
    const brief = parseBrief(input);
    const known = await sameKey(brief, parent);
    if (known) return known;
    if (closed || parent?.closing || parent?.signal.aborted)
      throw new RetinueError('parent_ended', 'nothing more can be delegated: the run is ending');
    if (!scheduler.room())
      throw new RetinueError('queue_full', 'too many runs are waiting for a slot; wait for some to end', { retryable: true });
    const runId = ids.runId();
    const rootId = parent?.rootId ?? runId;
    const family = parent && parent.admitted ? parent.family : { runs: 0 };
    const view = parent && viewOf(parent, family.runs);
    // Counted before the first await, so that briefs admitted at the same time cannot pass a limit together.
    family.runs++;
    if (parent) parent.open++;
    try {
      const admitted = await admit(brief, { runId, rootId }, ground, view);
      const run = place(runId, rootId, parent, { admitted, family, view });
      await create(run, { parent, call });
      void options.host
        .execute({ runId, drive: () => driveRun(run, runGround) }, run.signal)
        .catch((error) => settleRun(run, broken(error), runGround));
      return run;
    } catch (error) {
      family.runs--;
      if (parent) parent.open--;
      throw error;
    }
  }

  /** The same key under the same parent means the same run: it is not started again. */
  async function sameKey(brief: Brief, parent: LiveRun | null): Promise<LiveRun | null> {
    if (brief.idempotencyKey === undefined) return null;
    await journal.settled();
    const row = await store.runByKey(parent?.id ?? null, brief.idempotencyKey);
    if (!row) return null;
    const live = runs.get(row.runId);
    if (live) return live;
    throw new RetinueError('invalid_brief', `idempotencyKey: run ${row.runId} was already created with this key`);
  }

  function viewOf(parent: LiveRun, runsInTree: number): ParentView {
    const { limits } = journal.state(parent.id).created.data.grant;
    const left = parent.budget.left();
    const values = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit.value])) as ParentView['limits'];
    values.maxTokens = left.tokens === null ? null : Math.max(1, left.tokens);
    values.maxCostUsd = left.costUsd;
    const { depth, rulesets, notAfter, open: openChildren } = parent;
    return {
      depth,
      limits: values,
      rulesets,
      notAfter,
      model: parent.admitted?.handle.id ?? null,
      runsInTree,
      openChildren,
      costByHand: parent.costByHand,
    };
  }

  function place(
    id: string,
    rootId: string,
    parent: LiveRun | null,
    from: { admitted: Admitted; family: LiveRun['family']; view: ParentView | null },
  ): LiveRun {
    const { admitted, family, view } = from;
    const { limits, rulesets, notAfter } = admitted.grant;
    const limit = { maxTokens: limits.maxTokens.value, maxCostUsd: limits.maxCostUsd.value };
    const concurrent = parent ? (view?.limits.maxConcurrent ?? Number.MAX_SAFE_INTEGER) : 1;
    return createLiveRun(
      {
        id,
        rootId,
        parent,
        depth: parent ? parent.depth + 1 : 0,
        admitted,
        rulesets: [...(parent?.rulesets ?? []), ...rulesets],
        costByHand: costByHand(limits, view),
        family,
        budget: parent ? parent.budget.child(limit) : createBudget(limit),
        notAfter,
      },
      (signal) => createSlotKeeper(scheduler, { rootId, parentId: parent?.id ?? null, limit: concurrent, signal }),
    );
  }

  /** {child.created, the child's run.created} in one transaction, durable before anything is done (invariant 2). */
  async function create(
    run: LiveRun,
    { parent, call }: { parent: LiveRun | null; call: { turn: number; index: number } | null },
  ): Promise<void> {
    const { brief, agent, grant, handle, notices } = run.admitted as Admitted;
    const data = {
      agent: agent.name,
      brief,
      depth: run.depth,
      dialect: options.dialect.name,
      grant,
      host: options.host.name,
      kind: 'agent' as const,
      model: handle.id,
      notices,
      parentCall: call,
      parentId: parent?.id ?? null,
      rootId: run.rootId,
    };
    const parts: Part[] = [{ runId: run.id, drafts: [{ type: 'run.created', data }] }];
    if (parent) {
      const { label = null, background = false } = brief;
      parts.push({
        runId: parent.id,
        drafts: () => [
          {
            type: 'child.created',
            data: { agent: agent.name, background, call, childId: run.id, hash: journal.state(run.id).hash, label },
          },
        ],
      });
    }
    runs.set(run.id, run);
    parent?.children.add(run);
    try {
      await journal.record(run.rootId, parts);
    } catch (error) {
      runs.delete(run.id);
      parent?.children.delete(run);
      run.unlink();
      throw error;
    }
  }

  async function cancel(run: LiveRun, reason: string, by: string, consumed: string[] = []): Promise<void> {
    if (journal.state(run.id).ended) return;
    const asked: Draft = { type: 'cancel.asked', data: { by, code: 'cancelled', reason } };
    const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [asked] }], { consumed });
    run.stop({ code: 'cancelled', message: reason });
    await durable;
  }

  async function message(run: LiveRun, text: string, from: string, consumed: string[] = []): Promise<void> {
    const durable = journal.record(
      run.rootId,
      [{ runId: run.id, drafts: [{ type: 'message.received', data: { from, text: text.toWellFormed() } }] }],
      { consumed },
    );
    run.notify();
    await durable;
  }

  function handleOf(run: LiveRun): RunHandle {
    return {
      id: run.id,
      outcome: run.ended,
      cancel: async (reason, by = 'the caller') => {
        if (runs.has(run.id)) await cancel(run, reason, by);
      },
      send: async (text, from = 'the user') => {
        if (!runs.has(run.id) || run.closing) throw new RetinueError('parent_ended', `run ${run.id} has ended: it takes no more messages`);
        await message(run, text, from);
      },
    };
  }

  async function openClient(given: { label?: string; limits?: LimitsGiven } = {}): Promise<Client> {
    const id = ids.runId();
    const limits = clientLimits([{ from: 'command', limits: given.limits ?? {} }]);
    const grant: Grant = { limits, notAfter: null, rulesets: settings.rulesets, tools: [], workspace: settings.workspace };
    const brief: Brief = { task: 'delegates from outside', ...(given.label === undefined ? {} : { label: given.label }) };
    const run = createLiveRun(
      {
        id,
        rootId: id,
        parent: null,
        depth: 0,
        admitted: null,
        rulesets: settings.rulesets,
        costByHand: limits.maxCostUsd.value !== null,
        family: { runs: 0 },
        budget: createBudget({ maxTokens: limits.maxTokens.value, maxCostUsd: limits.maxCostUsd.value }),
        notAfter: null,
      },
      (signal) => createSlotKeeper(scheduler, { rootId: id, parentId: null, limit: 1, signal }),
    );
    runs.set(id, run);
    const created = {
      agent: null,
      brief,
      depth: 0,
      dialect: options.dialect.name,
      grant,
      host: options.host.name,
      kind: 'client' as const,
      model: null,
      notices: [],
      parentCall: null,
      parentId: null,
      rootId: id,
    };
    const started = { deadline: null, first: null, history: null, loop: loopVersion, model: null, system: null, tools: null };
    await journal.record(id, [
      {
        runId: id,
        drafts: [
          { type: 'run.created', data: created },
          { type: 'run.started', data: started },
        ],
      },
    ]);
    const end = async () => {
      if (!run.closing) await settleRun(run, run.signal.aborted ? endingOf(run.signal.reason as StopCause) : completed, runGround);
      return run.ended;
    };
    run.signal.addEventListener('abort', () => void end().catch(() => {}), { once: true });
    return {
      id,
      delegation: createDelegation(run, null, desk),
      delegate: async (input) => handleOf(await start(input, run, null)),
      close: end,
    };
  }

  return {
    owner,
    start: async (input) => handleOf(await start(input, null, null)),
    client: openClient,
    live: (id) => {
      const run = runs.get(id);
      return run ? handleOf(run) : null;
    },
    listen: (listener) => journal.listen(listener),
    stats: () => ({ ...scheduler.stats(), timers: deadlines.size, runs: runs.size }),
    async close() {
      closed = true;
      const roots = [...runs.values()].filter((run) => run.parent === null);
      await Promise.allSettled(roots.map((run) => cancel(run, 'the process is closing', 'the runtime').then(() => run.ended)));
      endOrders();
      await journal.settled();
      await store.release(owner);
    },
  };
}
