// What this program refuses in a process that a run has started. Such a process belongs to a model: it must not start runs beside the limits of its
// tree, answer the questions that its run asks the user, or change what the user trusts. Reading stays allowed.
import { RetinueError } from '../contract/error.ts';
import { findRunAbove } from '../system/run-above.ts';

export function isBelowRun(env: NodeJS.ProcessEnv): boolean {
  return findRunAbove(env) !== null;
}

/** Throws `depth`. */
export function assertNotBelowRun(env: NodeJS.ProcessEnv): void {
  const why = findRunAbove(env);
  if (why === null) return;
  const advice = 'use the delegation tools of the run, or run the command in a terminal of your own; commands that only read still work';
  throw new RetinueError(
    'depth',
    `a run started this process (${why}), so Retinue may not start runs here, give orders or change settings: ${advice}`,
  );
}
