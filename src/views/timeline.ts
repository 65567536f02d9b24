// The timeline of a tree, folded from its facts: one lane per run, and in it what the run was doing at each moment. Knows no clock.
//
// T1. The segments of a lane cover the run from its creation to its end without gaps, in order. At each moment a run is in exactly one kind of
//     segment; `laneKind` (lane.ts) says which one counts if several things go on.
// T2. Tool calls of one answer run side by side. They share a segment, which lists them with their own times. A call's time is from the answer that
//     asked for it to its result: facts do not say when a call that had to wait for an earlier one began.
// T3. Times of a tree never go back. A fact with an earlier time than the one before it, from a process with another clock, counts at that time.
// T4. A tree whose process died was `interrupted` from its last fact to the fact that continued it. What was open until then is not known to have
//     gone on any longer.
// T5. Facts may be applied one at a time while the tree runs. `laneSegments` closes what is open at the given moment.
import type { Fact, FactOf } from '../contract/fact.ts';
import type { RecordedOutcome } from '../contract/outcome.ts';
import { isoToMs } from '../text/instant.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { callKey, describeCall } from './describe-call.ts';
import { formatStatus } from './format.ts';
import { answerStep, finishStep, startStep } from './timeline/flow-steps.ts';
import { createLane, type Lane, type MarkKind, type ModelCall, type ToolCall, updateSegment } from './timeline/lane.ts';

export type { Lane, Mark, MarkKind, ModelCall, Segment, SegmentKind, ToolCall } from './timeline/lane.ts';
export { type ClosedSegment, laneSegments, type Moment, segmentKinds, sumByKind } from './timeline/lane.ts';
export { findCriticalPath, type PathStep } from './timeline/path.ts';

export interface Timeline {
  lanes: Map<string, Lane>;
  /** Runs without a parent among the lanes. */
  roots: string[];
  /** The time of the last fact, in milliseconds since the epoch; 0 without facts. */
  lastAt: number;
}

export function createTimeline(): Timeline {
  return { lanes: new Map(), roots: [], lastAt: 0 };
}

/** Parents before their children, children in the order of their creation. The runs below those in `folded` are left out. */
export function listLanes({ lanes, roots }: Timeline, folded: ReadonlySet<string> = new Set()): Lane[] {
  const listed: Lane[] = [];
  const open = roots.toReversed();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const lane = lanes.get(id) as Lane;
    listed.push(lane);
    if (!folded.has(id)) for (let i = lane.children.length - 1; i >= 0; i--) open.push(lane.children[i] as string);
  }
  return listed;
}

/** Each fact once, in order. Changes the timeline in place. Returns whether it may look different now. */
export function applyToTimeline(timeline: Timeline, fact: Fact): boolean {
  const previous = timeline.lastAt;
  const time = isoToMs(fact.at);
  const at = Number.isFinite(time) ? Math.max(previous, time) : previous;
  if (fact.type === 'run.created') return addLane(timeline, fact, at);
  const lane = timeline.lanes.get(fact.runId);
  if (!lane || lane.endedAt !== null) return false;
  timeline.lastAt = at;
  if (fact.type === 'run.resumed' && !lane.state.isPaused && lane.state.lostAt === null) markLost(timeline, previous);
  applyToLane(lane, fact, at);
  updateSegment(lane, at);
  return true;
}

function addLane(timeline: Timeline, fact: FactOf<'run.created'>, at: number): boolean {
  const { lanes, roots } = timeline;
  if (lanes.has(fact.runId)) return false;
  const parent = fact.data.parentId === null ? undefined : lanes.get(fact.data.parentId);
  timeline.lastAt = at;
  lanes.set(fact.runId, createLane(fact, at, parent ?? null));
  if (parent) {
    parent.children.push(fact.runId);
    if (parent.endedAt === null) {
      parent.state.openChildren.add(fact.runId);
      updateSegment(parent, at);
    }
  } else roots.push(fact.runId);
  return true;
}

/** The process of the tree died after its last fact: nothing is known of its runs from then on (T4). */
function markLost({ lanes }: Timeline, lostAt: number): void {
  for (const lane of lanes.values()) {
    if (lane.endedAt !== null || lane.state.isPaused) continue;
    lane.state.lostAt = lostAt;
    updateSegment(lane, lostAt);
  }
}

