// What each run of a tree is doing, folded from events for the live display. Knows neither clock nor terminal.
import type { LiveEvent } from '../api/api.ts';
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunStatus } from '../contract/run-status.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { callKey, describeCall } from './describe-call.ts';
import type { CallProblems } from './tree-counter.ts';

export interface LiveRun {
  id: string;
  parentId: string | null;
  depth: number;
  /** Label, or agent without one. */
  name: string;
  status: RunStatus;
  turn: number;
  /** What it does besides tool calls: `thinking`, `writing`, a retry. After the end: the error. */
  activity: string;
  /** Open tool calls, by `callKey`. */
  tools: Map<string, string>;
  children: string[];
  /** Milliseconds since the epoch. */
  startedAt: number | null;
  endedAt: number | null;
  /** Of the run and all its descendants, as in an outcome. */
  tokens: number;
  /** Calls that did not work, of the run itself. */
  problems: CallProblems;
  /** Sources outside this machine that it has read: `web`, `mcp`. */
  taint: Set<string>;
  /** Null while unknown. */
  costUsd: number | null;
  /** Of a paused run: its pause ends at a known time. */
  resumesItself: boolean;
}

export interface LiveState {
  runs: Map<string, LiveRun>;
  roots: string[];
}

export function createLiveState(): LiveState {
  return { runs: new Map(), roots: [] };
}

/** Whether a line may look different now. Changes the state in place: trees can have thousands of runs. */
export function applyEvent(state: LiveState, event: LiveEvent): boolean {
  if (event.type === 'run.created') return addRun(state, event);
  const run = state.runs.get(event.runId);
  if (!run || run.endedAt !== null) return false;
  if (event.type === 'delta') {
    const activity = event.kind === 'text' ? 'writing' : 'thinking';
    if (run.activity === activity) return false;
    run.activity = activity;
    return true;
  }
  return applyFact(state, run, event);
}

/** Applies an outcome whose event may have been missed. */
export function applyOutcome(state: LiveState, outcome: Outcome): void {
  const run = state.runs.get(outcome.runId);
  if (run) endRun(run, outcome);
}

function addRun(state: LiveState, { runId, data }: FactOf<'run.created'>): boolean {
  if (state.runs.has(runId)) return false;
  const parent = data.parentId === null ? undefined : state.runs.get(data.parentId);
  if (parent) parent.children.push(runId);
  else state.roots.push(runId);
  state.runs.set(runId, {
    id: runId,
    parentId: parent?.id ?? null,
    depth: parent ? parent.depth + 1 : 0,
    name: sanitizeLine(data.brief.label ?? data.agent ?? data.kind),
    status: 'queued',
    turn: 0,
    activity: '',
    tools: new Map(),
    children: [],
    startedAt: null,
    endedAt: null,
    tokens: 0,
    problems: { failed: 0, denied: 0 },
    taint: new Set(),
    costUsd: null,
    resumesItself: false,
  });
  return true;
}

function applyFact(state: LiveState, run: LiveRun, fact: Exclude<Fact, FactOf<'run.created'>>): boolean {
  switch (fact.type) {
    case 'run.started':
      Object.assign(run, { status: 'running', startedAt: Date.parse(fact.at) });
      return true;
    case 'model.asked':
      Object.assign(run, { status: 'running', turn: fact.data.turn, activity: fact.data.purpose === 'turn' ? 'thinking' : 'wrapping up' });
      return true;
    case 'model.answered':
      run.activity = '';
      addUsage(state, run, fact.data);
      return true;
    case 'model.failed':
      run.activity = fact.data.again ? `retrying (${fact.data.error.code})` : '';
      if (fact.data.usage) addUsage(state, run, { usage: fact.data.usage, costUsd: fact.data.costUsd });
      return true;
    case 'tool.asked':
      if (fact.data.rejected !== null) return false;
      run.tools.set(callKey(fact.data), describeCall(fact.data.tool, fact.data.arguments));
      return true;
    case 'tool.finished':
      if (fact.data.status === 'denied') run.problems.denied++;
      else if (fact.data.status !== 'ok' && fact.data.status !== 'cancelled') run.problems.failed++;
      for (const each of fact.data.taint) if (each === 'web' || each === 'mcp') run.taint.add(each);
      run.tools.delete(callKey(fact.data));
      return true;
    case 'approval.asked':
      Object.assign(run, { status: 'waiting', activity: `waiting for approval of ${sanitizeLine(fact.data.tool)}` });
      return true;
    case 'approval.answered':
      Object.assign(run, { status: 'running', activity: '' });
      return true;
    case 'cancel.asked':
      run.activity = 'cancelling';
      return true;
    case 'run.paused':
      Object.assign(run, { status: 'paused', activity: sanitizeLine(fact.data.reason), resumesItself: fact.data.resumeAt !== null });
      return true;
    case 'run.resumed':
      Object.assign(run, { status: 'running', activity: '' });
      return true;
    case 'run.ended':
      endRun(run, fact.data.outcome);
      return true;
    default:
      return false;
  }
}

function endRun(run: LiveRun, outcome: Outcome): void {
  run.status = outcome.status;
  run.activity = outcome.error && outcome.status !== 'completed' ? sanitizeLine(outcome.error.message) : '';
  run.tools.clear();
  run.turn = outcome.turns;
  run.startedAt ??= outcome.startedAt === null ? null : Date.parse(outcome.startedAt);
  run.endedAt = Date.parse(outcome.endedAt);
  run.tokens = outcome.tokens.input + outcome.tokens.output;
  run.costUsd = outcome.costUsd;
}

function addUsage(
  state: LiveState,
  run: LiveRun,
  { usage, costUsd }: { usage: { input: number; output: number }; costUsd: number | null },
): void {
  for (let at: LiveRun | undefined = run; at; at = at.parentId === null ? undefined : state.runs.get(at.parentId)) {
    at.tokens += usage.input + usage.output;
    if (costUsd !== null) at.costUsd = (at.costUsd ?? 0) + costUsd;
  }
}
