// The runtime of one process: admits briefs, drives their runs and applies orders. Everything it needs comes in through ports.
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Image } from '../contract/image.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { FlowProgram } from '../ports/flow.ts';
import type { ProgramCheck } from '../ports/schema.ts';
import type { Owner } from '../ports/store.ts';
import { createDeadlines } from '../scheduling/deadlines.ts';
import { createLanes } from '../scheduling/lanes.ts';
import { createScheduler } from '../scheduling/scheduler.ts';
import { sha256 } from '../text/canonical.ts';
import { TextMemo } from '../text/text-memo.ts';
import type { ClientRunOptions } from './admission/client.ts';
import { createRunStarter, openClient, startFlow } from './admission/create-run.ts';
import { type EnqueueOptions, type EnqueueResult, enqueueRun } from './admission/enqueue.ts';
import { admitBudgets, createBudgetSharing } from './admission/shared-budgets.ts';
import { carryOutPlan, type PlannedChanges } from './delegation/apply.ts';
import { type CallRecord, type ClientCall, createCallRecorder } from './delegation/client-calls.ts';
import { ownRunsReach } from './delegation/client-reach.ts';
import { createDelegation } from './delegation/delegation.ts';
import { createDialectLoader } from './delegation/dialect-services.ts';
import type { ClientClose } from './drivers.ts';
import type { FlowOptions } from './flow/admission.ts';
import { createJournal } from './journal.ts';
import { LiveRunHandle, type RunHandle } from './live-run.ts';
import { withContextWindows } from './loop/context-windows.ts';
import { cancelRun, watchOrders } from './orders.ts';
import { createResume, type Resume } from './recovery/resume.ts';
import type { Run } from './run.ts';
import type { RuntimeOptions, Services } from './services.ts';

export type { ClientRunOptions } from './admission/client.ts';
export type { EnqueueOptions, EnqueueResult } from './admission/enqueue.ts';
export type { FlowOptions } from './flow/admission.ts';
export type { RunHandle } from './live-run.ts';
export type { RuntimeOptions } from './services.ts';

/** What comes with a brief, but is not a part of the task. */
export interface BriefOptions {
  /** A further check of a submitted result, after its schema. */
  check?: ProgramCheck;
  /** The dialect of the new tree; the runtime's own if absent. */
  dialect?: string;
  /** The trace of the caller (W3C Trace Context). Malformed values are ignored. */
  trace?: TraceHeaders;
  /** Images for the model, beside the text of the brief. The start rejects with `invalid_brief` if they cannot be used. */
  images?: readonly Image[];
}

/** A program or connection that delegates from outside: a root run without a model. */
export interface RuntimeClient {
  id: string;
  delegation: Delegation;
  /** Records a call of a delegation tool in the client's run. */
  recordCall(call: ClientCall): CallRecord;
  delegate(brief: unknown, options?: BriefOptions): Promise<RunHandle>;
  /** Records a plan and makes its changes to the files of the workspace. Returns the paths that were left alone. */
  carryOut(plan: PlannedChanges): Promise<string[]>;
  /** Records that the changes of these runs are not to be applied. */
  discard(runIds: string[]): Promise<void>;
  /** Null while it accepts delegations. `lost`: why its tree can no longer be written here; null if the client run has ended. */
  findEnd(): Promise<{ lost: RetinueError | null } | null>;
  /** Ends it; runs below it are stopped first. `gone`: the client did not close the connection itself. */
  close(how?: ClientClose): Promise<Outcome>;
}

