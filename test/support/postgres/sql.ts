// SQL in tests, also in those that vitest does not run.
import pg from 'pg';

export async function runSql(url: string, statement: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(statement, values)).rows ?? [];
  } finally {
    await client.end();
  }
}
