// One lane of a timeline: the state of a run between facts, and the segments that follow from it.
import type { FactData, FactOf, Purpose } from '../../contract/fact.ts';
import type { RunStatus } from '../../contract/run-status.ts';
import { sanitizeLine } from '../../text/terminal.ts';

/**
 * `queued`: created, not started. `tool`: at least one call or step of a flow executes. `approval`: calls or questions wait for an answer of a
 * person, and none executes.
 * `children`: it only waits for runs that it delegated. `idle`: none of these, such as the time before a retry, without a free slot, or while a flow sleeps.
 * `interrupted`: no process drove it.
 */
export const segmentKinds = ['queued', 'model', 'tool', 'children', 'approval', 'paused', 'interrupted', 'idle'] as const;
export type SegmentKind = (typeof segmentKinds)[number];

/** `tokens` and `costUsd` are null while unknown. `lost`: the run was stopped or interrupted before there was an answer. */
export interface ModelCall {
  turn: number;
  attempt: number;
  purpose: Purpose;
  model: string;
  tokens: { input: number; output: number } | null;
  costUsd: number | null;
  result: 'open' | 'answered' | 'failed' | 'lost';
}

export interface ToolCall {
  /** `turn.index` */
  key: string;
  turn: number;
  tool: string;
  /** The tool and its most telling argument. */
  text: string;
  from: number;
  /** Null while it is open. */
  to: number | null;
  status: FactData['tool.finished']['status'] | 'open';
  /** It only waits for children. */
  isWait: boolean;
  needsApproval: boolean;
}

export interface Segment {
  kind: SegmentKind;
  from: number;
  /** Null only in `Lane.open`. */
  to: number | null;
  /** The call of a `model` segment. */
  model: ModelCall | null;
  /** Tool calls that were open in a `tool`, `children` or `approval` segment, in the order of the answer. */
  calls: ToolCall[];
  /** Why it is paused or retries; otherwise empty. */
  note: string;
}

/** `failure`: a tool call or the run itself failed. `cancel`: asked for, or the end of a run that was cancelled with its parent. */
export type MarkKind = 'message' | 'failure' | 'retry' | 'denied' | 'cancel';

export interface Mark {
  kind: MarkKind;
  at: number;
  /** The fact of the run that it stands for. */
  seq: number;
  text: string;
}

/** Times are milliseconds since the epoch. */
export interface Lane {
  id: string;
  /** Null if the parent is not part of the timeline. */
  parentId: string | null;
  depth: number;
  kind: 'agent' | 'client' | 'flow';
  /** The label, or the beginning of the task of a run without one. */
  name: string;
  agent: string | null;
  model: string | null;
  /** The first line of the task. */
  task: string;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** Null while it is live. */
  status: RunStatus | null;
  turns: number;
  /** Of the run itself. `costUsd` is null while no price is known. */
  tokens: number;
  costUsd: number | null;
  children: string[];
  /** Closed segments. */
  segments: Segment[];
  /** What the run is doing; null after its end. */
  open: Segment | null;
  marks: Mark[];
  state: LaneState;
}

/** What a run is known to do after its last fact. */
export interface LaneState {
  isStarted: boolean;
  isPaused: boolean;
  pauseReason: string;
  /** When the process of the tree was last known to be alive; null unless the run is interrupted. */
  lostAt: number | null;
  model: ModelCall | null;
  /** The code of the error after which the model is asked again; null if no retry is due. */
  retryReason: string | null;
  calls: Map<string, ToolCall>;
  openChildren: Set<string>;
  /** Of a flow: its open sleeps, by step. */
  sleeps: Map<number, string>;
}

const maxNameChars = 120;

