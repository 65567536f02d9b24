// Orders to the owners of trees: messages, cancels and answers that another process must carry out. Each is stored with a tag, so that somebody
// who can write to the database but has not the key gives no orders. Ids of consumed and dropped orders are kept, so that somebody who has copied an
// order cannot insert it again.
import { RetinueError } from '../../contract/error.ts';
import type { Order } from '../../contract/order.ts';
import type { OrderAuthenticator, Owner } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';
import { type OrderRow, readOrder } from '../order-rows.ts';
import { addConsumed, areHeadsAuthentic, type ConsumedIds, type StoredHead, signHead } from '../run-heads.ts';
import { createUnregisteredError } from '../unregistered.ts';
import type { Connections } from './connections.ts';
import { decodeText, encodeText } from './encode.ts';
import type { Jobs } from './jobs.ts';
import { takeLocks, treeLock } from './locks.ts';
import type { Ownerships } from './ownership.ts';
import { selectHeads } from './run-tags.ts';
import type { Transaction } from './transaction.ts';

export interface Orders {
  /** Also wakes the owner of the tree. */
  add(order: Order): Promise<void>;
  list(owner: Owner): Promise<Order[]>;
  drop(owner: Owner, ids: string[]): Promise<void>;
}

export interface OrderDeps {
  connections: Connections;
  ownerships: Ownerships;
  /** Without one, orders are neither stored nor accepted. */
  authenticator: OrderAuthenticator | undefined;
  wakeChannel: string;
  jobs: Jobs;
  warn(message: string): void;
}

export const selectOrders = (s: string) => `
  SELECT orders.id, orders.root, orders.text, orders.tag, EXISTS (
      SELECT 1 FROM ${s}.consumed JOIN ${s}.trees ON trees.n = consumed.tree WHERE trees.root = orders.root AND consumed.id = orders.id
    ) AS "isConsumed"
  FROM ${s}.orders`;

