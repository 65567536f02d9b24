// The life of one run in this process: slot, start, loop, settle. Whatever happens, it ends with exactly one `run.ended`, in one
// transaction with the parent's `child.ended` (invariants 1 and 2).
import { RetinueError } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Contexts } from '../conversation/context.ts';
import type { Pinned } from '../conversation/request.ts';
import type { Clock } from '../ports/clock.ts';
import type { DialectSetup } from '../ports/dialect.ts';
import type { ModelCaller, Models } from '../ports/model.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import type { Deadlines } from '../scheduling/deadlines.ts';
import type { Lanes } from '../scheduling/lanes.ts';
import { canonical, keepCanonical, sha256 } from '../text/canonical.ts';
import { userOf } from './admit.ts';
import { type Questions, questionMs } from './approval.ts';
import { createDelegation, type Desk } from './delegate.ts';
import { type Ending, failed, outcomeOf, rowOf } from './fold.ts';
import { historyOf, pinnedOf } from './history.ts';
import { isoOf, type Journal, msOf } from './journal.ts';
import { alwaysOf, endingOf, isNarrowed, type LiveRun, rulesetsOf, type StopCause } from './live.ts';
import { type LoopEnv, runLoop } from './loop.ts';
import { letGo, type Steering } from './steer.ts';

/** How messages are built; a change in that is a new version, and old ones stay replayable. */
export const loopVersion = 1;

export interface RunGround {
  journal: Journal;
  store: Store;
  clock: Clock;
  deadlines: Deadlines;
  lanes: Lanes;
  random(): number;
  contexts: Contexts;
  setup: DialectSetup;
  desk: Desk;
  callModel: ModelCaller;
  models: Models;
  redact: Redact;
  questions?: Questions | undefined;
  answer: Steering['answer'];
  /** The run has ended and is no longer this process's business. */
  gone(run: LiveRun): void;
}

/** Drives an admitted run as far as it goes, and gives how it ends. Never rejects. `loop`: who takes the steps. */
export async function driveRun(run: LiveRun, ground: RunGround, loop: (env: LoopEnv) => Promise<Ending | null> = runLoop): Promise<Ending> {
  try {
    return (await work(run, ground, loop)) ?? endingOf(run.signal.reason as StopCause);
  } catch (error) {
    return broken(error);
  }
}

/** Leaves a run as it stands, for another process to go on with: no end, but nothing of it is at work here any more. */
export async function suspendRun(run: LiveRun, message: string, ground: Pick<RunGround, 'journal' | 'gone'>): Promise<void> {
  if (run.settling) return void (await run.ended.catch(() => {}));
  run.settling = true;
  run.closing = true;
  run.slot.release();
  await Promise.allSettled([...run.children].map((child) => child.ended));
  run.unlink();
  const paused = { type: 'run.paused' as const, data: { reason: message, resumeAt: null } };
  let error: unknown = new RetinueError('paused', `run ${run.id} was paused: ${message}`, { retryable: true });
  try {
    // One that is paused already stays paused for its own reason, until its own time.
    if (!ground.journal.state(run.id).paused) await ground.journal.record(run.rootId, [{ runId: run.id, drafts: [paused] }]);
    else await ground.journal.settled();
  } catch (lost) {
    error = lost;
  }
  leave(run, ground);
  run.settle.reject(error);
}

export function broken(error: unknown): Ending {
  if (error instanceof RetinueError) return failed(error.code, error.message, error.retryable);
  return failed('internal', `a fault of Retinue: ${error instanceof Error ? error.message : String(error)}`);
}

