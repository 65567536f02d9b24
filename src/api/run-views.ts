// Rows of runs as front-ends show them.
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { isoToMs } from '../text/instant.ts';
import type { RunView } from './api.ts';
import { findTreeDrivers, type TreeDriver } from './tree-drivers.ts';
import { findPauseInRows } from './tree-pause.ts';
import { deriveStatus } from './tree-status.ts';

const nobody: TreeDriver = { pid: null, worker: null, isQueued: false, isWoken: false, queue: null };

/** The views of rows, in the same order. */
export function createRunViews(store: Store, clock: Clock): (rows: RunRow[]) => Promise<RunView[]> {
  async function rowsToViews(rows: RunRow[]): Promise<RunView[]> {
    const live = new Set(rows.filter((row) => isLive(row.status)).map((row) => row.rootId));
    const drivers = await findTreeDrivers([...live], store);
    const trees = new Map(
      await Promise.all([...live].map(async (rootId) => [rootId, await store.runs({ rootId, live: true })] as [string, RunRow[]])),
    );
    const delayed = await findDelayed(drivers, trees);
    return Promise.all(
      rows.map(async (row) => ({
        ...rowToView(row, trees.get(row.rootId) ?? [], { ...(drivers.get(row.rootId) ?? nobody), isDelayed: delayed.has(row.rootId) }),
        task: row.erasedAt === undefined ? await findTask(row) : null,
      })),
    );
  }

  /** Queued trees that are paused until some time and have no new orders. */
  async function findDelayed(drivers: Map<string, TreeDriver>, trees: Map<string, RunRow[]>): Promise<Set<string>> {
    const found = new Set<string>();
    for (const [rootId, { isQueued, isWoken }] of drivers) {
      if (!isQueued || isWoken) continue;
      const pause = await findPauseInRows(trees.get(rootId) ?? [], store);
      if (pause !== null && pause.until !== null && isoToMs(pause.until) > clock.now()) found.add(rootId);
    }
    return found;
  }

  /** Only for runs without a label, which a list shows by their task. */
  async function findTask({ runId, label, kind }: RunRow): Promise<string> {
    if (label !== null || kind === 'client') return '';
    const [created] = await store.facts({ runId, types: ['run.created'] });
    return created?.type === 'run.created' ? (created.data.brief.task.split('\n', 1)[0] as string) : '';
  }

  return rowsToViews;
}

/** `tree`: the live rows of its tree. */
function rowToView(row: RunRow, tree: RunRow[], driver: TreeDriver & { isDelayed: boolean }): Omit<RunView, 'task'> {
  const { runId, parentId, rootId, depth, kind, label, agent, turns, tokens, costUsd, startedAt, endedAt } = row;
  return {
    runId,
    parentId,
    rootId,
    depth,
    kind,
    label,
    agent,
    status: isLive(row.status) ? deriveStatus(row, tree, driver) : row.status,
    driven: isLive(row.status) && driver.pid !== null,
    turns,
    tokens,
    costUsd,
    startedAt,
    endedAt,
    worker: isLive(row.status) ? driver.worker : null,
  };
}
