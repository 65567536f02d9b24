// The entry point `retinue/sqlite`: the store in a file. Only this entry point loads `node:sqlite`.
import { createKeyAuthenticator, createUserAuthenticator } from '../config/order-key.ts';
import type { Store } from '../ports/store.ts';
import { openSqliteReader } from '../stores/sqlite/reader.ts';
import { openFile } from './open-file.ts';

export interface SqliteOptions {
  /** The database file. It is created, with its directory, if it does not exist. */
  path: string;
  /** `normal` survives a crash of the process, `full` also a loss of power. */
  durability?: 'normal' | 'full';
  /** Open an existing database only for reading, whoever created it. */
  readOnly?: boolean;
  /**
   * Accept a database that this user did not create on this machine, for example from a backup or a volume, now and in future. Without it such a
   * database is refused, because it could have come with a cloned folder. Also accepts runs that another program changed, as they are.
   */
  adopt?: boolean;
  /**
   * The file of the key that proves who gave orders to runs: cancel, message, pause, answer. Processes that steer each other's runs need the same
   * key. Default: the file that RETINUE_ORDER_KEY names, or `order-key` in the user's configuration folder, which is created if it does not exist.
   */
  orderKey?: string;
  /** Called with what a user should know, for example that an order was not accepted. */
  warn?: (message: string) => void;
}

/** Opens the store in a database file that several processes may share. Rejects with `usage`, `store_io`, `store_corrupt` or `store_newer`. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { path, durability = 'normal', adopt = false, orderKey, warn = () => {} } = options;
  if (options.readOnly) {
    const authenticator = orderKey === undefined ? createUserAuthenticator(process.env) : createKeyAuthenticator(orderKey);
    return openSqliteReader({ path, authenticator });
  }
  return openFile({ env: process.env, path, durability, access: 'create', adopt, orderKey, warn });
}
