// The runtime of one process: admits briefs, drives their runs, hears orders. Everything it needs comes in through ports.
import type { Brief } from '../contract/brief.ts';
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { createContexts } from '../parts/context.ts';
import { createDeadlines } from '../parts/deadlines.ts';
import { dialectTools } from '../parts/dialect.ts';
import { createLanes } from '../parts/lanes.ts';
import { createScheduler } from '../parts/schedule.ts';
import type { Clock } from '../ports/clock.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Host } from '../ports/host.ts';
import type { Ids } from '../ports/ids.ts';
import type { ModelCaller } from '../ports/model.ts';
import type { Memories } from '../ports/notes.ts';
import type { Check } from '../ports/schema.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Owner, Store } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { Workspaces } from '../ports/workspace.ts';
import { admit, bothChecks, type Ground, parseBrief } from './admit.ts';
import { type ClientOptions, placeClient, recordClient } from './client.ts';
import { createDelegation, type Desk } from './delegate.ts';
import { completed, type Ending, failed } from './fold.ts';
import { checkContinuable } from './history.ts';
import { createJournal } from './journal.ts';
import { endingOf, type LiveRun, type StopCause } from './live.ts';
import { heedOrders } from './orders.ts';
import { createdParts, placeRun, viewOf } from './place.ts';
import { broken, driveRun, type RunGround, settleRun } from './run.ts';

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
  /** What briefs with `inheritMemories` are told. */
  memories: Memories;
  /** Runs at work at once in this process. */
  slots?: number;
  maxQueued?: number;
}

/** What a starter in the same process may add to a brief, because it is not JSON. */
export interface StartOptions {
  /** A further check of a submitted result, after its schema. */
  check?: Check;
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
  delegate(brief: unknown, options?: StartOptions): Promise<RunHandle>;
  /** Ends it; what still runs below it is stopped first. */
  close(): Promise<Outcome>;
}

