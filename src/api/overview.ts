// What runs do and what they cost, for screens: snapshots of trees, costs, search.
import { recordedPrefix } from '../contract/eval.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { Tokens } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { CostRow, LiveRun, SearchHit, TreeSnapshot } from '../contract/view.ts';
import { assertNotErased } from '../kernel/recovery/history.ts';
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

/** The row of a run has the sums of its ended children and of all its models too, so these are subtracted. A run counts once, under its own model. */
function rowsToCosts(rows: RunRow[]): CostRow[] {
  const children = Map.groupBy(rows, ({ parentId }) => parentId);
  const costs = new Map<string, CostRow>();
  /** With calls whose price is not known. */
  const unpriced = new Set<CostRow>();
  for (const row of rows) {
    if (row.kind !== 'agent' || row.startedAt === null) continue;
    const { otherModels: others = [] } = row;
    const cost = findCost(row.startedAt, row.agent, row.model);
    const below = (children.get(row.runId) ?? []).filter(({ endedAt }) => endedAt !== null);
    cost.runs++;
    if (row.costUsd === null && row.tokens.input + row.tokens.output > 0) unpriced.add(cost);
    addCost(cost, row, 1);
    for (const part of [...below, ...others]) addCost(cost, { ...part, costUsd: row.costUsd === null ? null : part.costUsd }, -1);
    for (const other of others) addCost(findCost(row.startedAt, row.agent, other.model), other, 1);
    if (row.endedAt !== null) cost.ms += isoToMs(row.endedAt) - isoToMs(row.startedAt);
  }
  // Runs without a call cost nothing, which says nothing about the others.
  for (const cost of unpriced) if (cost.costUsd === 0) cost.costUsd = null;
  return [...costs.values()];

  function findCost(startedAt: string, agent: string | null, given: string | null): CostRow {
    const day = startedAt.slice(0, 10);
    // Each replayed case of an eval has a model of its own, which makes no calls.
    const model = given?.startsWith(recordedPrefix) ? 'recorded' : given;
    const key = JSON.stringify([day, agent, model]);
    const tokens = { input: 0, output: 0, cached: 0, reasoning: 0 };
    const cost = costs.get(key) ?? { day, agent, model, runs: 0, tokens, costUsd: null, ms: 0 };
    costs.set(key, cost);
    return cost;
  }
}

/** Unknown costs count as none. */
function addCost(sum: CostRow, { tokens, costUsd }: Pick<CostRow, 'tokens' | 'costUsd'>, sign: 1 | -1): void {
  for (const name of Object.keys(sum.tokens) as (keyof Tokens)[]) sum.tokens[name] += sign * tokens[name];
  if (costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + sign * costUsd;
}
