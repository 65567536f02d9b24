// Schedules are pg-boss's. Each carries a tag, so that somebody who can write to the database but has not the key schedules nothing.
import { hash } from 'node:crypto';
import { RetinueError } from '../../contract/error.ts';
import type { DueSchedule, Schedule, StoredSchedule } from '../../ports/queue.ts';
import type { OrderAuthenticator, RunHead } from '../../ports/store.ts';
import { canonical } from '../../text/canonical.ts';
import type { Boss } from './boss.ts';
import type { Connections } from './connections.ts';

export interface Schedules {
  put(schedule: Schedule): Promise<void>;
  list(): Promise<StoredSchedule[]>;
  remove(name: string): Promise<boolean>;
  /** Null for a job that was made without the key, and for one of a schedule that was removed or replaced or is younger than the time that was due. */
  readDue(job: { id: string; queue: string; data: object }): Promise<DueSchedule | null>;
  /** Keeps why a run could not be queued; null: it could. */
  setProblem(schedule: Schedule, problem: string | null): Promise<void>;
}

export interface ScheduleDeps {
  connections: Connections;
  boss: Boss;
  authenticator: OrderAuthenticator | undefined;
  warn(message: string): void;
}

/** What pg-boss stores: the canonical JSON of the schedule and its tag. The problem is not signed: it is only shown. */
interface ScheduleData {
  schedule: string;
  tag: string;
  problem?: { at: string; message: string };
}

const maxProblemLength = 1_000;

export function createSchedules({ connections, boss, authenticator, warn }: ScheduleDeps): Schedules {
  function read(data: unknown): Schedule | null {
    const { schedule: text, tag } = (data ?? {}) as Partial<ScheduleData>;
    if (typeof text !== 'string' || typeof tag !== 'string') return null;
    if (authenticator === undefined || !authenticator.isRunAuthentic(toHead(text), tag)) {
      warn('A schedule in the database was not accepted: it was not made with the key of this database.');
      return null;
    }
    return JSON.parse(text) as Schedule;
  }

  async function remove(name: string): Promise<boolean> {
    const started = await boss.open();
    const found = (await started.getSchedules()).filter(({ key }) => key === name);
    for (const { name: queue } of found) await started.unschedule(queue, name);
    return found.length > 0;
  }

  async function readDue({ id, queue, data }: { id: string; queue: string; data: object }): Promise<DueSchedule | null> {
    const schedule = read(data);
    if (schedule === null) return null;
    const [found] = await connections.query<{ created: Date; added: Date }>({
      text: `SELECT job.created_on AS created, schedule.created_on AS added FROM ${boss.schema}.job JOIN ${boss.schema}.schedule ON schedule.name = job.name
        WHERE job.name = $1 AND job.id = $2 AND schedule.key = $3 AND schedule.data ->> 'schedule' = $4`,
      values: [queue, id, schedule.name, (data as ScheduleData).schedule],
    });
    if (found === undefined) return null;
    // pg-boss looks back a minute, also for a schedule that did not exist then.
    const [first] = (await boss.open()).previewSchedule(schedule.cron, { tz: schedule.timezone, from: found.added, count: 1 });
    return first !== undefined && first <= found.created ? { id, queue, schedule } : null;
  }

  return {
    readDue,
    remove,
    async setProblem({ name, queue }, problem) {
      const [change, values] =
        problem === null
          ? [`data - 'problem'`, []]
          : [
              `data || jsonb_build_object('problem', jsonb_build_object('at', $3::text, 'message', $4::text))`,
              [new Date().toISOString(), problem.slice(0, maxProblemLength)],
            ];
      await connections.query({
        text: `UPDATE ${boss.schema}.schedule SET data = ${change} WHERE name = $1 AND key = $2${problem === null ? ` AND data ? 'problem'` : ''}`,
        values: [queue, name, ...values],
      });
    },
    async put(schedule) {
      const { name, cron, timezone, queue } = schedule;
      const text = canonical(schedule);
      const tag = authenticator?.signRun(toHead(text)) ?? null;
      if (tag === null) throw new RetinueError('usage', 'A schedule needs the key for orders, and this store was opened without one.');
      const started = await boss.open([queue]);
      assertTimes(() => started.previewSchedule(cron, { tz: timezone, count: 1 }), schedule);
      await remove(name);
      await started.schedule(queue, cron, { schedule: text, tag } satisfies ScheduleData, { tz: timezone, key: name });
    },
    async list() {
      if (!(await boss.isInstalled())) return [];
      const started = await boss.open();
      const found = (await started.getSchedules()).flatMap(({ data }): StoredSchedule[] => {
        const schedule = read(data);
        if (schedule === null) return [];
        const [next] = started.previewSchedule(schedule.cron, { tz: schedule.timezone, count: 1 });
        return [{ ...schedule, next: next?.toISOString() ?? null, problem: readProblem(data) }];
      });
      return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  };
}

function readProblem(data: unknown): StoredSchedule['problem'] {
  const { at, message } = (data as Partial<ScheduleData>).problem ?? {};
  return typeof at === 'string' && typeof message === 'string' ? { at, message } : null;
}

function toHead(text: string): RunHead {
  return { runId: 'schedule', seq: 0, hash: hash('sha256', text), orders: '' };
}

function assertTimes(check: () => unknown, { cron, timezone }: Schedule): void {
  try {
    if (cron.trim().split(/\s+/).length !== 5) throw new Error('it does not have five fields');
    check();
  } catch (error) {
    const { message } = error as Error;
    if (/time ?zone/i.test(message))
      throw new RetinueError('usage', `\`${timezone}\` is not a time zone; use a name such as \`Europe/Berlin\``);
    throw new RetinueError(
      'usage',
      `\`${cron}\` does not say when: ${message}; write minute, hour, day, month and day of the week, as in \`0 7 * * 1-5\``,
    );
  }
}
