// Orders to the owners of trees: messages, cancels and answers that another process must carry out. Each is stored with a tag, so that somebody
// who can write to the file but has not the key gives no orders.
import type { DatabaseSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import { RetinueError } from '../../contract/error.ts';
import { Order } from '../../contract/order.ts';
import type { OrderAuthenticator, Owner } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';
import type { Tables } from './tables.ts';
import type { Writer } from './writer.ts';

export interface Orders {
  /** Resolves to the name of the wake-up socket of the tree's owner, if it has one. */
  add(order: Order): Promise<string | null>;
  list(owner: Owner): Promise<Order[]>;
  drop(owner: Owner, ids: string[]): Promise<void>;
}

export interface OrderDeps {
  db: DatabaseSync;
  kysely: Kysely<Tables>;
  writer: Writer;
  /** Without one, orders are neither stored nor accepted. */
  authenticator: OrderAuthenticator | undefined;
  warn(message: string): void;
}

export type OrderRow = Pick<Tables['orders'], 'id' | 'root' | 'text' | 'tag'>;

export function createOrders({ db, kysely, writer, authenticator, warn }: OrderDeps): Orders {
  const insertOrder = db.prepare('INSERT INTO orders (id, root, text, tag) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING');
  const selectSocket = db.prepare('SELECT socket FROM trees JOIN owners ON owners.id = trees.owner WHERE root = ?');
  const selectFence = db.prepare('SELECT fence FROM owners WHERE id = ?');
  const deleteOrder = db.prepare(`
    DELETE FROM orders WHERE id = ? AND EXISTS (
      SELECT 1 FROM trees JOIN owners ON owners.id = trees.owner
      WHERE trees.root = orders.root AND owners.id = ? AND owners.fence = ?
    )`);
  /** Orders that were reported but could not be dropped yet. */
  const reported = new Set<string>();

  async function drop(owner: Owner, ids: string[]): Promise<void> {
    await writer.write(() => {
      for (const id of ids) deleteOrder.run(id, owner.id, owner.fence);
    });
  }

  /** The orders are dropped at the next look if this fails. */
  async function dropForged(owner: Owner, forged: { id: string; what: string }[]): Promise<void> {
    for (const { id, what } of forged) {
      if (!reported.has(id)) warn(`An order in the database was not carried out: ${what}.`);
      reported.add(id);
    }
    try {
      await drop(
        owner,
        forged.map(({ id }) => id),
      );
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
      if (selectFence.get(owner.id)?.fence !== owner.fence)
        throw new RetinueError('fenced', 'Another process has taken over the runs of this one.');
      const found = await kysely
        .selectFrom('orders')
        .innerJoin('trees', 'trees.root', 'orders.root')
        .innerJoin('owners', 'owners.id', 'trees.owner')
        .select(['orders.id', 'orders.root', 'orders.text', 'orders.tag'])
        .where('owners.id', '=', owner.id)
        .where('owners.fence', '=', owner.fence)
        .orderBy('orders.n')
        .execute();
      const read = found.map((row) => ({ id: row.id, ...readOrder(row, authenticator) }));
      const forged = read.filter((each) => 'what' in each);
      if (forged.length > 0) await dropForged(owner, forged);
      return read.filter((each) => 'order' in each).map(({ order }) => order);
    },

    drop,
  };
}

/** The order of a row, or what is wrong with it. */
export function readOrder(
  { id, root, text, tag }: OrderRow,
  authenticator: OrderAuthenticator | undefined,
): { order: Order } | { what: string } {
  const order = parseOrder(text);
  if (order === null) return { what: `order ${id} is damaged` };
  const { kind, runId } = order;
  if (order.id !== id || order.rootId !== root) return { what: `order ${id} (${kind} for run ${runId}) does not match its row` };
  if (authenticator?.isAuthentic(order, tag) !== true)
    return { what: `order ${id} (${kind} for run ${runId}) was not given by you on this machine` };
  return { order };
}

function parseOrder(text: string): Order | null {
  try {
    return Order.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