export function createLane({ runId, data }: FactOf<'run.created'>, at: number, parent: Lane | null): Lane {
  const task = sanitizeLine(data.brief.task.slice(0, 1000).split('\n', 1)[0] as string);
  const name = data.brief.label === undefined ? task : sanitizeLine(data.brief.label);
  return {
    id: runId,
    parentId: parent?.id ?? null,
    depth: parent ? parent.depth + 1 : 0,
    kind: data.kind,
    name: name.slice(0, maxNameChars) || (data.agent ?? data.kind),
    agent: data.agent,
    model: data.model,
    task,
    createdAt: at,
    startedAt: null,
    endedAt: null,
    status: null,
    turns: 0,
    tokens: 0,
    costUsd: null,
    children: [],
    segments: [],
    open: { kind: 'queued', from: at, to: null, model: null, calls: [], note: '' },
    marks: [],
    state: {
      isStarted: false,
      isPaused: false,
      pauseReason: '',
      lostAt: null,
      model: null,
      retryReason: null,
      calls: new Map(),
      openChildren: new Set(),
      sleeps: new Map(),
    },
  };
}

/** The one kind that counts: what stops the run before what it does, and what it does before what it waits for. */
function laneKind({ state }: Lane): SegmentKind {
  if (state.isPaused) return 'paused';
  if (state.lostAt !== null) return 'interrupted';
  if (!state.isStarted) return 'queued';
  if (state.model) return 'model';
  const calls = [...state.calls.values()];
  if (calls.some((call) => !call.isWait && !call.needsApproval)) return 'tool';
  if (calls.some((call) => call.needsApproval)) return 'approval';
  if (calls.length > 0 || (state.openChildren.size > 0 && state.retryReason === null)) return 'children';
  return 'idle';
}

/** Closes the open segment at that time if the run now does something else, and opens the next one. */
export function updateSegment(lane: Lane, at: number): void {
  const { open, state } = lane;
  if (!open) return;
  if (lane.endedAt !== null) {
    closeSegment(lane, open, at);
    lane.open = null;
    return;
  }
  const kind = laneKind(lane);
  const isOtherSleep = kind === 'idle' && open.kind === 'idle' && lane.kind === 'flow' && open.note !== noteOf(kind, lane);
  if (isOtherSleep || kind !== open.kind || open.model !== (kind === 'model' ? state.model : null)) {
    closeSegment(lane, open, at);
    lane.open = { kind, from: at, to: null, model: kind === 'model' ? state.model : null, calls: [], note: noteOf(kind, lane) };
  }
  const { calls } = lane.open as Segment;
  if (kind === 'tool' || kind === 'children' || kind === 'approval')
    for (const call of state.calls.values()) if (!calls.includes(call)) calls.push(call);
}

function noteOf(kind: SegmentKind, { state }: Lane): string {
  if (kind === 'paused') return state.pauseReason;
  if (kind === 'idle' && state.sleeps.size > 0) return [...state.sleeps.values()].join(', ');
  return kind === 'idle' && state.retryReason !== null ? `before a retry (${state.retryReason})` : '';
}

/** Calls that took no measurable time stay visible; other segments without a length are left out. */
function closeSegment(lane: Lane, open: Segment, at: number): void {
  open.to = at;
  const hasFinishedCall = open.kind === 'tool' && open.calls.some(({ to }) => to !== null);
  if (at > open.from || open.kind === 'model' || hasFinishedCall) lane.segments.push(open);
}

/** When a timeline is looked at. `isDriven`: a living process drives the tree. */
export interface Moment {
  now: number;
  isDriven: boolean;
  /** Of the timeline. */
  lastAt: number;
}

export type ClosedSegment = Segment & { to: number };

/** All segments of a lane; the open one ends at the moment. Without a process the run is interrupted since the last fact of its tree. */
export function laneSegments({ segments, open }: Lane, { now, isDriven, lastAt }: Moment): ClosedSegment[] {
  const closed = segments as ClosedSegment[];
  if (!open) return closed;
  const end = Math.max(now, lastAt, open.from);
  const isLost = !isDriven && open.kind !== 'paused';
  const last = { ...open, to: isLost ? Math.max(lastAt, open.from) : end };
  if (!isLost || end === last.to) return [...closed, last];
  return [...closed, last, { kind: 'interrupted', from: last.to, to: end, model: null, calls: [], note: '' }];
}

/** Milliseconds by kind. */
export function sumByKind(segments: { kind: SegmentKind; from: number; to: number }[]): Record<SegmentKind, number> {
  const sums = Object.fromEntries(segmentKinds.map((kind) => [kind, 0])) as Record<SegmentKind, number>;
  for (const { kind, from, to } of segments) sums[kind] += to - from;
  return sums;
}
