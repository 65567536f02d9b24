// The jobs of trees. A row of the table `jobs` names the one job that a tree has in pg-boss, so that the tree is enough to settle it. Every change
// of a row is made under the lock of its tree, in one transaction with the change in pg-boss.
import { randomBytes } from 'node:crypto';
import type { PgBoss } from 'pg-boss';
import type { Job, JobOptions } from '../../ports/queue.ts';
import { type Boss, toBossDatabase } from './boss.ts';
import type { Connections } from './connections.ts';
import { takeLocks, treeLock } from './locks.ts';
import type { Transaction } from './transaction.ts';

export interface Jobs {
  /** Makes sure that the queues exist. To be called before a transaction that sends jobs to them. */
  prepare(queues: string[]): Promise<void>;
  /** Gives a tree a job. The caller holds the lock of the tree. */
  send(transaction: Transaction, rootId: string, options: SendOptions): Promise<void>;
  /**
   * Gives a tree of a queue a job that can be taken now, if no process drives it and it has none. The delayed job of a tree that has not started stays.
   * The caller holds the lock of the tree and has prepared its queue.
   */
  wake(transaction: Transaction, rootId: string): Promise<void>;
  /**
   * Gives a tree of a queue a job if it has none and has not ended. A process that claims a tree calls it: if that process dies, other workers find the tree
   * by its job. The caller holds the lock of the tree and has prepared its queue.
   */
  ensure(transaction: Transaction, rootId: string): Promise<void>;
  /** The queue of a tree; null if it never had one. */
  findQueue(rootId: string): Promise<string | null>;
  /** Completes the job of a tree, whatever its id is by now, and the one that was taken. */
  complete(job: Job, again: { startAfter: string } | undefined): Promise<void>;
  putBack(job: Job, delayMs: number, problem: string | null): Promise<void>;
}

/** `delaySeconds`: by the clock of the database. */
interface SendOptions extends JobOptions {
  delaySeconds?: number;
  problem?: string | null;
}

/** Whether an order wakes its tree. A compaction waits for the next turn. Orders are stored as canonical JSON, in whose strings quotes are escaped. */
export const isWaking = `position('"kind":"compact"' IN orders.text) = 0`;

interface JobRow {
  id: string | null;
  queue: string;
  priority: number;
  group: string | null;
}

export interface JobDeps {
  connections: Connections;
  boss: Boss;
  /** The channel on which workers are woken, with the name of the queue. */
  queueChannel: string;
}

