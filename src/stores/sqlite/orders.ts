// Orders to the owners of trees: messages, cancels and answers that another process must carry out. Each is stored with a tag, so that somebody
// who can write to the file but has not the key gives no orders. Ids of consumed and dropped orders are kept, so that somebody who has copied an
// order cannot insert it again.
import type { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import type { Order } from '../../contract/order.ts';
import type { OrderAuthenticator, Owner } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';
import { readOrder } from '../order-rows.ts';
import { createUnregisteredError } from '../unregistered.ts';
import type { RunTags } from './run-tags.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

export interface Orders {
  /** Resolves to the name of the wake-up socket of the tree's owner, if it has one. */
  add(order: Order): Promise<string | null>;
  list(owner: Owner): Promise<Order[]>;
  drop(owner: Owner, ids: string[]): Promise<void>;
  /** Must be called after these orders were consumed by a committed append, or by an earlier owner of the tree. */
  rememberConsumed(rootId: string, ids: string[]): void;
}

export interface OrderDeps {
  db: DatabaseSync;
  writer: Writer;
  tags: RunTags;
  /** Without one, orders are neither stored nor accepted. */
  authenticator: OrderAuthenticator | undefined;
  warn(message: string): void;
}

export function createOrders({ db, writer, tags, authenticator, warn }: OrderDeps): Orders {
  const insertOrder = db.prepare(`
    INSERT INTO orders (id, root, text, tag) SELECT ?1, ?2, ?3, ?4
    WHERE NOT EXISTS (SELECT 1 FROM consumed JOIN trees ON trees.n = consumed.tree WHERE trees.root = ?2 AND consumed.id = ?1)
      AND NOT EXISTS (SELECT 1 FROM runs WHERE id = ?2 AND live = 0 AND row IS NOT NULL)
    ON CONFLICT (id) DO NOTHING`);
  const selectSocket = db.prepare('SELECT socket FROM trees JOIN owners ON owners.id = trees.owner WHERE root = ?');
  const selectOwner = db.prepare('SELECT 1 FROM owners WHERE id = ?');
  const selectOwned = db.prepare(`
    SELECT orders.n, orders.root, trees.n AS tree FROM orders JOIN trees ON trees.root = orders.root JOIN owners ON owners.id = trees.owner
    WHERE orders.id = ? AND owners.id = ?`);
  const deleteOrder = db.prepare('DELETE FROM orders WHERE n = ?');
  const selectWaiting = db.prepare(`
    SELECT orders.id, orders.root, orders.text, orders.tag, consumed.n AS consumed
    FROM orders JOIN trees ON trees.root = orders.root JOIN owners ON owners.id = trees.owner
    LEFT JOIN consumed ON consumed.tree = trees.n AND consumed.id = orders.id
    WHERE owners.id = ? ORDER BY orders.n`);
  /** Trees and ids of the orders that this store has consumed, whatever somebody removes from the table. */
  const consumed = new Set<string>();
  /** Orders that were reported but could not be dropped yet. */
  const reported = new Set<string>();

  async function drop(owner: Owner, ids: string[]): Promise<void> {
    const dropped = await writer.write(() => {
      const found = deleteOwned(owner, ids);
      for (const { tree, root, id } of found) tags.consumeAtRoot(tree, root, [id]);
      return found;
    });
    for (const { root, id } of dropped) rememberConsumed(root, [id]);
  }

  /** The deleted orders: those of the trees of this owner. Must be called inside a transaction. */
  function deleteOwned(owner: Owner, ids: string[]): { id: string; root: string; tree: number }[] {
    return ids.flatMap((id) => {
      const found = selectOwned.get(id, owner.id) as { n: number; root: string; tree: number } | undefined;
      if (found === undefined) return [];
      deleteOrder.run(found.n);
      return [{ id, root: found.root, tree: found.tree }];
    });
  }

  function rememberConsumed(rootId: string, ids: string[]): void {
    for (const id of ids) consumed.add(`${rootId} ${id}`);
  }

  /** The orders are dropped at the next look if this fails. */
  async function dropForged(owner: Owner, forged: { id: string; what: string }[]): Promise<void> {
    for (const { id, what } of forged) {
      if (!reported.has(id)) warn(`An order in the database was not carried out: ${what}.`);
      reported.add(id);
    }
    try {
      const ids = forged.map(({ id }) => id);
      await writer.write(() => deleteOwned(owner, ids));
      for (const { id } of forged) reported.delete(id);
    } catch {
      // See above.
    }
  }

  return {
    async add(order) {
      if (authenticator === undefined) throw new RetinueError('usage', 'This store was opened without a key for orders.');
      const [text, tag] = [canonical(order), authenticator.sign(order)];
      return writer.write(() => {
        insertOrder.run(order.id, order.rootId, text, tag);
        return (selectSocket.get(order.rootId)?.socket as string | null | undefined) ?? null;
      });
    },

    async list(owner) {
      if (selectOwner.get(owner.id) === undefined) throw createUnregisteredError();
      const found = selectWaiting.all(owner.id) as unknown as (Pick<Tables['orders'], 'id' | 'root' | 'text' | 'tag'> & {
        consumed: number | null;
      })[];
      const read = found.map((row) => {
        const isConsumed = row.consumed !== null || consumed.has(`${row.root} ${row.id}`);
        return { id: row.id, ...readOrder({ ...row, isConsumed }, authenticator) };
      });
      const forged = read.filter((each) => 'what' in each);
      if (forged.length > 0) await dropForged(owner, forged);
      return read.filter((each) => 'order' in each).map(({ order }) => order);
    },

    drop,
    rememberConsumed,
  };
}