export function createOrders({ connections, ownerships, authenticator, wakeChannel, jobs, warn }: OrderDeps): Orders {
  const { schema: s } = connections;
  /** Orders that were reported but could not be dropped yet. */
  const reported = new Set<string>();

  /** Tree by tree: dropping changes the tag of the root run. */
  async function drop(owner: Owner, ids: string[]): Promise<void> {
    // Also rejects after the store was closed.
    const found = await selectOwned(owner, ids);
    const byTree = Map.groupBy(found, ({ root }) => root);
    for (const [rootId, orders] of byTree) {
      await ownerships.inOrder([rootId], () =>
        dropFromTree(
          owner,
          rootId,
          orders.map(({ id }) => id),
        ),
      );
    }
  }

  function selectOwned(owner: Owner, ids: string[]): Promise<{ id: string; root: string }[]> {
    return connections
      .query<{ id: string; root: string }>({
        text: `SELECT orders.id, orders.root FROM ${s}.orders JOIN ${s}.trees ON trees.root = orders.root JOIN ${s}.owners ON owners.id = trees.owner
          WHERE orders.id = ANY($1) AND owners.id = $2`,
        values: [ids.map(encodeText), owner.id],
      })
      .then((rows) => rows.map(({ id, root }) => ({ id: decodeText(id), root })));
  }

  async function dropFromTree(owner: Owner, rootId: string, ids: string[]): Promise<void> {
    const { consumed: known } = ownerships.get(owner, rootId);
    let last: string[] = [];
    const dropped = await connections.transact(async (transaction, mayBeCommitted) => {
      takeLocks(transaction, [treeLock(s, rootId)]);
      const tree = await findTree(transaction, owner, rootId);
      if (tree === null) return [];
      // An append may have consumed some of them meanwhile.
      const deleted = await deleteOrders(transaction, rootId, ids);
      // The answer to an earlier attempt was lost.
      if (deleted.length === 0) return mayBeCommitted ? last : [];
      transaction.send({
        text: `INSERT INTO ${s}.consumed (tree, run, id) SELECT $1, $2, id FROM unnest($3::text[]) AS id ON CONFLICT DO NOTHING`,
        values: [tree, rootId, deleted.map(encodeText)],
      });
      await signRoot(transaction, rootId, { known, added: deleted });
      last = deleted;
      return deleted;
    });
    for (const id of dropped) addConsumed(known, { runId: rootId, id });
  }

  /** The number of the tree; null if the owner has lost it. */
  async function findTree(transaction: Transaction, owner: Owner, rootId: string): Promise<number | null> {
    const [tree] = await transaction.query<{ n: number }>({
      text: `SELECT n FROM ${s}.trees WHERE root = $1 AND owner = $2`,
      values: [rootId, owner.id],
    });
    return tree?.n ?? null;
  }

  async function deleteOrders(transaction: Transaction, rootId: string, ids: string[]): Promise<string[]> {
    const rows = await transaction.query<{ id: string }>({
      text: `DELETE FROM ${s}.orders WHERE root = $1 AND id = ANY($2) RETURNING id`,
      values: [rootId, ids.map(encodeText)],
    });
    return rows.map(({ id }) => decodeText(id));
  }

  async function signRoot(
    transaction: Transaction,
    rootId: string,
    { known, added }: { known: ConsumedIds; added: string[] },
  ): Promise<void> {
    const heads = await transaction.query<StoredHead>({ text: `${selectHeads(s)} WHERE runs.id = $1`, values: [rootId] });
    const head = heads[0];
    const later: ConsumedIds = new Map([...known, [rootId, new Set([...(known.get(rootId) ?? []), ...added])]]);
    if (head === undefined || !areHeadsAuthentic(heads, known, authenticator)) return;
    const tag = signHead({ runId: rootId, seq: head.seq, hash: head.hash }, later, authenticator);
    transaction.send({ text: `UPDATE ${s}.runs SET tag = $2 WHERE id = $1`, values: [rootId, tag] });
  }

  /** The orders are dropped at the next look if this fails. */
  async function dropForged(owner: Owner, forged: { id: string; root: string; what: string }[]): Promise<void> {
    for (const { id, what } of forged) {
      if (!reported.has(id)) warn(`An order in the database was not carried out: ${what}.`);
      reported.add(id);
    }
    try {
      for (const { id, root } of forged) {
        await connections.transact(async (transaction) => {
          takeLocks(transaction, [treeLock(s, root)]);
          if ((await findTree(transaction, owner, root)) !== null) await deleteOrders(transaction, root, [id]);
        });
        reported.delete(id);
      }
    } catch {
      // See above.
    }
  }

  return {
    async add(order) {
      if (authenticator === undefined) throw new RetinueError('usage', 'This store was opened without a key for orders.');
      const { id, rootId } = order;
      const [text, tag] = [canonical(order), authenticator.sign(order)];
      const queue = await jobs.findQueue(rootId);
      if (queue !== null) await jobs.prepare([queue]);
      // The wake-up names the owner, so that other processes ignore it.
      await connections.transact(async (transaction) => {
        // So that a tree that is just ending keeps no order.
        takeLocks(transaction, [treeLock(s, rootId)]);
        transaction.send({
          text: `INSERT INTO ${s}.orders (id, root, text, tag) SELECT $1, $2, $3, $4
            WHERE NOT EXISTS (SELECT 1 FROM ${s}.consumed JOIN ${s}.trees ON trees.n = consumed.tree WHERE trees.root = $2 AND consumed.id = $1)
              AND NOT EXISTS (SELECT 1 FROM ${s}.runs WHERE id = $2 AND NOT live AND row IS NOT NULL)
            ON CONFLICT (id) DO NOTHING`,
          values: [encodeText(id), rootId, text, tag],
        });
        transaction.send({
          text: `SELECT pg_notify($1, owner) FROM ${s}.trees WHERE root = $2 AND owner IS NOT NULL`,
          values: [wakeChannel, rootId],
        });
        if (queue !== null && order.kind !== 'compact') await jobs.wake(transaction, rootId);
      });
    },

    async list(owner) {
      const found = await connections.query<OrderRow & { isMissing: boolean }>({
        name: 'orders',
        text: `SELECT found.*, owner.id IS NULL AS "isMissing" FROM (SELECT 1) AS one
          LEFT JOIN ${s}.owners AS owner ON owner.id = $1
          LEFT JOIN LATERAL (${selectOrders(s)} JOIN ${s}.trees ON trees.root = orders.root WHERE trees.owner = owner.id ORDER BY orders.n) AS found ON true`,
        values: [owner.id],
      });
      if (found[0]?.isMissing !== false) throw createUnregisteredError();
      const rows = found.filter(({ id }) => id !== null).map((row) => ({ ...row, id: decodeText(row.id) }));
      const read = rows.map((row) => {
        const isConsumed = row.isConsumed || ownerships.isConsumed(owner, row.root, row.id);
        return { id: row.id, root: row.root, ...readOrder({ ...row, isConsumed }, authenticator) };
      });
      const forged = read.filter((each) => 'what' in each);
      if (forged.length > 0) await dropForged(owner, forged);
      return read.filter((each) => 'order' in each).map(({ order }) => order);
    },

    drop,
  };
}