async function work(run: LiveRun, ground: RunGround, loop: (env: LoopEnv) => Promise<Ending | null>): Promise<Ending | null> {
  if (!run.admitted || !(await run.slot.ensure())) return null;
  const { agent, brief, grant, handle, tools, check } = run.admitted;
  const fallbacks = [...run.admitted.fallbacks];
  const { started } = ground.journal.state(run.id);
  const { deadline, pinned } = started ? await takeUp(run, started.data, ground) : await start(run, ground);
  const endDeadline = ground.deadlines.at(deadline, () => run.stop({ code: 'deadline', message: 'the deadline passed' }));
  try {
    const env: LoopEnv = {
      state: ground.journal.state(run.id),
      journal: ground.journal,
      clock: ground.clock,
      deadlines: ground.deadlines,
      random: ground.random,
      signal: run.signal,
      deadline,
      handle,
      callModel: ground.callModel,
      pinned,
      lane: ground.lanes.lane(handle.lane),
      fallBack: async () => {
        const name = fallbacks.shift();
        if (name === undefined) return null;
        env.handle = await ground.models.resolve(name, userOf({ runId: run.id, rootId: run.rootId }, brief, agent.name, grant.workspace));
        env.lane = ground.lanes.lane(env.handle.lane);
        return name;
      },
      budget: run.budget,
      slot: run.slot,
      tools: {
        tools,
        offered: grant.tools,
        agent: agent.name,
        definition: ground.journal.state(run.id).created.data.definition ?? null,
        rulesets: () => rulesetsOf(run),
        always: () => alwaysOf(run),
        narrowed: () => isNarrowed(run),
        attended: () => (run.depth === 0 || ground.setup.asks !== false) && (ground.questions?.attended(run.rootId) ?? false),
        expiresAt: () => isoOf(ground.clock.now() + (ground.questions?.timeoutMs ?? questionMs)),
        workspace: grant.workspace,
        toolTimeoutMs: grant.limits.toolTimeoutMs.value as number,
        checkResult: check,
        redact: ground.redact,
        memo: new Map(),
        denial: run.depth > 0 ? ground.setup.denial : undefined,
      },
      contextLimits: run.depth > 0 ? (ground.setup.context ?? {}) : {},
      delegation: ({ turn, index }) => createDelegation(run, { index, turn }, ground.desk),
      changed: run.changed,
      pause: {
        hold: () => run.hold,
        set: (hold) => {
          run.hold = hold;
        },
        release: (by, consumed) => letGo(run, by, consumed),
        released: () => run.released,
      },
      answer: (call, given) => void ground.answer(run, { ...call, hash: call.approval?.hash ?? '' }, given).catch(() => {}),
      closing: () => {
        run.closing = true;
      },
    };
    return await loop(env);
  } finally {
    endDeadline();
  }
}

/** Pins everything that requests are made of, and sets the deadline: from here on, never past the parent's (invariant 6). */
async function start(run: LiveRun, ground: RunGround): Promise<{ deadline: number; pinned: Pinned }> {
  const { agent, brief, grant, handle, tools: known } = run.admitted as NonNullable<LiveRun['admitted']>;
  const [rawSystem, rawFirst, past] = await Promise.all([
    ground.contexts.system(agent, run.depth, grant.workspace),
    ground.contexts.first(brief, run.depth, grant.workspace),
    brief.continues === undefined ? null : historyOf(brief.continues, brief.continuesAt ?? null, ground.store),
  ]);
  const system = ground.redact(rawSystem, true);
  const first = ground.redact(rawFirst, true);
  const { tools, text: toolsText, hash: toolsHash } = ground.contexts.tools(grant.tools, known, brief.result?.schema);
  const historyText = past === null ? null : canonical(past.messages);
  const now = ground.clock.monotonic();
  const deadline = Math.min(now + (grant.limits.timeoutMs.value as number), run.parent?.deadline ?? Number.POSITIVE_INFINITY);
  run.deadline = deadline;
  run.notAfter = isoOf(ground.clock.now() + deadline - now);
  const pinned: Pinned = {
    system,
    systemHash: sha256(system),
    tools,
    toolsHash,
    history: past?.messages ?? [],
    historyHash: historyText === null ? null : sha256(historyText),
  };
  const data = {
    deadline: run.notAfter,
    first,
    history: pinned.historyHash,
    loop: loopVersion,
    model: handle.id,
    system: pinned.systemHash,
    ...(past && past.taint.length > 0 && { taint: past.taint }),
    tools: pinned.toolsHash,
  };
  const texts = { system: { hash: pinned.systemHash, text: system }, tools: { hash: toolsHash, text: toolsText } };
  const history = historyText === null ? [] : [{ hash: pinned.historyHash as string, text: historyText }];
  const blobs = [texts.system, texts.tools, ...history];
  ground.journal.record(run.rootId, [{ runId: run.id, drafts: [{ type: 'run.started', data }] }], { blobs }).catch(() => {});
  return { deadline, pinned };
}

