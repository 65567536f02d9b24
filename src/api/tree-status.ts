// The status of runs as people see it, which depends on the rest of their tree.
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import type { RunView } from './api.ts';
import type { TreeDriver } from './tree-drivers.ts';

/** Whether nothing of a live run and of its descendants happens until somebody continues it: it is paused or waits for children, and they are at rest. */
export function isAtRest(row: RunRow, tree: RunRow[]): boolean {
  const children = tree.filter((other) => other.parentId === row.runId && isLive(other.status));
  if (row.status !== 'paused' && !(row.status === 'waiting' && children.length > 0)) return false;
  return children.every((child) => isAtRest(child, tree));
}

/** Whether somebody has to continue a live run. Unlike a run at rest, it may have children that have not paused yet. */
export function isPaused(row: RunRow, tree: RunRow[]): boolean {
  return row.status === 'paused' || isAtRest(row, tree);
}

/**
 * The status of a live run. Without a process, all live runs of a tree have one status: `queued` if a worker takes the tree as soon as it can, `paused` if
 * each of them was paused in order, otherwise `interrupted`. `tree`: the live rows of its tree. `isDelayed`: all of it is paused until some time.
 */
export function shownStatus(
  row: RunRow,
  tree: RunRow[],
  { pid, isQueued, isDelayed }: Pick<TreeDriver, 'pid' | 'isQueued'> & { isDelayed: boolean },
): RunView['status'] {
  if (pid !== null) return isAtRest(row, tree) ? 'paused' : row.status;
  if (isQueued && !isDelayed) return 'queued';
  return tree.every((other) => isAtRest(other, tree)) ? 'paused' : 'interrupted';
}
