// The queue port on pg-boss, which has the jobs, their order, groups, delays and schedules. The table `jobs` says which job a tree has (jobs.ts).
import { RetinueError } from '../../contract/error.ts';
import type { DueSchedule, Job, Queue, QueuedTree, QueueState, TakeOptions, WorkerState } from '../../ports/queue.ts';
import type { Boss } from './boss.ts';
import type { Connections } from './connections.ts';
import { isWaking, type Jobs } from './jobs.ts';
import type { Liveness, OwnerRow } from './liveness.ts';
import type { Schedules } from './schedules.ts';
import type { Session } from './session.ts';

export interface QueueDeps {
  connections: Connections;
  boss: Boss;
  jobs: Jobs;
  schedules: Schedules;
  session: Session;
  liveness: Liveness;
  queueChannel: string;
}

interface WorkerRow extends OwnerRow {
  name: string;
  host: string;
  queues: string[];
  trees: number;
  seen: Date;
}

type Taken = Job | DueSchedule;
const maxProblems = 10;

export function createQueue({ connections, boss, jobs, schedules, session, liveness, queueChannel }: QueueDeps): Queue {
  const { schema: s } = connections;

  async function take({ queue, limit, perGroup, perQueue }: TakeOptions): Promise<Taken[]> {
    const started = await boss.open([queue]);
    const room = perQueue === undefined ? limit : Math.min(limit, perQueue - (await countRunning(queue)));
    if (room <= 0) return [];
    const fetched = await started.fetch<object>(queue, {
      batchSize: room,
      ...(perGroup !== undefined && { groupConcurrency: perGroup }),
    });
    const taken: (Taken | null)[] = [];
    for (const { id, data } of fetched) {
      const { root } = data as { root?: unknown };
      taken.push(typeof root === 'string' ? { id, queue, rootId: root } : await schedules.readDue({ id, queue, data }));
    }
    const unknown = fetched.filter((_, index) => taken[index] === null).map(({ id }) => id);
    if (unknown.length > 0) await started.complete(queue, unknown);
    return taken.filter((each) => each !== null);
  }

  /** Schedules that are due do not count. */
  async function countRunning(queue: string): Promise<number> {
    const [found] = await connections.query<{ n: number }>({
      text: `SELECT count(*)::int AS n FROM ${boss.schema}.job WHERE name = $1 AND state = 'active' AND data ? 'root'`,
      values: [queue],
    });
    return found?.n ?? 0;
  }

  async function settleDue({ id, queue, schedule }: DueSchedule, problem: string | null): Promise<void> {
    await (await boss.open([queue])).complete(queue, id);
    await schedules.setProblem(schedule, problem);
  }

  async function findOrphans(queues: string[], limit: number): Promise<Job[]> {
    const owners = await connections.query<Omit<OwnerRow, 'id'> & { owner: string; id: string | null }>({
      name: 'orphans',
      text: `SELECT DISTINCT trees.owner, ${liveness.columns}, ${liveness.isSilent} AS "isSilent"
        FROM ${s}.jobs JOIN ${s}.trees ON trees.root = jobs.root LEFT JOIN ${s}.owners ON owners.id = trees.owner
        WHERE jobs.queue = ANY($1) AND jobs.id IS NOT NULL AND trees.owner IS NOT NULL`,
      values: [queues],
    });
    const dead = owners.filter((each) => each.id === null || !liveness.isHeld(each as OwnerRow)).map(({ owner }) => owner);
    if (dead.length === 0) return [];
    return connections.query<Job>({
      text: `SELECT jobs.root AS "rootId", jobs.id, jobs.queue FROM ${s}.jobs JOIN ${s}.trees ON trees.root = jobs.root
        WHERE jobs.queue = ANY($1) AND jobs.id IS NOT NULL AND trees.owner = ANY($2)
        ORDER BY array_position($1::text[], jobs.queue::text), jobs.sent LIMIT $3`,
      values: [queues, dead, limit],
    });
  }

  /** A command that ends a tree, such as `cancel`, leaves its job to the next worker. Such jobs do not count. */
  async function states(): Promise<QueueState[]> {
    if (!(await boss.isInstalled())) return [];
    const found = await connections.query<QueueState & { oldestMs: number | null }>({
      text: `SELECT jobs.queue AS name,
          (count(*) FILTER (WHERE runs.live AND job.state < 'active' AND job.start_after <= clock_timestamp()))::int AS waiting,
          (count(*) FILTER (WHERE runs.live AND job.state < 'active' AND job.start_after > clock_timestamp()))::int AS delayed,
          (count(*) FILTER (WHERE runs.live AND job.state = 'active'))::int AS running,
          (extract(epoch FROM clock_timestamp() - min(greatest(job.start_after, jobs.sent))
            FILTER (WHERE runs.live AND job.state < 'active' AND job.start_after <= clock_timestamp())) * 1000)::float8 AS "oldestMs",
          (count(*) FILTER (WHERE jobs.id IS NULL AND jobs.done > clock_timestamp() - interval '1 day'
            AND runs.row::json ->> 'status' = 'failed'))::int AS failed
        FROM ${s}.jobs LEFT JOIN ${boss.schema}.job ON job.name = jobs.queue AND job.id = jobs.id
          LEFT JOIN ${s}.runs ON runs.id = jobs.root
        WHERE jobs.id IS NOT NULL OR jobs.done > clock_timestamp() - interval '1 day'
        GROUP BY jobs.queue ORDER BY jobs.queue`,
    });
    const problems = await connections.query<{ queue: string; rootId: string; problem: string }>({
      text: `SELECT jobs.queue, jobs.root AS "rootId", jobs.problem FROM ${s}.jobs JOIN ${s}.runs ON runs.id = jobs.root
        WHERE jobs.id IS NOT NULL AND jobs.problem IS NOT NULL AND runs.live ORDER BY jobs.sent DESC LIMIT 100`,
    });
    return found.map((state) => ({
      ...state,
      oldestMs: state.oldestMs === null ? null : Math.max(0, Math.round(state.oldestMs)),
      problems: problems
        .filter(({ queue }) => queue === state.name)
        .slice(0, maxProblems)
        .map(({ rootId, problem }) => ({ rootId, problem })),
    }));
  }

  /** A worker may have several owners, one for each workspace. */
  async function workers(): Promise<WorkerState[]> {
    const rows = await connections.query<WorkerRow>({
      text: `SELECT ${liveness.columns}, ${liveness.isSilent} AS "isSilent", owners.name, owners.host, owners.queues, owners.beat AS seen,
          (SELECT count(*) FROM ${s}.trees JOIN ${s}.jobs ON jobs.root = trees.root WHERE trees.owner = owners.id AND jobs.id IS NOT NULL)::int AS trees
        FROM ${s}.owners WHERE cardinality(owners.queues) > 0 ORDER BY owners.name, owners.pid`,
    });
    return [...Map.groupBy(rows, ({ name, host, pid }) => `${host} ${pid} ${name}`).values()].map((owners) => {
      const [{ name: id, host, pid }] = owners as [WorkerRow];
      return {
        ...{ id, host, pid },
        queues: [...new Set(owners.flatMap(({ queues }) => queues))].sort(),
        trees: owners.reduce((sum, { trees }) => sum + trees, 0),
        seenAt: new Date(Math.max(...owners.map(({ seen }) => seen.getTime()))).toISOString(),
        alive: owners.some(liveness.isHeld),
      };
    });
  }

  return {
    prepare: async (queues) => void (await boss.open(queues)),
    take,
    async touch(taken) {
      const started = await boss.open();
      for (const [queue, group] of Map.groupBy(taken, (job) => job.queue))
        await started.touch(
          queue,
          group.map(({ id }) => id),
        );
    },
    async complete(job, again) {
      if ('rootId' in job) await jobs.complete(job, again);
      else await settleDue(job, null);
    },
    refuse: settleDue,
    putBack: (job, delayMs, problem) => jobs.putBack(job, delayMs, problem ?? null),
    async findWaiting(queues) {
      await boss.open(queues);
      const found = await connections.query<{ name: string }>({
        text: `SELECT name FROM unnest($1::text[]) AS given (name) WHERE EXISTS
          (SELECT 1 FROM ${boss.schema}.job WHERE job.name = given.name AND job.state < 'active' AND job.start_after <= clock_timestamp())`,
        values: [queues],
      });
      return new Set(found.map(({ name }) => name));
    },
    findOrphans,
    async findTrees(rootIds) {
      const found = await connections.query<QueuedTree & { root: string }>({
        text: `SELECT jobs.root, jobs.queue, jobs.id IS NOT NULL AS "hasJob",
            EXISTS (SELECT 1 FROM ${s}.orders WHERE orders.root = jobs.root AND ${isWaking}) AS "hasOrders"
          FROM ${s}.jobs WHERE jobs.root = ANY($1)`,
        values: [rootIds],
      });
      return new Map(found.map(({ root, ...tree }) => [root, tree]));
    },
    isOf: async (rootId) => (await jobs.findQueue(rootId)) !== null,
    watch(queue, added) {
      if (connections.isClosed()) throw new RetinueError('store_io', 'The store is closed.');
      return session.listen(queueChannel, (name) => {
        if (name === queue) added();
      });
    },
    states,
    workers,
    putSchedule: schedules.put,
    schedules: schedules.list,
    removeSchedule: schedules.remove,
  };
}
