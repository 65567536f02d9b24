// The entry point `retinue/sqlite`: the store in a file. Only this entry point loads `node:sqlite`.
export { openSqliteStore } from '../stores/sqlite/create.ts';
export type { SqliteOptions } from '../stores/sqlite/options.ts';