/** What a run that was started before goes on with: everything that its requests are made of is in the store. */
async function takeUp(
  run: LiveRun,
  started: FactData['run.started'],
  { store, clock }: RunGround,
): Promise<{ deadline: number; pinned: Pinned }> {
  const pinned = await pinnedOf(run.id, started, store);
  const left = started.deadline === null ? Number.POSITIVE_INFINITY : msOf(started.deadline) - clock.now();
  run.deadline = clock.monotonic() + left;
  return { deadline: run.deadline, pinned };
}

/**
 * Ends a run: first whatever of it is still at work and everything below it, then its own last fact. After that it holds no slot, timer
 * or listener (invariant 7). The first ending wins; a second call only waits for it (invariant 1). `below`: why its children are stopped.
 */
export async function settleRun(
  run: LiveRun,
  ending: Ending,
  { below, ...ground }: Pick<RunGround, 'journal' | 'gone'> & { below?: StopCause },
): Promise<void> {
  if (run.settling) return void (await run.ended.catch(() => {}));
  run.settling = true;
  run.closing = true;
  const ended: StopCause = { code: 'cancelled', message: 'the run that delegated it has ended' };
  const cause = (run.signal.reason as StopCause | undefined) ?? below ?? ended;
  run.stop(cause);
  run.slot.release();
  await Promise.allSettled([...run.children].map((child) => child.ended));
  run.unlink();
  try {
    if (cause.code === 'lost') throw cause.error;
    const outcome = await recordEnd(run, checkLeftOver(run, ending), ground.journal);
    leave(run, ground);
    run.settle.resolve(outcome);
  } catch (error) {
    leave(run, ground);
    run.settle.reject(error);
  }
}

function leave(run: LiveRun, { journal, gone }: Pick<RunGround, 'journal' | 'gone'>): void {
  const { parent } = run;
  if (parent) {
    parent.endedRows.set(run.id, rowOf(journal.state(run.id)));
    parent.children.delete(run);
    parent.open--;
    parent.notify();
  }
  journal.forget(run.id);
  gone(run);
}

/** A scripted model with steps left over says so here. */
function checkLeftOver(run: LiveRun, ending: Ending): Ending {
  try {
    const left = ending.code === null ? (run.admitted?.handle.finished?.(run.id) ?? null) : null;
    return left ? failed(left.code, left.message, left.retryable) : ending;
  } catch (error) {
    return broken(error);
  }
}

async function recordEnd(run: LiveRun, ending: Ending, journal: Journal): Promise<Outcome> {
  const state = journal.state(run.id);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const own = {
    runId: run.id,
    drafts: (at: { iso: string; ms: number }) => {
      const outcome = outcomeOf(state, ending, { ...at, startedMs: state.started ? msOf(state.started.at) : null });
      keepCanonical(outcome);
      resolve(outcome);
      return [{ type: 'run.ended' as const, data: { outcome } }];
    },
  };
  const parts = run.parent ? [own, childEnded(run.parent.id, run.id, journal)] : [own];
  await journal.record(run.rootId, parts);
  return promise;
}

export function childEnded(parentId: string, childId: string, journal: Journal) {
  return {
    runId: parentId,
    drafts: () => {
      const { ended, hash, taint } = journal.state(childId);
      if (!ended) throw new RetinueError('internal', `run ${childId} has not ended`);
      return [
        {
          type: 'child.ended' as const,
          data: { childId, hash, outcome: ended.data.outcome, ...(taint.size > 0 && { taint: [...taint].sort() }) },
        },
      ];
    },
  };
}
