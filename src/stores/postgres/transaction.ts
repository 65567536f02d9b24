// One transaction on one connection. Statements are sent at once, without waiting for the answers to earlier ones, so that a transaction costs as many
// round trips as its body waits for, and one more for the last statements and the commit together.
import type { PoolClient, QueryResult } from 'pg';

export interface Query {
  /** Statements with a name are prepared once for each connection. One name, one text. */
  name?: string;
  text: string;
  values?: unknown[];
}

export interface Transaction {
  /** Sends a statement. Resolves to its rows. */
  query<Row>(query: Query): Promise<Row[]>;
  /** Sends a statement without waiting for its result. The commit fails if it fails. */
  send(query: Query): void;
}

export interface OpenTransaction extends Transaction {
  /** Rejects with the first error of all statements; then nothing was written. */
  commit(): Promise<void>;
  /** False if the connection cannot be used any more. */
  rollback(): Promise<boolean>;
}

/** The checks of an append rely on seeing what was committed before the locks were granted. */
const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE';

export function createTransaction(client: PoolClient): OpenTransaction {
  const sent: Promise<unknown>[] = [];

  function send(query: Query): Promise<QueryResult> {
    const result = client.query(query as { text: string; values: unknown[] });
    // The code that waits for the result reports an error, or else the commit does.
    result.catch(() => {});
    sent.push(result);
    return result;
  }

  void send({ text: begin });
  return {
    query: async <Row>(query: Query) => (await send(query)).rows as Row[],
    send: (query) => void send(query),
    async commit() {
      const earlier = [...sent];
      const committed = send({ text: 'COMMIT' });
      for (const result of earlier) await result;
      // After a failed statement the server answers a commit with a rollback.
      const { command } = await committed;
      if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
    },
    async rollback() {
      try {
        await client.query('ROLLBACK');
        return true;
      } catch {
        return false;
      }
    },
  };
}
