// What runs do and what they cost, for screens: snapshots of trees, costs, search.
import type { StoredFact } from '../contract/fact.ts';
import type { Tokens } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { CostRow, LiveRun, SearchHit, TreeSnapshot } from '../contract/view.ts';
import { assertNotErased } from '../kernel/history.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from '../records/find-run.ts';
import { isoToMs } from '../text/instant.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { applyEvent, createLiveState, type LiveState, listDepthFirst } from '../views/live-state.ts';
import type { Api } from './api.ts';

const pageSize = 500;
/** Trees whose state is kept, so that showing one again reads only its new facts. */
const maxTrees = 8;

export function createOverview(store: Store): Pick<Api, 'tree' | 'position' | 'search' | 'costs' | 'countEnded'> {
  const trees = new Map<string, { state: LiveState; position: string; reading: Promise<void> }>();

  async function loadTree(rootId: string): Promise<{ state: LiveState; position: string }> {
    const tree = trees.get(rootId) ?? { state: createLiveState(), position: '0', reading: Promise.resolve() };
    trees.delete(rootId);
    trees.set(rootId, tree);
    if (trees.size > maxTrees) trees.delete(trees.keys().next().value as string);
    const readOn = async () => {
      for (;;) {
        const facts = await store.facts({ rootId, after: tree.position, limit: pageSize });
        for (const fact of facts) applyEvent(tree.state, fact);
        tree.position = facts.at(-1)?.position ?? tree.position;
        if (facts.length < pageSize) return;
      }
    };
    tree.reading = tree.reading.then(readOn, readOn);
    await tree.reading;
    return tree;
  }

  return {
    async tree(id): Promise<TreeSnapshot> {
      const row = await findRun(id, store);
      assertNotErased(row);
      const { state, position } = await loadTree(row.rootId);
      return { rootId: row.rootId, position, runs: structuredClone(listDepthFirst(state)) as LiveRun[] };
    },
    position: async () => (await store.cursor()).newest,
    async search(text, options) {
      if (text.trim() === '') return [];
      const facts = await store.search(text, options);
      const rows = new Map(
        (await Promise.all([...new Set(facts.map(({ runId }) => runId))].map((id) => store.run(id)))).map((row) => [row?.runId, row]),
      );
      return facts.flatMap((fact) => factToHit(fact, text, rows.get(fact.runId) ?? null) ?? []);
    },
    costs: async () => rowsToCosts(await store.runs({ order: 'oldest' })),
    async countEnded() {
      const ended = (await store.runs({})).filter(({ endedAt }) => endedAt !== null);
      return Object.fromEntries([...Map.groupBy(ended, ({ status }) => status)].map(([status, rows]) => [status, rows.length]));
    },
  };
}

const excerptChars = 160;

/** Null if the row of the run is missing. */
function factToHit(fact: StoredFact, text: string, row: RunRow | null): SearchHit | null {
  if (row === null) return null;
  const { runId, seq, at, type } = fact;
  const { rootId, label, agent } = row;
  const found = findString(fact.data, text.toLowerCase()) ?? '';
  const start = Math.max(0, found.toLowerCase().indexOf(text.toLowerCase()) - excerptChars / 2);
  const cut = found.slice(start, start + excerptChars + text.length).toWellFormed();
  const excerpt = `${start > 0 ? '…' : ''}${sanitizeLine(cut)}${start + cut.length < found.length ? '…' : ''}`;
  return { runId, rootId, seq, at, type, label, agent, excerpt };
}

/** The first string in the value that contains the text. */
function findString(value: unknown, text: string): string | null {
  if (typeof value === 'string') return value.toLowerCase().includes(text) ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const each of Object.values(value)) {
    const found = findString(each, text);
    if (found !== null) return found;
  }
  return null;
}

/** The row of a run has the sums of its ended children too, so these are subtracted. */
function rowsToCosts(rows: RunRow[]): CostRow[] {
  const children = Map.groupBy(rows, ({ parentId }) => parentId);
  const costs = new Map<string, CostRow>();
  for (const row of rows) {
    if (row.kind !== 'agent' || row.startedAt === null) continue;
    const day = row.startedAt.slice(0, 10);
    const { agent, model } = row;
    const key = JSON.stringify([day, agent, model]);
    const cost = costs.get(key) ?? {
      day,
      agent,
      model,
      runs: 0,
      tokens: { input: 0, output: 0, cached: 0, reasoning: 0 },
      costUsd: null,
      ms: 0,
    };
    costs.set(key, cost);
    const below = (children.get(row.runId) ?? []).filter(({ endedAt }) => endedAt !== null);
    cost.runs++;
    for (const name of Object.keys(cost.tokens) as (keyof Tokens)[])
      cost.tokens[name] += row.tokens[name] - below.reduce((sum, child) => sum + child.tokens[name], 0);
    if (row.costUsd !== null)
      cost.costUsd = (cost.costUsd ?? 0) + row.costUsd - below.reduce((sum, child) => sum + (child.costUsd ?? 0), 0);
    if (row.endedAt !== null) cost.ms += isoToMs(row.endedAt) - isoToMs(row.startedAt);
  }
  return [...costs.values()];
}
