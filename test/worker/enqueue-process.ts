// A process that queues a brief for each key: `URL ORDER-KEY WORKSPACE KEY…`. It writes what came of them as JSON.
import { createLibrary } from '../../src/library/create.ts';
import { assembleApi } from '../../src/main/assemble.ts';
import { openPostgresStore } from '../../src/main/postgres.ts';

const [url = '', orderKey = '', workspace = '', ...keys] = process.argv.slice(2);
const store = await openPostgresStore({ url, orderKey });
const library = createLibrary(
  { model: 'script/script.json', workspace, store },
  { assemble: assembleApi, env: process.env, cwd: () => workspace, warn: () => {} },
);
const runs = await Promise.all(keys.map((key) => library.enqueue({ task: `the one with ${key}`, idempotencyKey: key })));
process.stdout.write(JSON.stringify(runs.map(({ id, isNew }) => ({ id, isNew }))));
await library.close();
await store.close();
