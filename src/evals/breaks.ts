// Breaks of an eval: time in which nothing drove its runs. Deadlines are moments on the wall clock, so a deadline may pass only because of a break.
import type { Fact } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { isoToMs } from '../text/instant.ts';

/** The log of one run, without its descendants. */
export type ReadLog = (runId: string) => Promise<readonly Fact[]>;

type Timed = Pick<Outcome, 'terminated' | 'startedAt' | 'endedAt'>;

/** Whether the deadline of the run, or that of one of its children, passed after a break in its time. */
export async function hasLostTime(outcome: Timed & Pick<Outcome, 'runId' | 'rootId'>, readLog: ReadLog): Promise<boolean> {
  const [own, root] = await Promise.all([readLog(outcome.runId), readLog(outcome.rootId)]);
  const children = own.flatMap((fact) => (fact.type === 'child.ended' ? [fact.data.outcome] : []));
  const late = [outcome, ...children].filter(({ terminated }) => terminated === 'deadline');
  const breaks = findBreakEnds(root);
  return late.some(({ startedAt, endedAt }: Timed) =>
    breaks.some((end) => startedAt !== null && isoToMs(startedAt) <= end && end <= isoToMs(endedAt)),
  );
}

/** When breaks ended. Whoever continues a tree continues its root; a run that alone is continued had been waiting for its provider, which is no break. */
export function findBreakEnds(root: readonly Fact[]): number[] {
  return root.flatMap((fact) => (fact.type === 'run.resumed' ? [isoToMs(fact.at)] : []));
}

/** How much of a run's time was in breaks. A break began with the last fact before it, as far as is known. */
export async function measureBreaks(
  { runId, startedAt, endedAt }: Timed & Pick<Outcome, 'runId'>,
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
