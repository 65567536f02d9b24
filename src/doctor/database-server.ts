// Checks a database on a PostgreSQL server.
import type { DatabaseSetting } from '../config/database-setting.ts';
import type { Env } from '../config/user-folders.ts';
import { broken, type Check, ok, warning } from './check.ts';

/** Leases use the clock of the server alone, but times in logs are those of each machine. */
const maxClockDifferenceMs = 2_000;
/** Each step of a run waits for about two round trips. */
const maxLatencyMs = 20;
/** Of the connections that the server allows. */
const maxUsedShare = 0.8;

export async function checkServer(db: Extract<DatabaseSetting, { kind: 'server' }>, env: Env): Promise<Check[]> {
  const { probeServer } = await import('../stores/postgres/probe.ts');
  const { server, problem } = await probeServer(db.url, env);
  if (server === null) return [broken('database', String(problem), 'runs cannot be stored until then')];
  const { version, latencyMs, clockAheadMs, connections } = server;
  const name = `${db.shown}: PostgreSQL ${version}${server.isEncrypted ? ', encrypted' : ''}`;
  const checks: Check[] = [describeServer(name, server)];
  if (server.queueProblem !== null && server.canWrite)
    checks.push(warning('database queue', server.queueProblem, 'until then, `run --queue`, `schedule` and `worker` do not work'));
  const latency = `${latencyMs.toFixed(1)} ms for a round trip`;
  checks.push(
    latencyMs <= maxLatencyMs
      ? ok('database latency', latency)
      : warning('database latency', latency, 'runs wait for the database at each step; run them closer to it'),
  );
  const ahead = `the server's clock is ${Math.abs(clockAheadMs / 1000).toFixed(1)} s ${clockAheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  checks.push(
    Math.abs(clockAheadMs) <= maxClockDifferenceMs
      ? ok('database clock', ahead)
      : warning('database clock', ahead, 'takeovers are not affected, but times in logs differ; set up NTP'),
  );
  const { used, max } = connections;
  if (used > maxUsedShare * max)
    checks.push(warning('database connections', `${used} of ${max} are used`, 'raise `max_connections`, or run fewer processes'));
  return checks;
}

type Server = NonNullable<Awaited<ReturnType<typeof import('../stores/postgres/probe.ts')['probeServer']>>['server']>;

function describeServer(name: string, { isTooOld, isStandby, encoding, tables, wantedTables, canWrite }: Server): Check {
  if (isTooOld) return broken('database', name, 'PostgreSQL 13 or later is needed');
  if (isStandby) return broken('database', `${name}, a standby that can only be read`, 'name the primary server');
  if (encoding !== 'UTF8')
    return broken('database', `${name}, with the encoding ${encoding}`, 'create a database with `createdb --encoding=UTF8`');
  if (tables !== null && tables > wantedTables)
    return broken('database', `${name}; its tables have version ${tables}, and this Retinue knows ${wantedTables}`, 'update Retinue');
  if (!canWrite)
    return tables === null
      ? broken(
          'database',
          `${name}; this user may not create the tables`,
          'grant CREATE on the database, or let its owner run `retinue doctor` and a first run',
        )
      : warning('database', `${name} can be read but not written`, 'commands that only read work; others need the right to write');
  if (tables === null) return ok('database', `${name}; the first run creates the tables`);
  return ok('database', tables < wantedTables ? `${name}; its tables are updated by the next command` : name);
}
