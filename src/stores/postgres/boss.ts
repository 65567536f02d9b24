// pg-boss on the connections of the store. It is loaded and started when a queue is first used, and has a schema of its own beside the one of the store.
//
// A job of a tree never fails: it is repeated until a worker completes it, however often workers die. A tree that kills its workers is handled by its runs.
import { hash } from 'node:crypto';
import type { PgBoss } from 'pg-boss';
import { RetinueError } from '../../contract/error.ts';
import type { Connections } from './connections.ts';
import { describeMissingRight, getSqlState } from './errors.ts';
import type { Transaction } from './transaction.ts';

const day = 24 * 3600;

const queueOptions = {
  policy: 'standard',
  retryLimit: 1_000_000,
  // Later than the lease of the tree, which decides who drives it.
  heartbeatSeconds: 60,
  // The longest that pg-boss has. Then another worker gets the job, finds the tree driven, and puts it back.
  expireInSeconds: day,
  retentionSeconds: 365 * day,
  deleteAfterSeconds: day,
} as const;

const noJob = '00000000-0000-0000-0000-000000000000';

export interface Boss {
  /** The quoted name of its schema, for SQL. */
  schema: string;
  /** Also runs what one process of a database should do: schedules, and jobs whose worker died. To be called before anything else. */
  enableMaintenance(): void;
  /** Starts it, and creates the queues that do not exist. Rejects with `usage` for a name that cannot be one, and without the right to use its schema. */
  open(queues?: string[]): Promise<PgBoss>;
  /** Whether its tables exist. */
  isInstalled(): Promise<boolean>;
  close(): Promise<void>;
}

/** The name of the schema of pg-boss. PostgreSQL cuts names after 63 bytes, and pg-boss adds to them. */
export function bossSchemaName(schema: string): string {
  const name = `${schema}_queue`;
  return /^[a-z][a-z0-9_]{0,44}$/.test(name) ? name : `retinue_queue_${hash('sha256', schema).slice(0, 16)}`;
}

export function createBoss(connections: Connections, warn: (message: string) => void): Boss {
  const schema = bossSchemaName(connections.schemaName);
  const known = new Set<string>();
  let isMaintaining = false;
  let starting: Promise<PgBoss> | null = null;

  async function start(): Promise<PgBoss> {
    const { PgBoss } = await load();
    const boss = new PgBoss({
      schema,
      // An administrator may have created it for a user without the right to.
      createSchema: !(await hasSchema()),
      db: { executeSql: (text, values) => connections.execute(text, values) },
      supervise: isMaintaining,
      schedule: isMaintaining,
      monitorVacuum: false,
      reindex: false,
      // An idle worker should ask for little. Trees have no flows of pg-boss, and a schedule may be some seconds late.
      flowIntervalSeconds: 600,
      cronWorkerIntervalSeconds: 15,
    });
    boss.on('error', (error) => warn(`The queue reported: ${error.message}`));
    boss.on('warning', ({ message }) => warn(`The queue reported: ${message}`));
    await boss.start();
    return boss;
  }

  async function hasSchema(): Promise<boolean> {
    return (await connections.query({ text: 'SELECT 1 FROM pg_namespace WHERE nspname = $1', values: [schema] })).length > 0;
  }

  function getStarted(): Promise<PgBoss> {
    starting ??= start().catch((error: unknown) => {
      starting = null;
      const { cause } = error as { cause?: unknown };
      const isForbidden = getSqlState(cause ?? error) === '42501';
      throw isForbidden ? new RetinueError('usage', describeMissingRight(connections.address, schema), { cause: error }) : error;
    });
    return starting;
  }

  return {
    schema: `"${schema}"`,
    enableMaintenance() {
      isMaintaining = true;
    },
    async open(queues = []) {
      for (const queue of queues) assertQueueName(queue);
      const boss = await getStarted();
      for (const queue of new Set(queues)) {
        if (known.has(queue)) continue;
        if ((await boss.getQueue(queue)) === null) await boss.createQueue(queue, queueOptions);
        // pg-boss reads a queue that it does not know on a connection of its own. Inside a transaction that would wait for one while it holds another.
        await boss.findJobs(queue, { id: noJob });
        known.add(queue);
      }
      return boss;
    },
    async isInstalled() {
      const found = await connections.query({
        text: `SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relname = 'job' AND nspname = $1`,
        values: [schema],
      });
      return found.length > 0;
    },
    async close() {
      const boss = await starting?.catch(() => null);
      await boss?.stop({ graceful: false, close: false });
    },
  };
}

/** pg-boss on a transaction of the store. */
export function toBossDatabase(transaction: Transaction): {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
} {
  return {
    executeSql: async (text, values) => ({ rows: await transaction.query({ text, ...(values && { values }) }) }),
  };
}

async function load(): Promise<typeof import('pg-boss')> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 12))
    throw new RetinueError('usage', `queues need Node 22.12 or later; this is Node ${process.versions.node}`);
  return import('pg-boss');
}

function assertQueueName(queue: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$/.test(queue))
    throw new RetinueError(
      'usage',
      `\`${queue}\` cannot be the name of a queue; use letters, digits, \`-\`, \`_\` and \`.\`, at most 60 characters`,
    );
}
