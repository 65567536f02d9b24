// The critical path of a tree: the chain of segments that its end depended on. A tree can only end earlier if a step of this path gets shorter.
//
// The path is found from the end of the root to its beginning:
// P1. A segment in which the run itself did something, or was stopped, is a step of the path. The walk continues before it.
// P2. In a segment in which the run waited for children, the walk continues in the child that ended last before that moment. Time between that end
//     and the moment belongs to the waiting run.
// P3. A child is followed back to its creation, even if its parent was busy meanwhile: the parent's own work ran side by side with it. From there
//     the walk continues in the parent.
// P4. If no child ended in the wait, it ended for another reason, such as its own time limit, and is itself a step.
// P5. While the root is live, the path leads to the present: a run that still waits depends on the open child that was created first. The path is
//     then a guess, which later facts can change.
// So the steps follow each other without gaps, from the creation of the root to its end (or the present), across runs.
// Not seen: a child that waits for a message of its parent, and a queued run that waits for the slot of another run. Both count as the child's own time.
import { type ClosedSegment, type Lane, laneSegments, type Moment, type SegmentKind, type ToolCall } from './lane.ts';

export interface PathStep {
  runId: string;
  kind: SegmentKind;
  from: number;
  to: number;
  segment: ClosedSegment;
  /** The call that finished last in a `tool` or `approval` step. */
  call: ToolCall | null;
}

/** The steps in the order of time. Steps have a length; a run that took no measurable time has none. */
export function findCriticalPath({ lanes }: { lanes: ReadonlyMap<string, Lane> }, rootId: string, moment: Moment): PathStep[] {
  const root = lanes.get(rootId);
  if (!root) return [];
  const steps: PathStep[] = [];
  const read = (lane: Lane) => laneSegments(lane, moment);
  let lane = root;
  let segments = read(root);
  let t = segments.at(-1)?.to ?? root.createdAt;
  for (;;) {
    while (t <= lane.createdAt && lane !== root) {
      lane = lanes.get(lane.parentId as string) as Lane;
      segments = read(lane);
    }
    if (t <= lane.createdAt) break;
    const index = lastBefore(segments, t);
    const segment = segments[index] as ClosedSegment;
    const hasNoEnd = index === segments.length - 1 ? lane.open !== null : segments[index + 1]?.kind === 'interrupted';
    const isCut = hasNoEnd && t === segment.to;
    const child = segment.kind === 'children' ? childAwaited(lanes, lane, { from: segment.from, t, isCut }) : null;
    const end = child === null ? segment.from : Math.min(t, child.endedAt ?? t);
    if (end < t) steps.push({ runId: lane.id, kind: segment.kind, from: end, to: t, segment, call: lastCall(segment, t) });
    t = end;
    if (child) {
      lane = child;
      segments = read(child);
    }
  }
  return steps.reverse();
}

/** The index of the last segment that begins before a time. The first one begins at the creation of the run, so there is one. */
function lastBefore(segments: ClosedSegment[], t: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle] as ClosedSegment).from < t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Null if the wait did not depend on a child. `isCut`: the wait had no end of its own. */
function childAwaited(
  lanes: ReadonlyMap<string, Lane>,
  { children }: Lane,
  { from, t, isCut }: { from: number; t: number; isCut: boolean },
): Lane | null {
  let last: Lane | null = null;
  let open: Lane | null = null;
  for (const id of children) {
    const child = lanes.get(id) as Lane;
    if (child.createdAt >= t) break;
    const { endedAt } = child;
    if (endedAt !== null && endedAt > from && endedAt <= t && endedAt >= (last?.endedAt ?? 0)) last = child;
    else if (endedAt === null || endedAt > t) open ??= child;
  }
  return isCut && open ? open : last;
}

function lastCall({ kind, calls }: ClosedSegment, t: number): ToolCall | null {
  if (kind !== 'tool' && kind !== 'approval') return null;
  let last: ToolCall | null = null;
  for (const call of calls) {
    if (call.isWait || (call.to ?? t) > t) continue;
    if (!last || (call.to ?? t) > (last.to ?? t)) last = call;
  }
  return last ?? calls.find((call) => !call.isWait) ?? null;
}
