import { DatabaseSync } from 'node:sqlite';
import type { Order } from '../../src/contract/order.ts';
import type { Owner, Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { runStoreSuite } from '../../src/testing/store-suite.ts';
import { createTestAuthenticator, testAuthenticator } from './support/authenticator.ts';
import { createTemporaryDirectory } from './support/temporary.ts';

runStoreSuite(
  'sqlite store',
  async () => {
    const directory = createTemporaryDirectory();
    const stores: Store[] = [];
    const warnings: string[] = [];

    function updateOwner(sql: string, owner: Owner): void {
      using db = new DatabaseSync(directory.db, { timeout: 5_000 });
      db.prepare(sql).run(owner.id);
    }

    function insertOrder(order: Order, tag: string): void {
      using db = new DatabaseSync(directory.db, { timeout: 5_000 });
      db.prepare('INSERT INTO orders (id, root, text, tag) VALUES (?, ?, ?, ?)').run(order.id, order.rootId, JSON.stringify(order), tag);
    }

    return {
      open: async () => {
        const store = await openSqliteStore({
          path: directory.db,
          authenticator: testAuthenticator,
          warn: (message) => warnings.push(message),
        });
        stores.push(store);
        return store;
      },
      // No process has this id: they end at 2^22.
      kill: async (owner) => updateOwner('UPDATE owners SET pid = 99999999 WHERE id = ?', owner),
      silence: async (owner) => updateOwner('UPDATE owners SET beat = beat - 15001 WHERE id = ?', owner),
      forge: async (order) => insertOrder(order, createTestAuthenticator(2).sign(order)),
      replay: async (order) => insertOrder(order, testAuthenticator.sign(order)),
      // One transaction writes at a time.
      delayBlobs: null,
      warnings: () => warnings,
      dispose: async () => {
        await Promise.all(stores.map((store) => store.close()));
        directory.remove();
      },
    };
  },
  { notifies: false },
);
