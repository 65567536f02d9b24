// Continues a tree that no living process drives: claims it, revives its runs from their facts, records that they continue, and drives them.
import { RetinueError } from '../../contract/error.ts';
import { isoToMs } from '../../text/instant.ts';
import { unregisterRun } from '../admission/create-run.ts';
import type { RunHandle } from '../live-run.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { startDriver } from '../start-driver.ts';
import { createCrashIsolation } from './crash-isolation.ts';
import { assertAuthentic } from './history.ts';
import { endCrashedTree } from './interrupted.ts';
import { countTakeovers, type RecordedPause, readTree, reapplyStops, resumeFacts, reviveRuns } from './recovery.ts';

/** `pid`: of the living process that drives the tree. */
export type ResumeResult = { ok: true; handles: RunHandle[] } | { ok: false; pid: number };

export interface ResumeOptions {
  /** Pauses with a later end stay. */
  patient?: boolean;
  /** Pauses with such a reason stay. */
  keeps?(reason: string): boolean;
  /**
   * A tree that was taken over from this many dead processes in a row, without any progress, ends as `failed: crashed` instead. Rejects with `crashed` if
   * it is to be tried later, because another tree without progress is isolated.
   */
  maxTakeovers?: number;
}

export interface ResumeDeps {
  /** Trees that this process can no longer write. */
  lostTrees: Map<string, RetinueError>;
  assertOpen(): void;
  createHandle(run: Run): RunHandle;
  checkOrders(): void;
}

export type Resume = (rootId: string, by: string, options?: ResumeOptions) => Promise<ResumeResult>;

export function createResume(services: Services, { lostTrees, assertOpen, createHandle, checkOrders }: ResumeDeps): Resume {
  const { store, owner, clock, journal, runs } = services;
  /** Resumes under way, by tree. Never reject. */
  const resuming = new Map<string, Promise<void>>();
  const crashIsolation = createCrashIsolation({ runs, isResuming: (rootId) => resuming.has(rootId), clock });

  /** One at a time for each tree, because a resume that fails gives the tree up. */
  function resume(rootId: string, by: string, more?: ResumeOptions): Promise<ResumeResult> {
    const current = (resuming.get(rootId) ?? Promise.resolve()).then(() => resumeOrGiveUp(rootId, by, more));
    const settled = current.then(
      () => {},
      () => {},
    );
    resuming.set(rootId, settled);
    void settled.then(() => resuming.get(rootId) === settled && resuming.delete(rootId));
    return current;
  }

  async function resumeOrGiveUp(rootId: string, by: string, more?: ResumeOptions): Promise<ResumeResult> {
    try {
      return await resumeTree(rootId, by, more);
    } catch (error) {
      // A tree that this process holds but does not drive would look alive, and nothing would carry out its orders.
      if (!runs.has(rootId)) await store.releaseTree(owner, rootId).catch(() => {});
      throw error;
    }
  }

  async function resumeTree(rootId: string, by: string, options: ResumeOptions = {}): Promise<ResumeResult> {
    const { patient = false, keeps = () => false, maxTakeovers = Number.POSITIVE_INFINITY } = options;
    assertOpen();
    // What this process had of a lost tree must be over before it is read again.
    if (lostTrees.has(rootId)) await runs.get(rootId)?.ended.catch(() => {});
    const known = runs.get(rootId);
    if (known) return { ok: true, handles: [createHandle(known)] };
    const { states } = await readTree(rootId, services);
    if (Number.isFinite(maxTakeovers) && !crashIsolation.tryBegin(rootId, states))
      throw new RetinueError('crashed', 'its processes died before it made progress; another such tree is tried first', {
        retryable: true,
      });
    const claim = await store.claim(owner, rootId);
    if (!claim.ok) return { ok: false, pid: claim.pid };
    const here = runs.get(rootId);
    if (here) return { ok: true, handles: [createHandle(here)] };
    lostTrees.delete(rootId);
    journal.reopen(rootId);
    const tree = await readTree(rootId, services, states);
    for (const state of tree.states) await assertAuthentic(state, store);
    const isTakeover = claim.previous !== null;
    const [root] = tree.rows;
    if (root && isTakeover && countTakeovers(tree.states) >= maxTakeovers) {
      await endCrashedTree(root, maxTakeovers, services);
      return { ok: true, handles: [] };
    }
    const revived = await reviveRuns(tree, services);
    if (revived.length === 0) return { ok: true, handles: [] };
    try {
      assertOpen();
      // Resuming overrides a pause that was ordered from an earlier process.
      const pauses = (await store.orders(owner)).filter((order) => order.rootId === rootId && order.kind === 'pause');
      const now = clock.now();
      const staysPaused = ({ reason, resumeAt }: RecordedPause) =>
        (patient && resumeAt !== null && isoToMs(resumeAt) > now) || keeps(reason);
      await journal.record(
        rootId,
        revived.map((run) => resumeFacts(run, { by, isTakeover, staysPaused })),
        { consumed: pauses.map((order) => order.id) },
      );
    } catch (error) {
      for (const run of revived) unregisterRun(run, error, services);
      throw error;
    }
    for (const run of revived) reapplyStops(run, clock.now());
    for (const run of revived) startDriver(run, services);
    checkOrders();
    return { ok: true, handles: revived.map(createHandle) };
  }

  return resume;
}
