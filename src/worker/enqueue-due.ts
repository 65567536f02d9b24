// Queues the tree of a schedule that is due. Its idempotency key is the job of the schedule, so it is queued once, however often that job is taken.
import type { Api } from '../api/api.ts';
import { isRetinueError } from '../contract/error.ts';
import type { DueSchedule } from '../ports/queue.ts';

export async function enqueueDue(
  { id, schedule }: DueSchedule,
  api: Pick<Api, 'enqueue' | 'keyed'>,
): Promise<{ runId: string; isNew: boolean }> {
  const { name, queue, priority, group, dialect, brief } = schedule;
  const { label, ...rest } = brief as { label?: unknown };
  const isLabelled = typeof label !== 'string' || label.trim() !== '';
  const idempotencyKey = `schedule ${name} ${id}`;
  try {
    return await api.enqueue(
      // Earlier versions stored schedules with an empty label, which a brief must not have.
      { ...rest, ...(isLabelled && { label }), idempotencyKey },
      { job: { queue, priority, ...(group !== null && { group }) }, ...(dialect !== null && { dialect }) },
    );
  } catch (error) {
    if (!isRetinueError(error) || error.code !== 'key_conflict') throw error;
    // A worker that died has queued it. Only what the process adds to the brief differs, such as the checks of an agent that was edited since.
    const run = await api.keyed(idempotencyKey);
    if (run === null) throw error;
    return { runId: run.runId, isNew: false };
  }
}
