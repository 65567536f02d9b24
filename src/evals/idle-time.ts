// Idle time of an eval: time in which no process drove its runs. Deadlines are moments on the wall clock, so idle time alone can make one pass.
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { isoToMs } from '../text/instant.ts';

/** The log of one run, without its descendants. */
export type ReadLog = (runId: string) => Promise<readonly Fact[]>;

type RunTimes = Pick<Outcome, 'terminated' | 'startedAt' | 'endedAt'>;

/** Whether the deadline of the run, or that of one of its children, passed after idle time. */
export async function hasTimedOutIdle(outcome: RunTimes & Pick<Outcome, 'runId' | 'rootId'>, readLog: ReadLog): Promise<boolean> {
  const [own, root] = await Promise.all([readLog(outcome.runId), readLog(outcome.rootId)]);
  const children = own.flatMap((fact) => (fact.type === 'child.ended' ? [fact.data.outcome] : []));
  const late = [outcome, ...children].filter(({ terminated }) => terminated === 'deadline');
  const ends = findIdleEnds(root);
  return late.some(({ startedAt, endedAt }: RunTimes) =>
    ends.some((end) => startedAt !== null && isoToMs(startedAt) <= end && end <= isoToMs(endedAt)),
  );
}

/**
 * When idle time ended: each time the root was continued. A process that continues a tree continues its root. A run that is continued without its root
 * had waited for its provider, which is not idle time.
 */
export function findIdleEnds(root: readonly Fact[]): number[] {
  return root.flatMap((fact) => (fact.type === 'run.resumed' ? [isoToMs(fact.at)] : []));
}

/** The idle time between the start and the end of a run, in milliseconds. It is assumed to begin with the last fact before it. */
export async function measureIdleTime(
  { runId, startedAt, endedAt }: RunTimes & Pick<Outcome, 'runId'>,
  ends: number[],
  readLog: ReadLog,
): Promise<number> {
  if (startedAt === null) return 0;
  const [start, end] = [isoToMs(startedAt), isoToMs(endedAt)];
  const within = ends.filter((each) => start < each && each <= end);
  if (within.length === 0) return 0;
  const moments = (await readLog(runId)).map(({ at }) => isoToMs(at));
  return within.reduce((sum, each, index) => {
    const earlier = [start, within[index - 1] ?? start, ...moments.filter((at) => at < each)];
    return sum + each - Math.max(...earlier);
  }, 0);
}
