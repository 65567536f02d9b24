import { RetinueError } from '../contract/error.ts';

/** For an owner that was released, or removed by a process that took over its trees. */
export function createUnregisteredError(): RetinueError {
  return new RetinueError('fenced', 'This process is no longer registered in the database; continue its runs with `retinue resume`.');
}
