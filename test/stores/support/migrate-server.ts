// Migrations of a PostgreSQL database with steps that only tests have.
import { createConnections } from '../../../src/stores/postgres/connections.ts';
import { type Migration, migrate, migrations } from '../../../src/stores/postgres/migrations.ts';
import { defaultTiming } from '../../../src/stores/postgres/options.ts';
import { parseDatabaseUrl } from '../../../src/stores/postgres/url.ts';

const whole: Migration = async (transaction, s) => transaction.send({ text: `CREATE TABLE ${s}.whole (x integer)` });

/** What the last of two additional steps does after its table: an error, the end of this process, or nothing. */
export async function migrateServer(url: string, schema: string, how: 'error' | 'SIGKILL' | 'complete'): Promise<void> {
  const half: Migration = async (transaction, s) => {
    await transaction.query({ text: `CREATE TABLE ${s}.half (x integer)` });
    if (how === 'error') throw new Error('broken step');
    if (how === 'SIGKILL') process.kill(process.pid, how);
  };
  const connections = createConnections({ address: parseDatabaseUrl(url), schema, poolSize: 2, timing: defaultTiming, env: {} });
  try {
    await migrate(connections, { create: true, steps: [...migrations, whole, half] });
  } finally {
    await connections.close(1_000);
  }
}
