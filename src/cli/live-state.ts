// What a tree of runs is doing, folded from facts and deltas for the lines on a terminal. No clock and no terminal in here.
import type { LiveEvent } from '../api/api.ts';
import type { Fact, FactOf } from '../contract/fact.ts';
import type { Json } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { RunStatus } from '../contract/run.ts';
import { cleanLine } from './clean.ts';

export interface LiveRun {
  id: string;
  parentId: string | null;
  depth: number;
  /** Label or agent. */
  name: string;
  status: RunStatus;
  turn: number;
  /** Besides tools: `thinking`, `writing`, a retry; why it ended once it has. */
  doing: string;
  /** Tools in hand, by turn and place. */
  tools: Map<string, string>;
  children: string[];
  /** Milliseconds since the epoch, as the facts say. */
  startedAt: number | null;
  endedAt: number | null;
  /** Of the run and everything below it, like an outcome's. */
  tokens: number;
  /** Where from outside this machine its results came: `web`, `mcp`. */
  taint: Set<string>;
  /** Null while nothing is known. */
  costUsd: number | null;
}

export interface LiveState {
  runs: Map<string, LiveRun>;
  roots: string[];
}

export function emptyState(): LiveState {
  return { runs: new Map(), roots: [] };
}

/** Takes one event in and says whether a line may look different now. The state is changed in place: trees can have thousands of runs. */
export function apply(state: LiveState, event: LiveEvent): boolean {
  if (event.type === 'run.created') return create(state, event);
  const run = state.runs.get(event.runId);
  if (!run || run.endedAt !== null) return false;
  if (event.type === 'delta') {
    const doing = event.kind === 'text' ? 'writing' : 'thinking';
    if (run.doing === doing) return false;
    run.doing = doing;
    return true;
  }
  return update(state, run, event);
}

/** Puts an outcome in, for a reader who may have missed the fact of it. */
export function settle(state: LiveState, outcome: Outcome): void {
  const run = state.runs.get(outcome.runId);
  if (run) end(run, outcome);
}

function create(state: LiveState, { runId, data }: FactOf<'run.created'>): boolean {
  if (state.runs.has(runId)) return false;
  const parent = data.parentId === null ? undefined : state.runs.get(data.parentId);
  if (parent) parent.children.push(runId);
  else state.roots.push(runId);
  state.runs.set(runId, {
    id: runId,
    parentId: parent?.id ?? null,
    depth: parent ? parent.depth + 1 : 0,
    name: cleanLine(data.brief.label ?? data.agent ?? data.kind),
    status: 'queued',
    turn: 0,
    doing: '',
    tools: new Map(),
    children: [],
    startedAt: null,
    endedAt: null,
    tokens: 0,
    taint: new Set(),
    costUsd: null,
  });
  return true;
}

function update(state: LiveState, run: LiveRun, fact: Exclude<Fact, FactOf<'run.created'>>): boolean {
  switch (fact.type) {
    case 'run.started':
      Object.assign(run, { status: 'running', startedAt: Date.parse(fact.at) });
      return true;
    case 'model.asked':
      Object.assign(run, { status: 'running', turn: fact.data.turn, doing: fact.data.purpose === 'turn' ? 'thinking' : 'wrapping up' });
      return true;
    case 'model.answered':
      run.doing = '';
      spend(state, run, fact.data);
      return true;
    case 'model.failed':
      run.doing = fact.data.again ? `trying again (${fact.data.error.code})` : '';
      if (fact.data.usage) spend(state, run, { usage: fact.data.usage, costUsd: fact.data.costUsd });
      return true;
    case 'tool.asked':
      if (fact.data.rejected !== null) return false;
      run.tools.set(placeOf(fact.data), callText(fact.data.tool, fact.data.arguments));
      return true;
    case 'tool.finished':
      for (const each of fact.data.taint) if (each === 'web' || each === 'mcp') run.taint.add(each);
      return run.tools.delete(placeOf(fact.data));
    case 'approval.asked':
      Object.assign(run, { status: 'waiting', doing: `waits for approval of ${cleanLine(fact.data.tool)}` });
      return true;
    case 'approval.answered':
      Object.assign(run, { status: 'running', doing: '' });
      return true;
    case 'cancel.asked':
      run.doing = 'cancelling';
      return true;
    case 'run.paused':
      Object.assign(run, { status: 'paused', doing: cleanLine(fact.data.reason) });
      return true;
    case 'run.resumed':
      Object.assign(run, { status: 'running', doing: '' });
      return true;
    case 'run.ended':
      end(run, fact.data.outcome);
      return true;
    default:
      return false;
  }
}

function end(run: LiveRun, outcome: Outcome): void {
  run.status = outcome.status;
  run.doing = outcome.error && outcome.status !== 'completed' ? cleanLine(outcome.error.message) : '';
  run.tools.clear();
  run.turn = outcome.turns;
  run.startedAt ??= outcome.startedAt === null ? null : Date.parse(outcome.startedAt);
  run.endedAt = Date.parse(outcome.endedAt);
  run.tokens = outcome.tokens.input + outcome.tokens.output;
  run.costUsd = outcome.costUsd;
}

function spend(
  state: LiveState,
  run: LiveRun,
  { usage, costUsd }: { usage: { input: number; output: number }; costUsd: number | null },
): void {
  for (let at: LiveRun | undefined = run; at; at = at.parentId === null ? undefined : state.runs.get(at.parentId)) {
    at.tokens += usage.input + usage.output;
    if (costUsd !== null) at.costUsd = (at.costUsd ?? 0) + costUsd;
  }
}

export function placeOf(call: { turn: number; index: number }): string {
  return `${call.turn}.${call.index}`;
}

/** A call in a few words: the tool and the argument that says most. */
export function callText(tool: string, input: Json): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return cleanLine(tool);
  if (Array.isArray(input.tasks)) return cleanLine(`${tool} ×${input.tasks.length}`);
  const telling = ['path', 'command', 'pattern', 'url', 'query', 'task', 'id', 'action']
    .map((key) => input[key])
    .find((v) => typeof v === 'string');
  return cleanLine(telling === undefined ? tool : `${tool} ${(telling as string).slice(0, 200)}`);
}