export function createJobs({ connections, boss, queueChannel }: JobDeps): Jobs {
  const { schema: s } = connections;

  async function send(transaction: Transaction, rootId: string, options: SendOptions): Promise<void> {
    const { queue, priority = 0, group, startAfter, delaySeconds, problem = null } = options;
    // The clock of this process may be wrong, and the one of the database decides when it is taken.
    const delay = startAfter === undefined ? delaySeconds : secondsUntil(startAfter);
    const started = await boss.open();
    const id = createJobId();
    await started.send(queue, { root: rootId }, {
      ...{ id, priority, db: toBossDatabase(transaction) },
      ...(group !== undefined && { group: { id: group } }),
      ...(delay !== undefined && { startAfter: delay }),
    } as Parameters<PgBoss['send']>[2] as object);
    transaction.send({
      text: `INSERT INTO ${s}.jobs (root, queue, priority, "group", id, sent, problem) VALUES ($1, $2, $3, $4, $5, clock_timestamp(), $6)
        ON CONFLICT (root) DO UPDATE SET queue = $2, priority = $3, "group" = $4, id = $5, sent = clock_timestamp(), done = NULL, problem = $6`,
      values: [rootId, queue, priority, group ?? null, id, problem],
    });
    transaction.send({ text: 'SELECT pg_notify($1, $2)', values: [queueChannel, queue] });
  }

  async function read(transaction: Transaction, rootId: string): Promise<JobRow | null> {
    const [row] = await transaction.query<JobRow>({
      text: `SELECT id, queue, priority, "group" FROM ${s}.jobs WHERE root = $1`,
      values: [rootId],
    });
    return row ?? null;
  }

  async function settle(transaction: Transaction, { id, queue }: Pick<JobRow, 'id' | 'queue'>): Promise<void> {
    const started = await boss.open();
    if (id !== null) await started.complete(queue, id, null, { includeQueued: true, db: toBossDatabase(transaction) });
  }

  /**
   * Whether a tree that was released needs a worker again. No process carries out an order that came meanwhile. A process that has taken the tree
   * meanwhile may die, and is found by the job.
   */
  async function needsWorker(transaction: Transaction, rootId: string): Promise<boolean> {
    const found = await transaction.query({
      text: `SELECT 1 FROM ${s}.runs JOIN ${s}.trees ON trees.root = runs.id WHERE runs.id = $1 AND runs.live
        AND (trees.owner IS NOT NULL OR EXISTS (SELECT 1 FROM ${s}.orders WHERE orders.root = $1 AND ${isWaking}))`,
      values: [rootId],
    });
    return found.length > 0;
  }

  async function findQueue(rootId: string): Promise<string | null> {
    const [row] = await connections.query<{ queue: string }>({ text: `SELECT queue FROM ${s}.jobs WHERE root = $1`, values: [rootId] });
    return row?.queue ?? null;
  }

  return {
    async prepare(queues) {
      if (queues.length > 0) await boss.open(queues);
    },
    send,
    findQueue,
    async wake(transaction, rootId) {
      const [job] = await transaction.query<JobRow>({
        text: `SELECT jobs.id, jobs.queue, jobs.priority, jobs."group" FROM ${s}.jobs JOIN ${s}.trees ON trees.root = jobs.root
            JOIN ${s}.runs ON runs.id = jobs.root LEFT JOIN ${boss.schema}.job ON job.name = jobs.queue AND job.id = jobs.id
          WHERE jobs.root = $1 AND NOT EXISTS (SELECT 1 FROM ${s}.owners WHERE owners.id = trees.owner)
            AND (jobs.id IS NULL
              OR job.state < 'active' AND job.start_after > clock_timestamp() AND runs.row::json ->> 'status' <> 'queued')`,
        values: [rootId],
      });
      if (job === undefined) return;
      await settle(transaction, job);
      await send(transaction, rootId, toOptions(job));
    },
    async ensure(transaction, rootId) {
      const [job] = await transaction.query<JobRow>({
        text: `SELECT jobs.id, jobs.queue, jobs.priority, jobs."group" FROM ${s}.jobs JOIN ${s}.runs ON runs.id = jobs.root
          WHERE jobs.root = $1 AND jobs.id IS NULL AND runs.live`,
        values: [rootId],
      });
      if (job !== undefined) await send(transaction, rootId, toOptions(job));
    },
    async complete({ rootId, id, queue }, again) {
      await boss.open([queue, (await findQueue(rootId)) ?? queue]);
      await connections.transact(async (transaction) => {
        takeLocks(transaction, [treeLock(s, rootId)]);
        const job = await read(transaction, rootId);
        // A job that the tree does not have, because it was erased or never queued, must not come again.
        if (job?.id !== id) await settle(transaction, { id, queue });
        if (job === null) return;
        await settle(transaction, job);
        transaction.send({ text: `UPDATE ${s}.jobs SET id = NULL, done = clock_timestamp() WHERE root = $1`, values: [rootId] });
        const isNeeded = await needsWorker(transaction, rootId);
        if (isNeeded || again) await send(transaction, rootId, { ...toOptions(job), ...(!isNeeded && again) });
      });
    },
    async putBack({ rootId, id, queue }, delayMs, problem) {
      await boss.open([queue]);
      await connections.transact(async (transaction) => {
        takeLocks(transaction, [treeLock(s, rootId)]);
        const job = await read(transaction, rootId);
        if (job?.id !== id) return settle(transaction, { id, queue });
        await settle(transaction, job);
        await send(transaction, rootId, { ...toOptions(job), delaySeconds: Math.ceil(delayMs / 1000), problem });
      });
    },
  };
}

function toOptions({ queue, priority, group }: JobRow): JobOptions {
  return { queue, priority, ...(group !== null && { group }) };
}

function secondsUntil(moment: string): number {
  return Math.max(0, Math.ceil((Date.parse(moment) - Date.now()) / 1000));
}

let lastTime = 0;

/** A UUID of version 7. pg-boss takes jobs of one group in the order of their ids. */
function createJobId(): string {
  lastTime = Math.max(lastTime + 1, Date.now());
  const bytes = randomBytes(16);
  bytes.writeUIntBE(lastTime, 0, 6);
  bytes.writeUInt8(0x70 | ((bytes[6] as number) & 0x0f), 6);
  bytes.writeUInt8(0x80 | ((bytes[8] as number) & 0x3f), 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
