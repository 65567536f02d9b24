// The door `retinue/sqlite`: the store in a file, which is the only thing that loads `node:sqlite`.
export { openSqliteStore } from '../stores/sqlite/create.ts';
export type { SqliteOptions } from '../stores/sqlite/options.ts';
