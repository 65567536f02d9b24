// Tags of runs in the database (see run-heads.ts): checking, signing and reading them.
//
// 1. A tag is signed only over a hash that this process has computed, or over a state whose current tag is authentic. `adopt` is the exception.
// 2. Consumed orders are read from the table only when a tree is claimed. While this process owns it, its own memory counts (ownership.ts).
import type { OrderAuthenticator } from '../../ports/store.ts';
import { areHeadsAuthentic, type ConsumedIds, createChangedError, groupByRun, type StoredHead, signHead } from '../run-heads.ts';
import type { Connections } from './connections.ts';
import { decodeText } from './encode.ts';
import type { Transaction } from './transaction.ts';

/** Runs with their real last facts, whatever the rows say. */
export const selectHeads = (s: string) => `
  SELECT runs.id, trees.root, runs.seq AS "storedSeq", runs.tag, coalesce(last.seq, 0) AS seq, coalesce(last.hash, '') AS hash
  FROM ${s}.runs JOIN ${s}.trees ON trees.n = runs.tree
  LEFT JOIN LATERAL (SELECT seq, hash FROM ${s}.facts WHERE facts.run = runs.n ORDER BY seq DESC LIMIT 1) AS last ON true`;
const selectConsumed = (s: string) => `
  SELECT consumed.run AS "runId", consumed.id FROM ${s}.consumed JOIN ${s}.trees ON trees.n = consumed.tree WHERE trees.root = $1`;

export interface RunTags {
  /**
   * The consumed orders of a tree that is being claimed. Throws `store_corrupt` if somebody else changed a run of the tree; with `adopt`, signs it
   * instead. The tree must be locked.
   */
  claimTree(transaction: Transaction, rootId: string): Promise<ConsumedIds>;
  isTreeAuthentic(transaction: Transaction, rootId: string): Promise<boolean>;
  /** Signs all runs of a tree as they are stored. The tree must be locked. */
  signTree(transaction: Transaction, rootId: string): Promise<void>;
  /** The last fact of a run; null if it has none. Throws `store_corrupt` if somebody else changed it. */
  readHead(runId: string): Promise<{ seq: number; hash: string } | null>;
}

export interface RunTagOptions {
  connections: Connections;
  authenticator: OrderAuthenticator | undefined;
  adopt: boolean;
}

export function createRunTags({ connections, authenticator, adopt }: RunTagOptions): RunTags {
  const { schema: s } = connections;

  async function readTree(transaction: Transaction, rootId: string): Promise<{ heads: StoredHead[]; consumed: ConsumedIds }> {
    const [heads, consumed] = await Promise.all([
      transaction.query<StoredHead>({ text: `${selectHeads(s)} WHERE trees.root = $1`, values: [rootId] }),
      readConsumed(transaction, rootId),
    ]);
    return { heads, consumed };
  }

  async function readConsumed(transaction: Transaction, rootId: string): Promise<ConsumedIds> {
    const rows = await transaction.query<{ runId: string; id: string }>({ text: selectConsumed(s), values: [rootId] });
    return groupByRun(rows.map(({ runId, id }) => ({ runId, id: decodeText(id) })));
  }

  function signHeads(transaction: Transaction, heads: StoredHead[], consumed: ConsumedIds): void {
    if (authenticator === undefined || heads.length === 0) return;
    transaction.send({
      text: `UPDATE ${s}.runs SET seq = given.seq, tag = given.tag FROM unnest($1::text[], $2::bigint[], $3::text[]) AS given (id, seq, tag)
        WHERE runs.id = given.id`,
      values: [
        heads.map(({ id }) => id),
        heads.map(({ seq }) => seq),
        heads.map(({ id, seq, hash }) => signHead({ runId: id, seq, hash }, consumed, authenticator)),
      ],
    });
  }

  return {
    async claimTree(transaction, rootId) {
      const { heads, consumed } = await readTree(transaction, rootId);
      if (!areHeadsAuthentic(heads, consumed, authenticator)) {
        if (!adopt) throw createChangedError(rootId);
        signHeads(transaction, heads, consumed);
      }
      return consumed;
    },
    async isTreeAuthentic(transaction, rootId) {
      const { heads, consumed } = await readTree(transaction, rootId);
      return areHeadsAuthentic(heads, consumed, authenticator);
    },
    async signTree(transaction, rootId) {
      const { heads, consumed } = await readTree(transaction, rootId);
      signHeads(transaction, heads, consumed);
    },
    async readHead(runId) {
      // In one statement, because the tree may grow between two.
      const [head] = await connections.query<StoredHead & { consumed: string[] }>({
        text: `SELECT head.*, ARRAY(
            SELECT consumed.id FROM ${s}.consumed JOIN ${s}.trees ON trees.n = consumed.tree WHERE trees.root = head.root AND consumed.run = head.id
          ) AS consumed
          FROM (${selectHeads(s)} WHERE runs.id = $1) AS head`,
        values: [runId],
      });
      if (head === undefined || head.seq === 0) return null;
      const consumed = groupByRun(head.consumed.map((id) => ({ runId, id: decodeText(id) })));
      if (!adopt && !areHeadsAuthentic([head], consumed, authenticator)) throw createChangedError(head.root);
      return { seq: head.seq, hash: head.hash };
    },
  };
}
