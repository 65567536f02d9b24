// Drives one tree from its job to its end, or until it goes back. The lease of the tree decides who drives it; the job is settled afterwards.
import type { Api, LiveEvent, RunHandle } from '../api/api.ts';
import type { TreePause } from '../api/tree-pause.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Clock } from '../ports/clock.ts';
import type { Job, Queue } from '../ports/queue.ts';
import { isoToMs } from '../text/instant.ts';
import type { WorkerLog } from './log.ts';
import type { ProblemLimit } from './problem-limit.ts';

/** What a worker needs for one tree. */
export interface TreeSession {
  api: Api;
  findPause(): Promise<TreePause | null>;
}

export interface DriveDeps {
  queue: Queue;
  clock: Clock;
  log: WorkerLog;
  limit: ProblemLimit;
  openTree(rootId: string): Promise<TreeSession>;
}

export interface DriveOptions {
  job: Job;
  /** It was found without a worker, so the job is not ours unless the tree is. */
  isOrphan: boolean;
  /** Fires when the worker stops: the tree goes back, at its next step if that comes within `graceMs`. */
  stop: AbortSignal;
  graceMs: number;
}

/** Why the runs of a worker that stops are paused. A pause with another reason was ordered, and stays. */
const workerStopped = 'its worker was asked to stop';
/** A tree that kills its worker each time must not do so for ever. */
const maxTakeovers = 3;
/** A tree that continues within this time stays here. */
const shortPauseMs = 60_000;
/** How long a paused tree that was taken has to go on. */
const wakingMs = 1_000;
/** How long a tree that another process drives waits for the next look. */
const heldDelayMs = 10_000;
/** The same for a tree that this worker cannot drive; another one may. */
export const problemDelayMs = 30_000;
/** How often the release of a tree that could not be written is tried. */
const giveUpMs = 1_000;

/** Never rejects. */
export async function driveTree(options: DriveOptions, deps: DriveDeps): Promise<void> {
  const { job, isOrphan } = options;
  const { queue, log } = deps;
  const { rootId } = job;
  let session: TreeSession | null = null;
  try {
    session = await deps.openTree(rootId);
    await assertFiles(session.api, options, deps);
    const handles = await session.api.resume(rootId, { by: 'a worker', patient: true, keeps: isOrdered, maxTakeovers });
    log({ event: 'tree.taken', rootId, queue: job.queue, isOrphan });
    await followTree(handles[0] ?? null, { session, options, deps });
  } catch (error) {
    // It was not claimed: another process drives it, or another tree is to be tried first.
    const isLeft = isRetinueError(error) && (error.code === 'fenced' || error.code === 'crashed');
    // Nothing was taken, and the next look finds it again if it is still an orphan.
    if (isOrphan && isLeft) return;
    const problem = isRetinueError(error) && error.code === 'fenced' ? 'another process drives it' : describe(error);
    log({ event: 'tree.put_back', rootId, reason: problem });
    const delayMs = options.stop.aborted ? 0 : isLeft ? heldDelayMs : problemDelayMs;
    if (session !== null && !isLeft) return giveUp(session.api, { options, deps }, { delayMs, problem });
    await queue.putBack(job, delayMs, problem).catch((cause: unknown) => log({ event: 'problem', message: describe(cause) }));
  }
}

/** Rejects if this worker cannot provide the files of the tree. Nothing is recorded then: another worker may, or this one later. */
async function assertFiles(api: Api, { job: { rootId }, isOrphan, stop }: DriveOptions, { limit }: DriveDeps): Promise<void> {
  const found = await api.findFileProblem(rootId, stop);
  if (stop.aborted) throw new RetinueError('workspace', workerStopped, { retryable: true });
  if (found === null) return limit.forget(rootId);
  if (limit.isReached(rootId, found.since)) return;
  const isTaken = isOrphan && (await api.show(rootId)).driven;
  throw new RetinueError(isTaken ? 'fenced' : 'workspace', found.problem, { retryable: true });
}

function isOrdered(reason: string): boolean {
  return reason !== workerStopped;
}

interface FollowDeps {
  session: TreeSession;
  options: DriveOptions;
  deps: DriveDeps;
}

