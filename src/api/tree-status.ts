// The status of runs as people see it, which depends on the rest of their tree.
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import type { RunView } from './api.ts';
import type { TreeDriver } from './tree-drivers.ts';

/** Whether a live run and all its live descendants are paused. A run that waits for children counts as paused if they all are. */
export function isFullyPaused(row: RunRow, tree: RunRow[]): boolean {
  const children = tree.filter((other) => other.parentId === row.runId && isLive(other.status));
  if (row.status !== 'paused' && !(row.status === 'waiting' && children.length > 0)) return false;
  return children.every((child) => isFullyPaused(child, tree));
}

/** Whether a live run takes no step until a user or the clock continues it. Unlike a fully paused run, it may have children that have not paused yet. */
export function isPaused(row: RunRow, tree: RunRow[]): boolean {
  return row.status === 'paused' || isFullyPaused(row, tree);
}

/**
 * The status of a live run. Without a process, all live runs of a tree have one status: `queued` if a worker takes the tree as soon as it can, `paused` if
 * all of them are paused, otherwise `interrupted`. `tree`: the live rows of its tree. `isDelayed`: all of it is paused until some time.
 */
export function deriveStatus(
  row: RunRow,
  tree: RunRow[],
  { pid, isQueued, isDelayed }: Pick<TreeDriver, 'pid' | 'isQueued'> & { isDelayed: boolean },
): RunView['status'] {
  if (pid !== null) return isFullyPaused(row, tree) ? 'paused' : row.status;
  if (isQueued && !isDelayed) return 'queued';
  return tree.every((other) => isFullyPaused(other, tree)) ? 'paused' : 'interrupted';
}
