import type { DatabaseSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import { RetinueError } from '../../contract/error.ts';
import type { Order } from '../../contract/order.ts';
import type { Owner } from '../../ports/store.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

export interface Orders {
  /** Gives the name of the socket of the tree's owner, if it has one. */
  give(order: Order): Promise<string | null>;
  list(owner: Owner): Promise<Order[]>;
  drop(owner: Owner, ids: string[]): Promise<void>;
  holders(rootIds: string[], isHeld: (owner: Tables['owners']) => boolean): Promise<Map<string, { pid: number; alive: boolean } | null>>;
}

/** SQLite binds some thirty thousand values at most; this stays below by far. */
const rootsPerQuery = 500;

function parse(id: string, text: string): Order {
  try {
    return JSON.parse(text) as Order;
  } catch (cause) {
    throw new RetinueError('store_corrupt', `Order ${id} is damaged: it is no JSON.`, { cause });
  }
}

export function createOrders(db: DatabaseSync, kysely: Kysely<Tables>, writer: Writer): Orders {
  const add = db.prepare('INSERT INTO orders (id, root, text) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING');
  const socketOf = db.prepare('SELECT socket FROM trees JOIN owners ON owners.id = trees.owner WHERE root = ?');
  const fenceOf = db.prepare('SELECT fence FROM owners WHERE id = ?');
  const drop = db.prepare(`
    DELETE FROM orders WHERE id = ? AND EXISTS (
      SELECT 1 FROM trees JOIN owners ON owners.id = trees.owner
      WHERE trees.root = orders.root AND owners.id = ? AND owners.fence = ?
    )`);

  return {
    give: (order) =>
      writer.write(() => {
        add.run(order.id, order.rootId, JSON.stringify(order));
        return (socketOf.get(order.rootId)?.socket as string | null | undefined) ?? null;
      }),

    async list(owner) {
      if (fenceOf.get(owner.id)?.fence !== owner.fence)
        throw new RetinueError('fenced', 'Another process has taken over what this one drove.');
      const found = await kysely
        .selectFrom('orders')
        .innerJoin('trees', 'trees.root', 'orders.root')
        .innerJoin('owners', 'owners.id', 'trees.owner')
        .select(['orders.id', 'orders.text'])
        .where('owners.id', '=', owner.id)
        .where('owners.fence', '=', owner.fence)
        .orderBy('orders.n')
        .execute();
      return found.map(({ id, text }) => parse(id, text));
    },

    async drop(owner, ids) {
      await writer.write(() => {
        for (const id of ids) drop.run(id, owner.id, owner.fence);
      });
    },

    async holders(rootIds, isHeld) {
      const holders = new Map<string, { pid: number; alive: boolean } | null>(rootIds.map((rootId) => [rootId, null]));
      const alive = new Map<string, boolean>();
      for (let start = 0; start < rootIds.length; start += rootsPerQuery) {
        const found = await kysely
          .selectFrom('trees')
          .innerJoin('owners', 'owners.id', 'trees.owner')
          .selectAll('owners')
          .select('root')
          .where('root', 'in', rootIds.slice(start, start + rootsPerQuery))
          .execute();
        for (const owner of found) {
          if (!alive.has(owner.id)) alive.set(owner.id, isHeld(owner));
          holders.set(owner.root, { pid: owner.pid, alive: alive.get(owner.id) === true });
        }
      }
      return holders;
    },
  };
}
