// The entry point `retinue/postgres`: the store in a PostgreSQL database, which processes of several machines may share. Only this entry point loads the
// client of PostgreSQL.
import type { Store } from '../ports/store.ts';
import { openServer } from './open-server.ts';

export interface PostgresOptions {
  /**
   * The database: `postgres://user@host:5432/database`, with `?sslmode=verify-full` and `&sslrootcert=FILE` for TLS. A password that it leaves out comes
   * from PGPASSWORD or ~/.pgpass.
   */
  url: string;
  /** The schema of the tables, which is created if it does not exist. Default: `retinue`. */
  schema?: string;
  /** How many connections this store opens at most, besides one for notifications. Default: 5. */
  poolSize?: number;
  /** What other processes call this one. Default: the name of the host and the process id. */
  name?: string;
  /** Accept runs that another program changed, as they are, and a key for orders that is not the one of the database. */
  adopt?: boolean;
  /**
   * The file of the key that proves who gave orders to runs and who wrote them. All processes that share the database need the same key. Default: the
   * file that RETINUE_ORDER_KEY names, or `order-key` in the user's configuration folder, which is created if it does not exist.
   */
  orderKey?: string;
  /** Called with what a user should know, for example that an order was not accepted. */
  warn?: (message: string) => void;
}

/**
 * Opens the store in a database. Creates the tables if they do not exist. Rejects with `usage` for an address, a password or rights that do not work, and
 * with `store_io`, `store_busy`, `store_corrupt` or `store_newer`.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const { adopt = false, warn = () => {} } = options;
  return openServer({ ...options, env: process.env, access: 'create', adopt, warn });
}