/** Follows a tree that this process drives, and settles its job. `root`: null if the tree has ended. */
async function followTree(root: RunHandle | null, { session, options, deps }: FollowDeps): Promise<void> {
  const { job, stop } = options;
  const { queue, log } = deps;
  const { rootId } = job;
  const { api } = session;
  const next =
    root === null ? ({ kind: 'ended', status: 'ended' } as const) : await waitForTreeChange(root, { session, stop, clock: deps.clock });
  if (next.kind === 'lost') {
    log({ event: 'tree.lost', rootId });
    if (next.isOurs) await giveUp(api, { options, deps }, { delayMs: heldDelayMs, problem: 'the database was out of reach' });
    return;
  }
  if (next.kind === 'ended') {
    await queue.complete(job);
    log({ event: 'tree.ended', rootId, status: next.status });
    return;
  }
  if (next.kind === 'paused') {
    await api.handBack(rootId, workerStopped);
    const pause = await session.findPause();
    // Somebody has continued it at the last moment.
    if (pause === null || !pause.reasons.every(isOrdered)) return queue.putBack(job, 0);
    await queue.complete(job, pause.until === null ? undefined : { startAfter: pause.until });
    log({ event: 'tree.rests', rootId, until: pause.until });
    return;
  }
  await waitAtMost(api.pause([rootId], workerStopped), options.graceMs, deps.clock);
  await api.handBack(rootId, workerStopped);
  await queue.putBack(job, 0);
  log({ event: 'tree.handed_back', rootId });
}

/** `isOurs`: it could not be written, but no other process has taken it. */
type Change = { kind: 'ended'; status: string } | { kind: 'lost'; isOurs: boolean } | { kind: 'paused' } | { kind: 'stopped' };

/**
 * Releases a tree that this process cannot drive, and puts its job back. This process lives, so no other process can take the tree before; and the database
 * may be out of reach for a long time, so it is tried until the worker stops. Never rejects.
 */
async function giveUp(
  api: Api,
  { options: { job, stop }, deps: { queue, clock } }: Pick<FollowDeps, 'options' | 'deps'>,
  { delayMs, problem }: { delayMs: number; problem: string },
): Promise<void> {
  for (;;) {
    try {
      await api.handBack(job.rootId, workerStopped);
      return await queue.putBack(job, delayMs, problem);
    } catch {
      if (stop.aborted) return;
      await new Promise<void>((resolve) => void clock.at(clock.monotonic() + giveUpMs, resolve));
    }
  }
}

/** Resolves when the tree ends, is paused for a longer time, or is lost, or when the worker stops. */
async function waitForTreeChange(
  root: RunHandle,
  { session, stop, clock }: { session: TreeSession; stop: AbortSignal; clock: Clock },
): Promise<Change> {
  const { promise, resolve } = Promise.withResolvers<Change>();
  const onStop = () => resolve({ kind: 'stopped' });
  const checkPause = async () => {
    const pause = await session.findPause();
    if (pause !== null && (pause.until === null || isoToMs(pause.until) - clock.now() > shortPauseMs)) resolve({ kind: 'paused' });
  };
  // A failed look is repeated at the next pause; until then the tree only stays here.
  const onEvent = (event: LiveEvent) => {
    if (event.type === 'run.paused') void checkPause().catch(() => {});
  };
  const unwatch = session.api.watch(onEvent, { deltas: false });
  root.outcome.then(
    ({ status }) => resolve({ kind: 'ended', status }),
    (error: unknown) => resolve({ kind: 'lost', isOurs: !(isRetinueError(error) && error.code === 'fenced') }),
  );
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  // It may have been paused before. An order that woke it is carried out first.
  const cancelCheck = clock.at(clock.monotonic() + wakingMs, () => void checkPause().catch(() => {}));
  try {
    return await promise;
  } finally {
    unwatch();
    cancelCheck();
    stop.removeEventListener('abort', onStop);
  }
}

/** Resolves also if the work fails. */
async function waitAtMost(work: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.at(clock.monotonic() + ms, resolve);
  work.then(
    () => resolve(),
    () => resolve(),
  );
  await promise;
  cancel();
}

export function describe(error: unknown): string {
  return isRetinueError(error) ? error.message : String((error as Error)?.message ?? error);
}
