// Orders to the owners of trees: messages, cancels and answers that another process must carry out.
import type { DatabaseSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import { RetinueError } from '../../contract/error.ts';
import type { Order } from '../../contract/order.ts';
import type { Owner } from '../../ports/store.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

export interface Orders {
  /** Resolves to the name of the wake-up socket of the tree's owner, if it has one. */
  add(order: Order): Promise<string | null>;
  list(owner: Owner): Promise<Order[]>;
  drop(owner: Owner, ids: string[]): Promise<void>;
}

export function createOrders(db: DatabaseSync, kysely: Kysely<Tables>, writer: Writer): Orders {
  const insertOrder = db.prepare('INSERT INTO orders (id, root, text) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING');
  const selectSocket = db.prepare('SELECT socket FROM trees JOIN owners ON owners.id = trees.owner WHERE root = ?');
  const selectFence = db.prepare('SELECT fence FROM owners WHERE id = ?');
  const deleteOrder = db.prepare(`
    DELETE FROM orders WHERE id = ? AND EXISTS (
      SELECT 1 FROM trees JOIN owners ON owners.id = trees.owner
      WHERE trees.root = orders.root AND owners.id = ? AND owners.fence = ?
    )`);

  return {
    add: (order) =>
      writer.write(() => {
        insertOrder.run(order.id, order.rootId, JSON.stringify(order));
        return (selectSocket.get(order.rootId)?.socket as string | null | undefined) ?? null;
      }),

    async list(owner) {
      if (selectFence.get(owner.id)?.fence !== owner.fence)
        throw new RetinueError('fenced', 'Another process has taken over the runs of this one.');
      const found = await kysely
        .selectFrom('orders')
        .innerJoin('trees', 'trees.root', 'orders.root')
        .innerJoin('owners', 'owners.id', 'trees.owner')
        .select(['orders.id', 'orders.text'])
        .where('owners.id', '=', owner.id)
        .where('owners.fence', '=', owner.fence)
        .orderBy('orders.n')
        .execute();
      return found.map(({ id, text }) => parseOrder(id, text));
    },

    async drop(owner, ids) {
      await writer.write(() => {
        for (const id of ids) deleteOrder.run(id, owner.id, owner.fence);
      });
    },
  };
}

function parseOrder(id: string, text: string): Order {
  try {
    return JSON.parse(text) as Order;
  } catch (cause) {
    throw new RetinueError('store_corrupt', `Order ${id} is damaged: it is not JSON.`, { cause });
  }
}