function applyToLane(lane: Lane, fact: Exclude<Fact, FactOf<'run.created'>>, at: number): void {
  const { state } = lane;
  const mark = (kind: MarkKind, text: string) =>
    lane.marks.push({ kind, at, seq: fact.seq, text: sanitizeLine(text).slice(0, maxMarkChars) });
  switch (fact.type) {
    case 'run.started':
      state.isStarted = true;
      lane.startedAt = at;
      lane.model = fact.data.model ?? lane.model;
      return;
    case 'model.asked':
      askModel(lane, fact);
      return;
    case 'model.answered':
      endModelCall(lane, { ...fact.data, result: 'answered' });
      return;
    case 'model.failed': {
      const { error, again, fallback } = fact.data;
      endModelCall(lane, { ...fact.data, result: 'failed' });
      state.retryReason = again ? error.code : null;
      const next = fallback === null ? '' : `, continues with ${fallback}`;
      // Without a retry the run ends with this error.
      if (again) mark('retry', `${error.code}: ${error.message}${next}`);
      return;
    }
    case 'tool.asked':
      state.calls.set(callKey(fact.data), openCall(fact, at));
      return;
    case 'tool.finished':
      finishCall(lane, fact, at, mark);
      return;
    case 'step.started':
      startStep(lane, fact, at);
      return;
    case 'step.finished': {
      const problem = finishStep(lane, fact, at);
      if (problem !== '') mark('failure', problem);
      return;
    }
    case 'approval.asked':
    case 'approval.answered': {
      if (lane.kind === 'flow') {
        if (fact.type === 'approval.answered') answerStep(lane, fact, at);
        return;
      }
      const call = state.calls.get(callKey(fact.data));
      if (call) call.needsApproval = fact.type === 'approval.asked';
      return;
    }
    case 'child.ended':
      state.openChildren.delete(fact.data.childId);
      return;
    case 'message.received':
      mark('message', `from ${fact.data.from}: ${fact.data.text}`);
      return;
    case 'cancel.asked':
      mark('cancel', `by ${fact.data.by}: ${fact.data.reason}`);
      return;
    case 'run.paused':
      state.isPaused = true;
      state.lostAt = null;
      state.pauseReason = sanitizeLine(fact.data.reason);
      return;
    case 'run.resumed':
      Object.assign(state, { isPaused: false, lostAt: null });
      // A model call is asked again; tool calls that are not repeated get a result.
      if (state.model) endModelCall(lane, { usage: null, costUsd: null, result: 'lost' });
      return;
    case 'run.ended':
      endLane(lane, fact.data.outcome, at, mark);
      return;
    default:
      return;
  }
}

const maxMarkChars = 300;

function askModel(lane: Lane, { data }: FactOf<'model.asked'>): void {
  const { turn, attempt, purpose, model } = data;
  const { state } = lane;
  lane.turns = Math.max(lane.turns, turn);
  state.model = { turn, attempt, purpose, model, tokens: null, costUsd: null, result: 'open' };
  state.retryReason = null;
}

function endModelCall(
  lane: Lane,
  { usage, costUsd, result }: { usage: { input: number; output: number } | null; costUsd: number | null; result: ModelCall['result'] },
): void {
  const call = lane.state.model;
  lane.state.model = null;
  if (usage) lane.tokens += usage.input + usage.output;
  if (costUsd !== null) lane.costUsd = (lane.costUsd ?? 0) + costUsd;
  if (call) Object.assign(call, { result, costUsd, tokens: usage && { input: usage.input, output: usage.output } });
}

function openCall({ data }: FactOf<'tool.asked'>, at: number): ToolCall {
  const { turn, tool, waits } = data;
  const text = describeCall(tool, data.arguments);
  return { key: callKey(data), turn, tool, text, from: at, to: null, status: 'open', isWait: waits, needsApproval: false };
}

function finishCall({ state }: Lane, { data }: FactOf<'tool.finished'>, at: number, mark: (kind: MarkKind, text: string) => void): void {
  const call = state.calls.get(callKey(data));
  if (!call) return;
  state.calls.delete(call.key);
  Object.assign(call, { to: at, status: data.status, needsApproval: false });
  if (data.status === 'denied') mark('denied', `${call.text}: ${data.output}`);
  else if (data.status !== 'ok' && data.status !== 'cancelled') mark('failure', `${call.text}: ${data.status}: ${data.output}`);
}

function endLane(lane: Lane, outcome: RecordedOutcome, at: number, mark: (kind: MarkKind, text: string) => void): void {
  const { state } = lane;
  for (const call of state.calls.values()) Object.assign(call, { to: at, status: 'cancelled' });
  state.calls.clear();
  if (state.model) endModelCall(lane, { usage: null, costUsd: null, result: 'lost' });
  lane.endedAt = at;
  lane.status = outcome.status;
  lane.turns = outcome.turns;
  const reason = `${formatStatus(outcome.status)}: ${outcome.error?.message ?? outcome.terminated ?? ''}`;
  if (outcome.status !== 'cancelled') {
    if (!outcome.success) mark('failure', reason);
  } else if (!lane.marks.some(({ kind }) => kind === 'cancel')) mark('cancel', reason);
}
