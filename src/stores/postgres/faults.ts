// Looks for faults that the facts of a run do not show: a changed schema, rows and trees that do not fit together, forged orders. Reads only.
import { liveStatuses } from '../../contract/run-status.ts';
import type { OrderAuthenticator, StoreFault } from '../../ports/store.ts';
import { type OrderRow, readOrder } from '../order-rows.ts';
import { groupByRun, isHeadAuthentic, type StoredHead } from '../run-heads.ts';
import type { Connections } from './connections.ts';
import { decodeText, encodeText } from './encode.ts';
import { selectOrders } from './orders.ts';
import { selectHeads } from './run-tags.ts';
import { findSchemaFaults } from './schema.ts';

/** How many faults of one kind are listed. */
const maxListed = 20;
/** Runs in one answer. */
const pageSize = 1_000;

const treeChecks = (s: string): string[] => [
  `SELECT 'run ' || id || ' belongs to a tree that is missing' AS what FROM ${s}.runs WHERE tree NOT IN (SELECT n FROM ${s}.trees)`,
  `SELECT 'the root run of tree ' || root || ' is missing' AS what FROM ${s}.trees
    WHERE EXISTS (SELECT 1 FROM ${s}.runs WHERE runs.tree = trees.n) AND NOT EXISTS (SELECT 1 FROM ${s}.runs WHERE runs.id = trees.root)`,
  `SELECT count(*) || ' events belong to runs that are missing' AS what FROM ${s}.facts
    WHERE NOT EXISTS (SELECT 1 FROM ${s}.runs WHERE runs.n = facts.run) HAVING count(*) > 0`,
  `SELECT count(*) || ' events are filed under another tree than their run' AS what
    FROM ${s}.facts JOIN ${s}.runs ON runs.n = facts.run WHERE facts.tree <> runs.tree HAVING count(*) > 0`,
];

export async function findFaults(connections: Connections, authenticator: OrderAuthenticator | undefined): Promise<StoreFault[]> {
  const { schema: s } = connections;
  const faults: StoreFault[] = (await findSchemaFaults(connections)).map((what) => ({ where: 'schema', what }));
  const add = (where: StoreFault['where'], texts: string[]) => faults.push(...texts.slice(0, maxListed).map((what) => ({ where, what })));
  add('rows', await checkRows(connections));
  for (const text of treeChecks(s)) {
    const found = await connections.query<{ what: string }>({ text: `${text} LIMIT ${maxListed}` });
    add(
      'trees',
      found.map(({ what }) => what),
    );
  }
  const orders = await connections.query<OrderRow>({ text: `${selectOrders(s)} ORDER BY orders.n` });
  add(
    'orders',
    orders
      .map((row) => readOrder({ ...row, id: decodeText(row.id) }, authenticator))
      .flatMap((read) => ('what' in read ? [read.what] : [])),
  );
  if (authenticator?.hasKey() === true) add('rows', await checkTags(connections, authenticator));
  return faults;
}

interface RunEntry {
  n: number;
  id: string;
  parent: string | null;
  live: boolean;
  key: string | null;
  seq: number;
  row: string | null;
  root: string | null;
}

/** Rows whose columns differ from the row that they were made from. */
async function checkRows({ query, schema: s }: Connections): Promise<string[]> {
  const faults: string[] = [];
  for (let after = 0; faults.length < maxListed; ) {
    const page = await query<RunEntry>({
      text: `SELECT runs.n, runs.id, runs.parent, runs.live, runs.key, runs.seq, runs.row, trees.root
        FROM ${s}.runs LEFT JOIN ${s}.trees ON trees.n = runs.tree WHERE runs.n > $1 ORDER BY runs.n LIMIT ${pageSize}`,
      values: [after],
    });
    for (const run of page) {
      const what = describeRowFault(run);
      if (what !== null) faults.push(`run ${run.id}: ${what}`);
    }
    if (page.length < pageSize) break;
    after = (page.at(-1) as RunEntry).n;
  }
  return faults;
}

function describeRowFault({ id, parent, live, key, seq, row, root }: RunEntry): string | null {
  if (row === null) return 'it has events, but no row';
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(row) as Record<string, unknown>;
  } catch {
    return 'its row is not JSON';
  }
  if (parsed.runId !== id) return 'its row belongs to another run';
  if (parsed.parentId !== parent) return 'its row names another parent';
  if (root !== null && parsed.rootId !== root) return 'its row names another tree';
  const { idempotencyKey } = parsed;
  if ((typeof idempotencyKey === 'string' ? encodeText(idempotencyKey) : null) !== key) return 'its row has another idempotency key';
  if (parsed.lastSeq !== seq) return 'its row has another number of events';
  return liveStatuses.some((status) => status === parsed.status) === live ? null : 'its row has another status';
}

async function checkTags({ query, schema: s }: Connections, authenticator: OrderAuthenticator): Promise<string[]> {
  const faults: string[] = [];
  for (let after = ''; faults.length < maxListed; ) {
    const page = await query<StoredHead & { consumed: string[] }>({
      text: `SELECT head.*, ARRAY(
          SELECT consumed.id FROM ${s}.consumed JOIN ${s}.trees ON trees.n = consumed.tree WHERE trees.root = head.root AND consumed.run = head.id
        ) AS consumed
        FROM (${selectHeads(s)} WHERE runs.id > $1 ORDER BY runs.id LIMIT ${pageSize}) AS head ORDER BY head.id`,
      values: [after],
    });
    for (const head of page) {
      const consumed = groupByRun(head.consumed.map((id) => ({ runId: head.id, id: decodeText(id) })));
      if (!isHeadAuthentic(head, consumed, authenticator))
        faults.push(`run ${head.id}: its tag does not match its events: another program changed it, or your key for orders was replaced`);
    }
    if (page.length < pageSize) break;
    after = (page.at(-1) as StoredHead).id;
  }
  return faults;
}
