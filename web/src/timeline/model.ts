// What the page shows of a timeline at a moment: rows, the critical path, and sums. Pure.
import {
  type ClosedSegment,
  findCriticalPath,
  type Lane,
  laneSegments,
  listLanes,
  type Moment,
  type PathStep,
  type SegmentKind,
  sumByKind,
  type Timeline,
} from '../../../src/views/timeline.ts';
import type { Range } from './scale.ts';

export interface CriticalPath {
  steps: PathStep[];
  byRun: Map<string, PathStep[]>;
  sums: Record<SegmentKind, number>;
}

export function readPath(timeline: Timeline, rootId: string, moment: Moment): CriticalPath {
  const steps = findCriticalPath(timeline, rootId, moment);
  return { steps, byRun: Map.groupBy(steps, ({ runId }) => runId), sums: sumByKind(steps) };
}

/** From the creation of the root to its end, or to the present. It always has a length. */
export function fullRange(root: Lane, { now, lastAt }: Moment): Range {
  const end = root.endedAt ?? Math.max(now, lastAt);
  return { from: root.createdAt, to: Math.max(end, root.createdAt + 1) };
}

/** Rows in tree order. `isPathOnly`: only runs of the path, and the runs above them. */
export function listRows(
  timeline: Timeline,
  { folded, isPathOnly, path }: { folded: ReadonlySet<string>; isPathOnly: boolean; path: CriticalPath },
): Lane[] {
  const lanes = listLanes(timeline, folded);
  if (!isPathOnly) return lanes;
  const shown = new Set<string>();
  for (const id of path.byRun.keys()) {
    let lane = timeline.lanes.get(id);
    while (lane && !shown.has(lane.id)) {
      shown.add(lane.id);
      lane = timeline.lanes.get(lane.parentId ?? '');
    }
  }
  return lanes.filter(({ id }) => shown.has(id));
}

export interface LongSegment {
  lane: Lane;
  segment: ClosedSegment;
}

/** The longest segments in which a run itself did something or could not. Waiting for children is what the children did. */
export function longestSegments(timeline: Timeline, moment: Moment, count: number): LongSegment[] {
  const longest: LongSegment[] = [];
  let least = 0;
  for (const lane of timeline.lanes.values()) {
    for (const segment of laneSegments(lane, moment)) {
      const length = segment.to - segment.from;
      if (segment.kind === 'children' || length <= least) continue;
      longest.push({ lane, segment });
      if (longest.length < 4 * count) continue;
      keepLongest(longest, count);
      least = lengthOf(longest.at(-1) as LongSegment);
    }
  }
  keepLongest(longest, count);
  return longest;
}

function keepLongest(longest: LongSegment[], count: number): void {
  longest.sort((a, b) => lengthOf(b) - lengthOf(a));
  longest.length = Math.min(longest.length, count);
}

function lengthOf({ segment: { from, to } }: LongSegment): number {
  return to - from;
}

const mainCount = 20;
const leastCount = 5;
const leastShare = 0.005;

/** The steps that matter most, in the order of time: the longest ones, without those that hardly count. */
export function mainSteps(steps: PathStep[]): PathStep[] {
  const total = steps.reduce((sum, { from, to }) => sum + to - from, 0);
  const longest = steps.toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, mainCount);
  const main = longest.filter(({ from, to }, i) => i < leastCount || to - from >= total * leastShare);
  return main.toSorted((a, b) => a.from - b.from);
}
