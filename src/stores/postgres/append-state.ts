// What the checks of an append need to know, read in one round trip together with the locks.
import type { Owner, TreeAppend } from '../../ports/store.ts';
import type { StoredHead } from '../run-heads.ts';
import { type AppendRunState, keyName, type StoredState, type TreeState } from './append-plan.ts';
import { decodeText, encodeText } from './encode.ts';
import { selectHeads } from './run-tags.ts';
import type { Transaction } from './transaction.ts';

/*
 * Numbers of new trees and runs come from a sequence here, so that everything can be written in one go afterwards. The subqueries keep the planner from
 * joining whole tables.
 */
const selectTrees = (s: string) => `
  SELECT given.root, coalesce(tree.n, nextval('${s}.trees_n')) AS n, tree.n IS NULL AS "isNew", tree.owner, tree.fence,
    EXISTS (SELECT 1 FROM ${s}.owners WHERE id = $2) AS "isRegistered", pg_current_xact_id() AS xid
  FROM unnest($1::text[]) AS given (root)
  LEFT JOIN LATERAL (SELECT n, owner, fence FROM ${s}.trees WHERE trees.root = given.root LIMIT 1) AS tree ON true`;
const selectRuns = (s: string) => `
  SELECT given.id, coalesce(run.n, nextval('${s}.runs_n')) AS n, run.n IS NULL AS "isNew", run.tree, coalesce(run.seq, 0) AS seq
  FROM unnest($1::text[]) AS given (id)
  LEFT JOIN LATERAL (SELECT n, tree, seq FROM ${s}.runs WHERE runs.id = given.id LIMIT 1) AS run ON true`;
const selectKeys = (s: string) => `
  SELECT given.parent, given.key, run.id
  FROM unnest($1::text[], $2::text[]) AS given (parent, key)
  CROSS JOIN LATERAL (SELECT id FROM ${s}.runs WHERE coalesce(runs.parent, '') = given.parent AND runs.key = given.key LIMIT 1) AS run`;

type TreeRow = TreeState & { root: string; isRegistered: boolean; xid: string };
type RunEntry = AppendRunState & { id: string };

export async function readState(transaction: Transaction, s: string, units: TreeAppend[], owner: Owner): Promise<StoredState> {
  const rootIds = [...new Set(units.map(({ rootId }) => rootId))];
  const keyed = units.flatMap(({ rows }) => rows.filter(({ idempotencyKey }) => idempotencyKey !== null));
  const resigned = [
    ...new Set(units.filter(({ facts, consumed }) => facts.length === 0 && consumed.length > 0).map(({ rootId }) => rootId)),
  ];
  const runIds = [...new Set([...units.flatMap(({ facts, rows }) => [...facts, ...rows].map(({ runId }) => runId)), ...resigned])];
  const [trees, runs, keys, roots] = await Promise.all([
    transaction.query<TreeRow>({ name: 'append-trees', text: selectTrees(s), values: [rootIds, owner.id] }),
    transaction.query<RunEntry>({ name: 'append-runs', text: selectRuns(s), values: [runIds] }),
    keyed.length === 0
      ? []
      : transaction.query<{ parent: string; key: string; id: string }>({
          name: 'append-keys',
          text: selectKeys(s),
          values: [keyed.map(({ parentId }) => parentId ?? ''), keyed.map(({ idempotencyKey }) => encodeText(idempotencyKey as string))],
        }),
    resigned.length === 0
      ? []
      : transaction.query<StoredHead>({ name: 'append-roots', text: `${selectHeads(s)} WHERE runs.id = ANY($1)`, values: [resigned] }),
  ]);
  return {
    xid: trees[0]?.xid ?? '0',
    isRegistered: trees[0]?.isRegistered === true,
    trees: new Map(trees.map((tree) => [tree.root, tree])),
    runs: new Map(runs.map((run) => [run.id, run])),
    keys: new Map(keys.map(({ parent, key, id }) => [keyName(parent === '' ? null : parent, decodeText(key)), id])),
    roots: new Map(roots.map((head) => [head.id, head])),
  };
}
