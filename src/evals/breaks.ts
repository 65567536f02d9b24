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
  // Whoever continues a tree continues its root. A run that alone is continued had been waiting for its provider, which is no break.
  const breaks = root.flatMap((fact) => (fact.type === 'run.resumed' ? [isoToMs(fact.at)] : []));
  return late.some(({ startedAt, endedAt }: Timed) =>
    breaks.some((end) => startedAt !== null && isoToMs(startedAt) <= end && end <= isoToMs(endedAt)),
  );
}