export interface Runtime {
  owner: Owner;
  start(brief: unknown, options?: StartOptions): Promise<RunHandle>;
  client(options?: ClientOptions): Promise<Client>;
  live(runId: string): RunHandle | null;
  listen(listener: (event: Fact | Delta) => void): () => void;
  /** Slots and timers in use: both 0 when nothing runs. */
  stats(): { active: number; queued: number; timers: number; runs: number };
  /** Stops what runs, waits for it, and gives up the lease. */
  close(): Promise<void>;
}

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { store, clock, ids, catalog, settings, models, compileSchema, callModel, toolSource } = options;
  const owner = await store.open();
  const runs = new Map<string, LiveRun>();
  /** Briefs with a key on their way to becoming a run: what becomes of the first becomes of all. */
  const starting = new Map<string, Promise<LiveRun>>();
  const deadlines = createDeadlines(clock);
  const scheduler = createScheduler({ slots: options.slots ?? 256, maxQueued: options.maxQueued ?? 20_000 });
  const journal = createJournal({ store, owner, clock, lost: loseTree });
  const lanes = createLanes({ clock, deadlines, random: () => ids.random() });
  const delegating = dialectTools(options.dialect, catalog);
  const tools = new Map([...options.tools, ...delegating].map((tool) => [tool.name, tool]));
  const delegationTools = delegating.map((tool) => tool.name);
  const ground: Ground = { settings, catalog, models, compileSchema, tools, toolSource, delegationTools };
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
    contexts: createContexts({ workspaces: options.workspaces, clock, tools, memories: options.memories }),
    desk,
    callModel,
    models,
    redact: options.redact,
    gone: (run) => void runs.delete(run.id),
  };
  const endOrders = heedOrders({ store, owner, journal, live: desk.live, lost: loseAll, cancel, message });
  const origin = { dialect: options.dialect.name, host: options.host.name };
  let closed = false;

  function loseAll(error: RetinueError): void {
    for (const run of runs.values()) if (run.parent === null) loseTree(run.id, error);
  }

  function loseTree(rootId: string, error: RetinueError): void {
    runs.get(rootId)?.stop({ code: 'lost', message: error.message, error });
  }

  type Call = { turn: number; index: number } | null;

  async function start(input: unknown, parent: LiveRun | null, call: Call, more: StartOptions = {}): Promise<LiveRun> {
    const brief = parseBrief(input);
    if (brief.idempotencyKey === undefined) return begin(brief, parent, call, more);
    const key = JSON.stringify([parent?.id ?? null, brief.idempotencyKey]);
    const made = starting.get(key) ?? begin(brief, parent, call, more).finally(() => starting.delete(key));
    starting.set(key, made);
    return made;
  }

  async function begin(brief: Brief, parent: LiveRun | null, call: Call, { check }: StartOptions): Promise<LiveRun> {
    const known = await sameKey(brief, parent);
    if (known) return known;
    if (brief.continues !== undefined) await checkContinuable(brief.continues, store);
    assertOpen(parent);
    if (!scheduler.room())
      throw new RetinueError('queue_full', 'too many runs are waiting for a slot; wait for some to end', { retryable: true });
    const runId = ids.runId();
    const rootId = parent?.rootId ?? runId;
    const family = parent?.admitted ? parent.family : { runs: 0 };
    const view = parent && viewOf(parent, family.runs, journal);
    // Counted before the first await, so that briefs admitted at the same time cannot pass a limit together.
    family.runs++;
    if (parent) parent.open++;
    try {
      const admitted = await admit(brief, { runId, rootId }, ground, view);
      assertOpen(parent);
      if (check) admitted.check = bothChecks(admitted.check, check);
      const run = placeRun({ id: runId, rootId, parent, view, family, admitted }, scheduler);
      await create(run, call);
      void execute(run);
      return run;
    } catch (error) {
      family.runs--;
      if (parent) parent.open--;
      // Another process may have been first with the same key: its run is the one.
      return (await sameKey(brief, parent)) ?? Promise.reject(error);
    }
  }

  function assertOpen(parent: LiveRun | null): void {
    if (closed || parent?.closing || parent?.signal.aborted)
      throw new RetinueError('parent_ended', 'nothing more can be delegated: the run is ending');
  }

  /** Gives a run to its host, and writes its end when the host has nothing left of it. The first ending wins: the run's own or the host's. */
  async function execute(run: LiveRun): Promise<void> {
    let driving: Promise<void> | null = null;
    let ending: Ending | null = null;
    const drive = () => {
      driving ??= driveRun(run, runGround).then((own) => {
        ending ??= own;
      });
      return driving;
    };
    try {
      await options.host.execute({ runId: run.id, drive }, run.signal);
    } catch (error) {
      ending ??= broken(error);
      run.stop({ code: 'cancelled', message: ending.message });
    }
    await driving;
    await settleRun(run, ending ?? failed('no_result', 'the host was done without having driven the run'), runGround);
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

  /** Both facts are durable before anything is done (invariant 2). */
  async function create(run: LiveRun, call: Call): Promise<void> {
    runs.set(run.id, run);
    run.parent?.children.add(run);
    try {
      await journal.record(run.rootId, createdParts(run, { call, ...origin }, journal));
    } catch (error) {
      runs.delete(run.id);
      journal.forget(run.id);
      run.parent?.children.delete(run);
      run.unlink();
      run.settle.reject(error);
      throw error;
    }
  }

  async function cancel(run: LiveRun, reason: string, by: string, consumed: string[] = []): Promise<void> {
    if (journal.state(run.id).ended) return;
    const asked = { by: by.toWellFormed(), code: 'cancelled' as const, reason: reason.toWellFormed() };
    const durable = journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'cancel.asked', data: asked }] }], { consumed });
    run.stop({ code: 'cancelled', message: asked.reason });
    await durable;
  }

  async function message(run: LiveRun, text: string, from: string, consumed: string[] = []): Promise<void> {
    const durable = journal.record(
      run.rootId,
      [{ runId: run.id, drafts: [{ type: 'message.received', data: { from: from.toWellFormed(), text: text.toWellFormed() } }] }],
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

  async function openClient(given: ClientOptions = {}): Promise<Client> {
    assertOpen(null);
    const run = placeClient(ids.runId(), given, { settings, scheduler });
    runs.set(run.id, run);
    const end = async () => {
      await settleRun(run, run.signal.aborted ? endingOf(run.signal.reason as StopCause) : completed, runGround);
      return run.ended;
    };
    run.signal.addEventListener('abort', () => void end().catch(() => {}), { once: true });
    await recordClient(run.id, given, { settings, journal, ...origin });
    return {
      id: run.id,
      delegation: createDelegation(run, null, desk),
      delegate: async (input, more) => handleOf(await start(input, run, null, more)),
      close: end,
    };
  }

  return {
    owner,
    start: async (input, more) => handleOf(await start(input, null, null, more)),
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
      await toolSource?.close();
      endOrders();
      await journal.settled();
      await store.release(owner);
    },
  };
}
