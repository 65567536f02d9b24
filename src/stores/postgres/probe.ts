// Checks a database for `retinue doctor`: connection, version, rights, tables, clock and latency. Changes nothing.
import type { Client } from 'pg';
import { isRetinueError } from '../../contract/error.ts';
import { bossSchemaName } from './boss.ts';
import { type Connections, createConnections } from './connections.ts';
import { describeMissingRight, toOpenError } from './errors.ts';
import { describeVersion, migrations, minServerVersion } from './migrations.ts';
import { defaultSchema, defaultTiming } from './options.ts';
import { type DatabaseAddress, parseDatabaseUrl } from './url.ts';

export interface ServerProbe {
  /** Null if no connection could be made; then `problem` says why. */
  server: {
    version: string;
    isTooOld: boolean;
    isStandby: boolean;
    encoding: string;
    isEncrypted: boolean;
    /** The version of the tables; null if there are none. */
    tables: number | null;
    wantedTables: number;
    /** Whether the user can create the tables, or can read and write them. */
    canWrite: boolean;
    /** Null if the user can use queues; otherwise what is missing, and what to do. */
    queueProblem: string | null;
    /** How far the clock of the server is ahead of this machine's. */
    clockAheadMs: number;
    /** The median of several round trips. */
    latencyMs: number;
    connections: { used: number; max: number };
  } | null;
  problem: string | null;
}

const roundTrips = 5;

/** Never rejects. */
export async function probeServer(url: string, env: Record<string, string | undefined>): Promise<ServerProbe> {
  let address: DatabaseAddress;
  try {
    address = parseDatabaseUrl(url, env);
    const connections = createConnections({ address, schema: defaultSchema, poolSize: 1, timing: defaultTiming, env });
    const client = await connections.connectAlone({ isLimited: true }).catch((error: unknown) => {
      throw toOpenError(error, address);
    });
    try {
      return { server: await inspectServer(client, connections), problem: null };
    } catch (error) {
      throw toOpenError(error, address);
    } finally {
      await client.end().catch(() => {});
      await connections.close(0);
    }
  } catch (error) {
    return { server: null, problem: isRetinueError(error) ? error.message : String(error) };
  }
}

async function inspectServer(client: Client, { schema: s, schemaName, address }: Connections): Promise<ServerProbe['server']> {
  const read = async <Row>(text: string, values: unknown[] = []) => (await client.query(text, values)).rows[0] as Row;
  const { server, ...found } = await read<{ server: number; isStandby: boolean; encoding: string; isEncrypted: boolean; exists: boolean }>(
    `SELECT current_setting('server_version_num')::int AS server, pg_is_in_recovery() AS "isStandby", current_setting('server_encoding') AS encoding,
      coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted",
      has_schema_privilege(coalesce(to_regnamespace($1)::oid, 0), 'USAGE') IS TRUE AND to_regclass($2) IS NOT NULL AS exists`,
    [s, `${s}.migrations`],
  );
  const { exists, ...rest } = found;
  const times: { ms: number; ahead: number }[] = [];
  for (let n = 0; n < roundTrips; n++) {
    const [startedAt, began] = [Date.now(), performance.now()];
    const { now } = await read<{ now: number }>('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
    const ms = performance.now() - began;
    times.push({ ms, ahead: Number(now) - (startedAt + ms / 2) });
  }
  // The fastest round trip tells the difference of the clocks best.
  times.sort((a, b) => a.ms - b.ms);
  const tables = exists
    ? (await read<{ version: number }>(`SELECT coalesce(max(version), 0) AS version FROM ${s}.migrations`)).version
    : null;
  return {
    ...rest,
    version: describeVersion(server),
    isTooOld: server < minServerVersion,
    tables,
    wantedTables: migrations.length,
    canWrite: await canWrite(),
    queueProblem: (await canQueue()) ? null : describeMissingRight(address, bossSchemaName(schemaName)),
    clockAheadMs: (times[0] as { ahead: number }).ahead,
    latencyMs: (times[Math.floor(roundTrips / 2)] as { ms: number }).ms,
    connections: await read(
      "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used, current_setting('max_connections')::int AS max",
    ),
  };

  async function canQueue(): Promise<boolean> {
    const { allowed } = await read<{ allowed: boolean }>(
      `SELECT CASE WHEN namespace.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
          WHEN job.oid IS NULL THEN has_schema_privilege(namespace.oid, 'CREATE')
          ELSE has_schema_privilege(namespace.oid, 'USAGE') AND has_table_privilege(job.oid, 'SELECT') AND has_table_privilege(job.oid, 'INSERT') END AS allowed
        FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS namespace ON namespace.nspname = $1
          LEFT JOIN pg_class AS job ON job.relnamespace = namespace.oid AND job.relname = 'job'`,
      [bossSchemaName(schemaName)],
    );
    return allowed;
  }

  async function canWrite(): Promise<boolean> {
    const { allowed } = exists
      ? await read<{ allowed: boolean }>(`SELECT has_table_privilege($1, 'SELECT') AND has_table_privilege($1, 'INSERT') AS allowed`, [
          `${s}.facts`,
        ])
      : await read<{ allowed: boolean }>(
          `SELECT coalesce(has_schema_privilege(to_regnamespace($1)::oid, 'CREATE'), has_database_privilege(current_database(), 'CREATE')) AS allowed`,
          [s],
        );
    return allowed;
  }
}
