// Tags of runs, as far as they do not depend on the database: what a tag covers and when it is authentic.
import { hash } from 'node:crypto';
import { RetinueError } from '../contract/error.ts';
import type { OrderAuthenticator } from '../ports/store.ts';

/** A run with its stored number of facts and tag, and with its real last fact, whatever the row says. */
export interface StoredHead {
  id: string;
  root: string;
  storedSeq: number;
  seq: number;
  hash: string;
  tag: string | null;
}

export interface ConsumedRow {
  runId: string;
  id: string;
}

/** Ids of consumed orders by run. The digest does not depend on the order, and adding an id again changes nothing. */
export type ConsumedIds = Map<string, Set<string>>;

export function signHead(
  head: { runId: string; seq: number; hash: string },
  consumed: ConsumedIds,
  authenticator: OrderAuthenticator | undefined,
): string | null {
  const { runId, seq, hash: last } = head;
  return authenticator?.signRun({ runId, seq, hash: last, orders: digestIds(consumed.get(runId)) }) ?? null;
}

export function isHeadAuthentic(head: StoredHead, consumed: ConsumedIds, authenticator: OrderAuthenticator): boolean {
  const { id, storedSeq, seq, hash: last, tag } = head;
  if (storedSeq !== seq || tag === null) return false;
  return authenticator.isRunAuthentic({ runId: id, seq, hash: last, orders: digestIds(consumed.get(id)) }, tag);
}

/** True without an authenticator: then nothing can be checked. */
export function areHeadsAuthentic(heads: StoredHead[], consumed: ConsumedIds, authenticator: OrderAuthenticator | undefined): boolean {
  return authenticator === undefined || heads.every((head) => isHeadAuthentic(head, consumed, authenticator));
}

export function groupByRun(rows: ConsumedRow[]): ConsumedIds {
  const consumed: ConsumedIds = new Map();
  for (const row of rows) addConsumed(consumed, row);
  return consumed;
}

export function addConsumed(consumed: ConsumedIds, { runId, id }: ConsumedRow): void {
  const ids = consumed.get(runId);
  if (ids === undefined) consumed.set(runId, new Set([id]));
  else ids.add(id);
}

/** Empty if there are none, which is the rule. */
function digestIds(ids: Set<string> | undefined): string {
  return ids === undefined ? '' : hash('sha256', JSON.stringify([...ids].sort()));
}

export function createChangedError(rootId: string): RetinueError {
  return new RetinueError(
    'store_corrupt',
    `the runs of ${rootId} were changed by another program, or your key for orders was replaced. What was added could answer questions and ` +
      `give instructions for you, so nothing was started. Inspect it with \`retinue show ${rootId}\` and \`retinue verify\`. Add --adopt (in a ` +
      `program: \`adopt: true\`) to continue with what is stored`,
  );
}
