// The list of trees for screens: newest first, filtered, in pages.
import type { Tokens } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import type { RunView, TreeList, TreeQuery, TreeView } from '../contract/view.ts';
import type { Store } from '../ports/store.ts';

export interface TreeListDeps {
  store: Pick<Store, 'runs' | 'countRuns'>;
  /** In the same order. */
  rowsToViews(rows: RunRow[]): Promise<RunView[]>;
}

/** Trees that are read at a time to find matches. */
const scanSize = 200;
/** With a filter that matches little, one request looks at so many trees; the next one continues there. */
const maxScanned = 5_000;

export async function listTrees({ limit, before, ...filter }: TreeQuery, { store, rowsToViews }: TreeListDeps): Promise<TreeList> {
  const matches = createMatcher(filter);
  const trees: TreeView[] = [];
  const isFiltered = Object.values(filter).some((each) => each !== undefined && each !== '');
  let last = before;
  for (let scanned = 0; scanned < maxScanned; ) {
    const size = isFiltered ? scanSize : Math.min(scanSize, limit + 1 - trees.length);
    const rows = await store.runs({ roots: true, order: 'newest', limit: size, ...(last === undefined ? {} : { before: last }) });
    scanned += rows.length;
    const candidates = rows.filter(matches.row);
    const views = await rowsToViews(candidates);
    const counts = await store.countRuns(candidates.map(({ runId }) => runId));
    for (const [i, view] of views.entries()) {
      if (!matches.view(view)) continue;
      // One more tree matches, so the list continues after the last one that fits.
      if (trees.length === limit) return { trees, next: trees.at(-1)?.runId ?? null };
      const { runId, createdAt, model } = candidates[i] as RunRow;
      const count = counts.get(runId) ?? { runs: 1, live: 0 };
      const live = count.live > 1 ? await store.runs({ rootId: runId, live: true }) : [];
      trees.push({ ...addLive(view, live), createdAt, model, ...count });
    }
    if (rows.length < size) return { trees, next: null };
    last = rows.at(-1)?.runId;
  }
  return { trees, next: last ?? null };
}

/** The row of a run has the sums of its ended children only, so the tree's sums include those of every live run. */
function addLive(view: RunView, live: RunRow[]): RunView {
  const tokens = { ...view.tokens };
  let { costUsd } = view;
  for (const row of live) {
    if (row.runId === view.runId) continue;
    for (const name of Object.keys(tokens) as (keyof Tokens)[]) tokens[name] += row.tokens[name];
    if (row.costUsd !== null) costUsd = (costUsd ?? 0) + row.costUsd;
  }
  return { ...view, tokens, costUsd };
}

/** `row`: what a row alone can rule out. The status that is shown depends on the whole tree, and the task on a fact. */
function createMatcher({ status, agent, text = '' }: Omit<TreeQuery, 'limit' | 'before'>) {
  const wanted = text.trim().toLowerCase();
  return {
    row: (row: RunRow) =>
      (agent === undefined || row.agent === agent) && (status === undefined || isLive(row.status) || status.includes(row.status)),
    view: (view: RunView) => {
      const texts = [view.label, view.task, view.agent, view.runId];
      return (
        (status === undefined || status.includes(view.status)) &&
        (wanted === '' || texts.some((each) => each?.toLowerCase().includes(wanted)))
      );
    },
  };
}