export interface Runtime {
  owner: Owner;
  start(brief: unknown, options?: BriefOptions): Promise<RunHandle>;
  openClient(options?: ClientRunOptions & { dialect?: string }): Promise<RuntimeClient>;
  /** Starts a flow as a root run. Rejects with `invalid_brief` if the input does not match its schema. */
  startFlow(program: FlowProgram, input: Json, options?: FlowOptions): Promise<RunHandle>;
  /** Admits a brief and leaves it to a worker. */
  enqueue(brief: unknown, options: EnqueueOptions): Promise<EnqueueResult>;
  /** Stops driving one tree, so that another process can continue it. Nothing of it runs here when it resolves. */
  handBack(rootId: string, reason: string): Promise<void>;
  /** Continues every run of a tree that no living process drives. */
  resume: Resume;
  findLiveRun(runId: string): RunHandle | null;
  /** `readsDeltas`: whether the listener needs deltas now; always if absent. While no listener does, models may answer in one piece. */
  listen(listener: (event: Fact | Delta) => void, readsDeltas?: () => boolean): () => void;
  /** Whether a new runtime has to replace this one: it holds trees that it can no longer write, and drives nothing else. */
  isStale(): boolean;
  /** Slots and timers in use: both 0 when nothing runs. */
  stats(): { active: number; queued: number; timers: number; runs: number };
  /** Accepts no new work and leaves running trees for another process to continue. */
  drain(reason: string): Promise<void>;
  /** Stops what runs, waits for it, and gives up the lease. */
  close(): Promise<void>;
}

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { store, clock, ids } = options;
  const owner = await store.open(options.queues);
  const runs = new Map<string, Run>();
  const deadlines = createDeadlines(clock);
  const scheduler = createScheduler({ slots: options.slots ?? 256, maxQueued: options.maxQueued ?? 20_000 });
  const { warn = () => {} } = options;
  const lanes = createLanes({ clock, deadlines, random: () => ids.random(), shared: { limits: store.limits, owner: owner.id, warn } });
  const lostTrees = new Map<string, RetinueError>();
  const onLost = (rootId: string, error: RetinueError) => {
    lostTrees.set(rootId, error);
    runs.get(rootId)?.stop({ code: 'lost', message: error.message, error });
  };
  const journal = createJournal({ store, owner, clock, onLost });
  const shareBudgets = createBudgetSharing({ store, owner, clock, deadlines, ids });
  const services: Services = {
    ...options,
    models: withContextWindows(options.models, options.settings.compaction),
    owner,
    originalsKey: ids.key(),
    journal,
    deadlines,
    scheduler,
    lanes,
    systems: new TextMemo((raw) => {
      const text = options.redact(raw, true);
      return { text, hash: sha256(text) };
    }),
    shareBudgets,
    runs,
    dialect: createDialectLoader(options),
    startRun: (input, more) => startRun(input, more),
  };
  let isClosed = false;
  const startRun = createRunStarter(services, () => !isClosed);
  const orders = watchOrders(services, journal.abandon);
  const createHandle = (run: Run): RunHandle => new LiveRunHandle(run, services);
  const resume = createResume(services, { lostTrees, assertOpen, createHandle, checkOrders: () => void orders.check() });

  function assertOpen(): void {
    if (isClosed) throw new RetinueError('parent_ended', 'nothing more can be started: this process is closing');
  }

  async function createClient({ dialect, ...given }: ClientRunOptions & { dialect?: string } = {}): Promise<RuntimeClient> {
    assertOpen();
    const closed = Promise.withResolvers<ClientClose>();
    const { budgets } = await admitBudgets(given.budgets, null, services);
    const loaded = await services.dialect(dialect);
    assertOpen();
    const run = await openClient({ options: { ...given, budgets }, dialect: loaded, closed: closed.promise }, services);
    return {
      id: run.id,
      delegation: createDelegation(run, { call: null, reach: { ...ownRunsReach, ...given } }, services),
      recordCall: createCallRecorder(run, services),
      carryOut: (plan) => carryOutPlan(run, plan, services),
      discard: (runIds) => run.record([{ type: 'changes.discarded', data: { runs: runIds } }]),
      delegate: async (input, more) => createHandle(await startRun(input, { ...more, parent: run })),
      async findEnd() {
        // Notices that another process took the tree while this one was stopped.
        await orders.check();
        const lost = lostTrees.get(run.id) ?? null;
        return lost || run.isClosing || run.signal.aborted ? { lost } : null;
      },
      close({ gone, reason } = { gone: false }) {
        closed.resolve({ gone, ...(reason !== undefined && { reason: services.redact(reason.toWellFormed(), false) }) });
        return run.ended;
      },
    };
  }

  async function startFlowRun(program: FlowProgram, input: Json, given: FlowOptions = {}): Promise<RunHandle> {
    assertOpen();
    const { budgets } = await admitBudgets(given.budgets, null, services);
    const loaded = await services.dialect(undefined);
    assertOpen();
    return createHandle(await startFlow({ program, input, options: { ...given, budgets }, dialect: loaded }, services));
  }

  function rootRuns(): Run[] {
    return [...runs.values()].filter((run) => run.parent === null);
  }

  return {
    owner,
    resume,
    openClient: createClient,
    startFlow: startFlowRun,
    start: async (input, more) => createHandle(await startRun(input, more)),
    async enqueue(input, more) {
      assertOpen();
      return enqueueRun(input, more, services);
    },
    async handBack(rootId, reason) {
      const root = runs.get(rootId);
      root?.stop({ code: 'paused', message: reason });
      await root?.ended.catch(() => {});
      await store.releaseTree(owner, rootId);
    },
    findLiveRun: (id) => {
      const run = runs.get(id);
      return run ? createHandle(run) : null;
    },
    listen: journal.listen,
    isStale: () => lostTrees.size > 0 && runs.size === 0,
    stats: () => ({ ...scheduler.stats(), timers: deadlines.size, runs: runs.size }),
    async drain(reason) {
      isClosed = true;
      const roots = rootRuns();
      for (const run of roots) run.stop({ code: 'paused', message: reason });
      await Promise.allSettled(roots.map((run) => run.ended));
    },
    async close() {
      isClosed = true;
      await Promise.allSettled(
        rootRuns().map(async (run) => {
          // A lost tree cannot record the request, but its runs stop too.
          await cancelRun(run, { reason: 'the process is closing', by: 'the runtime' }, services).catch(() => {});
          await run.ended;
        }),
      );
      await options.toolSource?.close();
      await orders.close();
      lanes.close();
      await journal.flushed();
      await store.release(owner);
    },
  };
}
