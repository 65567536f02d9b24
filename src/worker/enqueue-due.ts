// Queues the tree of a schedule that is due. Its idempotency key is the job of the schedule, so it is queued once, however often that job is taken.
import type { Api } from '../api/api.ts';
import type { DueSchedule } from '../ports/queue.ts';

export function enqueueDue({ id, schedule }: DueSchedule, api: Pick<Api, 'enqueue'>): Promise<{ runId: string; isNew: boolean }> {
  const { name, queue, priority, group, dialect, brief } = schedule;
  return api.enqueue(
    { ...(brief as object), idempotencyKey: `schedule ${name} ${id}` },
    { job: { queue, priority, ...(group !== null && { group }) }, ...(dialect !== null && { dialect }) },
  );
}
