// The runtime of one process: admits briefs, drives their runs, hears orders. Everything it needs comes in through ports.
import type { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import { createContexts } from '../conversation/context.ts';
import { createDeadlines } from '../scheduling/deadlines.ts';
import { createLanes } from '../scheduling/lanes.ts';
import { createScheduler } from '../scheduling/scheduler.ts';
import { admit, bothChecks, type Ground, parseBrief, withoutSecrets } from './admit.ts';
import { type ClientOptions, placeClient, recordClient } from './client.ts';
import { endClient, endWithChildren } from './client-end.ts';
import { createDelegation, type Desk } from './delegate.ts';
import { catalogForDialect, dialectTools } from './dialect-tools.ts';
import { executeRun } from './execute.ts';
import { checkContinuable } from './history.ts';
import { createJournal } from './journal.ts';
import type { LiveRun } from './live.ts';
import { heedOrders } from './orders.ts';
import { createdParts, definitionOf, placeRun, viewOf } from './place.ts';
import { endEarlier, recall } from './recall.ts';
import { reviveTree, stopAsRecorded, takenUp } from './revive.ts';
import type { RunGround } from './run.ts';
import type { Client, Resumed, RunHandle, Runtime, RuntimeOptions, StartOptions } from './runtime.ts';
import { createSteering, letGo } from './steer.ts';

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { store, clock, ids, settings, models, compileSchema, callModel, toolSource } = options;
  const setup = options.dialect.setup ?? {};
  const catalog = catalogForDialect(options.dialect, options.catalog);
  const owner = await store.open();
  const runs = new Map<string, LiveRun>();
  /** Briefs with a key on their way to becoming a run: what becomes of the first becomes of all. */
  const starting = new Map<string, Promise<LiveRun>>();
  const deadlines = createDeadlines(clock);
  const scheduler = createScheduler({ slots: options.slots ?? 256, maxQueued: options.maxQueued ?? 20_000 });
  const journal = createJournal({ store, owner, clock, lost: loseTree });
  const { cancel, message, answer, pause } = createSteering(journal, options.redact, () => clock.now());
  const lanes = createLanes({ clock, deadlines, random: () => ids.random() });
  const delegating = dialectTools(options.dialect, catalog);
  const tools = new Map([...options.tools, ...delegating].map((tool) => [tool.name, tool]));
  const delegationTools = delegating.map((tool) => tool.name);
  const ground: Ground = { settings, catalog, models, compileSchema, tools, toolSource, setup, delegationTools };
  const earlier = { store, clock, endsWithClient: setup.endsWithClient ?? false };
  const desk: Desk = {
    start,
    message,
    cancel,
    live: (id) => runs.get(id) ?? null,
    recall: (id) => recall(id, earlier),
    endEarlier: (id, reason) => endEarlier(id, reason, earlier),
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
    contexts: createContexts({ workspaces: options.workspaces, clock, tools, memories: options.memories, setup }),
    desk,
    setup,
    callModel,
    models,
    redact: options.redact,
    questions: options.questions,
    answer,
    gone: (run) => void runs.delete(run.id),
  };
  const heeding = heedOrders({ store, owner, journal, live: desk.live, lost: loseAll, cancel, message, answer, pause, resume: letGo });
  const dialect = options.dialect.name;
  const hostOf = (run: LiveRun) => (run.depth > 0 ? (options.delegatedHost ?? options.host) : options.host);
  let closed = false;

  function loseAll(error: RetinueError): void {
    for (const run of runs.values()) if (run.parent === null) journal.abandon(run.id, error);
  }

  function loseTree(rootId: string, error: RetinueError): void {
    runs.get(rootId)?.stop({ code: 'lost', message: error.message, error });
  }

  type Call = { turn: number; index: number; n: number } | null;

  async function start(input: unknown, parent: LiveRun | null, call: Call, more: StartOptions = {}): Promise<LiveRun> {
    const brief = withoutSecrets(parseBrief(input), options.redact);
    if (brief.idempotencyKey === undefined) return begin(brief, parent, call, more);
    const key = JSON.stringify([parent?.id ?? null, brief.idempotencyKey]);
    const made = starting.get(key) ?? begin(brief, parent, call, more).finally(() => starting.delete(key));
    starting.set(key, made);
    return made;
  }

  async function begin(brief: Brief, parent: LiveRun | null, call: Call, { check }: StartOptions): Promise<LiveRun> {
    const known = await sameKey(brief, parent);
    if (known) return known;
    await checkContinuable(brief, store);
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
      void executeRun(run, hostOf(run), runGround);
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
      const at = call && { index: call.index, turn: call.turn };
      const parts = createdParts(run, { call: at, n: call?.n ?? 0, dialect, host: hostOf(run).name }, journal);
      const blobs = run.admitted ? [definitionOf(run.admitted.agent)] : [];
      await journal.record(run.rootId, parts, { blobs });
    } catch (error) {
      unplace(run, error);
      throw error;
    }
  }

  /** Takes a run back whose first facts could not be written: nothing of it was done. */
  function unplace(run: LiveRun, error: unknown): void {
    runs.delete(run.id);
    journal.forget(run.id);
    run.parent?.children.delete(run);
    run.unlink();
    run.settle.reject(error);
  }

  function handleOf(run: LiveRun): RunHandle {
    return {
      id: run.id,
      outcome: run.ended,
      pause: (reason) => pause(run, reason),
      resume: (by = 'the caller') => letGo(run, by),
      cancel: async (reason, by = 'the caller') => {
        if (runs.has(run.id)) await cancel(run, reason, by);
      },
      answer: async (call, given) => runs.has(run.id) && answer(run, call, given),
      send: async (text, from = 'the user', rules) => {
        if (!runs.has(run.id) || run.closing) throw new RetinueError('parent_ended', `run ${run.id} has ended: it takes no more messages`);
        await message(run, { text, from, rules });
      },
    };
  }

  async function openClient(given: ClientOptions = {}): Promise<Client> {
    assertOpen(null);
    const run = placeClient(ids.runId(), given, { settings, setup, scheduler });
    runs.set(run.id, run);
    const end = ({ gone = false } = {}) => endClient(run, { gone }, { setup, ground: runGround });
    run.signal.addEventListener('abort', () => void end().catch(() => {}), { once: true });
    await recordClient(run.id, given, { settings, setup, journal, dialect, host: 'inline' });
    return {
      id: run.id,
      delegation: createDelegation(run, null, desk),
      delegate: async (input, more) => handleOf(await start(input, run, null, more)),
      close: end,
    };
  }

  async function resume(rootId: string, by: string, { patient = false } = {}): Promise<Resumed> {
    assertOpen(null);
    const claim = await store.claim(owner, rootId);
    if (!claim.ok) return { ok: false, pid: claim.pid };
    const here = runs.get(rootId);
    if (here) return { ok: true, handles: [handleOf(here)] };
    const revived = await reviveTree(rootId, { store, journal, scheduler, admission: ground });
    if (revived.length === 0) return { ok: true, handles: [] };
    // Whoever has it go on now does not want the pause that somebody asked an earlier process for.
    const pauses = (await store.orders(owner)).filter((order) => order.rootId === rootId && order.kind === 'pause');
    for (const run of revived) runs.set(run.id, run);
    try {
      assertOpen(null);
      await journal.record(
        rootId,
        revived.map((run) => takenUp(run, journal.state(run.id), { by, until: patient ? clock.now() : null })),
        { consumed: pauses.map((order) => order.id) },
      );
    } catch (error) {
      for (const run of revived) unplace(run, error);
      throw error;
    }
    for (const run of revived) stopAsRecorded(run, { state: journal.state(run.id), now: clock.now() });
    for (const run of revived.filter((each) => each.admitted))
      void executeRun(run, options.hostNamed?.(journal.state(run.id).created.data.host) ?? hostOf(run), runGround);
    for (const client of revived.filter((each) => !each.admitted)) void endWithChildren(client, { setup, ground: runGround });
    void heeding.look();
    return { ok: true, handles: revived.map(handleOf) };
  }

  return {
    owner,
    resume,
    start: async (input, more) => handleOf(await start(input, null, null, more)),
    client: openClient,
    live: (id) => {
      const run = runs.get(id);
      return run ? handleOf(run) : null;
    },
    listen: (listener) => journal.listen(listener),
    stats: () => ({ ...scheduler.stats(), timers: deadlines.size, runs: runs.size }),
    async drain(reason) {
      closed = true;
      const roots = [...runs.values()].filter((run) => run.parent === null);
      for (const run of roots) run.stop({ code: 'paused', message: reason });
      await Promise.allSettled(roots.map((run) => run.ended));
    },
    async close() {
      closed = true;
      const roots = [...runs.values()].filter((run) => run.parent === null);
      await Promise.allSettled(roots.map((run) => cancel(run, 'the process is closing', 'the runtime').then(() => run.ended)));
      await toolSource?.close();
      await heeding.end();
      await journal.settled();
      await store.release(owner);
    },
  };
}
