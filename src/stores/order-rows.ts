// Orders as they are stored: reading one and finding out whether to accept it.
import { Order } from '../contract/order.ts';
import type { OrderAuthenticator } from '../ports/store.ts';

export interface OrderRow {
  id: string;
  root: string;
  text: string;
  tag: string;
  /** Its tree has consumed or dropped an order with this id. */
  isConsumed: boolean;
}

/** The order of a row, or why the row is invalid. */
export function readOrder(
  { id, root, text, tag, isConsumed }: OrderRow,
  authenticator: OrderAuthenticator | undefined,
): { order: Order } | { what: string } {
  const order = parseOrder(text);
  if (order === null) return { what: `order ${id} is damaged` };
  const { kind, runId } = order;
  if (order.id !== id || order.rootId !== root) return { what: `order ${id} (${kind} for run ${runId}) does not match its row` };
  if (authenticator?.isAuthentic(order, tag) !== true)
    return { what: `order ${id} (${kind} for run ${runId}) was not given by you on this machine` };
  if (isConsumed) return { what: `order ${id} (${kind} for run ${runId}) was inserted again by another program` };
  return { order };
}

function parseOrder(text: string): Order | null {
  try {
    return Order.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
