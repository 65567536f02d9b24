// Who drives trees: a living process, or a worker that will take them.
import type { Store } from '../ports/store.ts';

export interface TreeDriver {
  /** The living process that drives the tree; null if there is none. */
  pid: number | null;
  /** The name of that process, if it is a worker. */
  worker: string | null;
  /** No living process drives the tree, but it has a job: a worker will. */
  isQueued: boolean;
  /** It has new orders, so a worker takes it as soon as possible. */
  isWoken: boolean;
  /** The queue that it belongs to, if no living process drives it. */
  queue: string | null;
}

/** One entry for each tree. */
export async function findTreeDrivers(rootIds: string[], store: Store): Promise<Map<string, TreeDriver>> {
  const holders = await store.holders(rootIds);
  const undriven = rootIds.filter((rootId) => !holders.get(rootId)?.alive);
  const queued = undriven.length === 0 ? undefined : await store.queue?.findTrees(undriven);
  return new Map(
    rootIds.map((rootId) => {
      const holder = holders.get(rootId);
      const driver = holder?.alive ? holder : null;
      const { hasJob = false, hasOrders = false, queue = null } = queued?.get(rootId) ?? {};
      return [rootId, { pid: driver?.pid ?? null, worker: driver?.worker ?? null, isQueued: hasJob, isWoken: hasOrders, queue }];
    }),
  );
}
