// What each run of a tree is doing, folded from events for the live display. Knows neither clock nor terminal.
import type { Delta } from '../contract/delta.ts';
import type { Fact, FactData, FactOf, Purpose } from '../contract/fact.ts';
import type { RecordedOutcome } from '../contract/outcome.ts';
import type { LiveRun, TreeSnapshot } from '../contract/view.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { callKey, describeCall } from './describe-call.ts';
import { applyToSteps, nameSleep } from './live-steps.ts';

export interface LiveState {
  runs: Map<string, LiveRun>;
  roots: string[];
}

export function createLiveState(): LiveState {
  return { runs: new Map(), roots: [] };
}

/** The state after a snapshot; the events after its position bring it up to date. The runs of the snapshot become part of the state. */
export function snapshotToState({ runs }: Pick<TreeSnapshot, 'runs'>): LiveState {
  return { runs: new Map(runs.map((run) => [run.id, run])), roots: runs.filter((run) => run.parentId === null).map((run) => run.id) };
}

/** Parents before their children, children in the order of their creation. */
export function listDepthFirst(state: LiveState): LiveRun[] {
  const runs: LiveRun[] = [];
  const open = state.roots.toReversed();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const run = state.runs.get(id) as LiveRun;
    runs.push(run);
    for (let i = run.children.length - 1; i >= 0; i--) open.push(run.children[i] as string);
  }
  return runs;
}

/** Whether a line may look different now. Changes the state in place: trees can have thousands of runs. */
export function applyEvent(state: LiveState, event: Fact | Delta): boolean {
  if (event.type === 'run.created') return addRun(state, event);
  const run = state.runs.get(event.runId);
  if (!run || run.endedAt !== null) return false;
  if (event.type === 'delta') {
    const activity = event.kind === 'text' ? 'writing' : 'thinking';
    if (run.activity === activity) return false;
    run.activity = activity;
    return true;
  }
  const hasStepChanged = applyToSteps(run, event);
  return applyFact(state, run, event) || hasStepChanged;
}

/** Applies an outcome whose event may have been missed. */
export function applyOutcome(state: LiveState, outcome: RecordedOutcome): void {
  const run = state.runs.get(outcome.runId);
  if (run) endRun(run, outcome);
}

function addRun(state: LiveState, { runId, at, data }: FactOf<'run.created'>): boolean {
  if (state.runs.has(runId)) return false;
  const parent = data.parentId === null ? undefined : state.runs.get(data.parentId);
  if (parent) parent.children.push(runId);
  else state.roots.push(runId);
  state.runs.set(runId, {
    id: runId,
    parentId: parent?.id ?? null,
    depth: parent ? parent.depth + 1 : 0,
    kind: data.kind,
    name: sanitizeLine(data.brief.label ?? data.agent ?? data.kind),
    agent: data.agent,
    model: data.model,
    task: sanitizeLine(data.brief.task.slice(0, 1000).split('\n', 1)[0] as string),
    status: 'queued',
    turn: 0,
    maxTurns: data.grant.limits.maxTurns?.value ?? null,
    activity: '',
    tools: [],
    questions: 0,
    children: [],
    createdAt: Date.parse(at),
    startedAt: null,
    endedAt: null,
    deadline: null,
    tokens: 0,
    costUsd: null,
    problems: { failed: 0, denied: 0 },
    verified: null,
    taint: [],
    resumesItself: false,
  });
  return true;
}

const activities: Record<Purpose, string> = { turn: 'thinking', 'wrap-up': 'wrapping up', summary: 'wrapping up', compact: 'compacting' };

function applyFact(state: LiveState, run: LiveRun, fact: Exclude<Fact, FactOf<'run.created'>>): boolean {
  switch (fact.type) {
    case 'run.started':
      Object.assign(run, {
        status: 'running',
        startedAt: Date.parse(fact.at),
        model: fact.data.model ?? run.model,
        deadline: fact.data.deadline === null ? null : Date.parse(fact.data.deadline),
      });
      return true;
    case 'model.asked':
      Object.assign(run, { status: 'running', turn: fact.data.turn, activity: activities[fact.data.purpose] });
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
      run.tools.push({ call: callKey(fact.data), text: describeCall(fact.data.tool, fact.data.arguments) });
      return true;
    case 'tool.finished':
      if (fact.data.status === 'denied') run.problems.denied++;
      else if (fact.data.status !== 'ok' && fact.data.status !== 'cancelled') run.problems.failed++;
      for (const each of fact.data.taint) if ((each === 'web' || each === 'mcp') && !run.taint.includes(each)) run.taint.push(each);
      run.tools = run.tools.filter(({ call }) => call !== callKey(fact.data));
      return true;
    case 'check.started':
      run.activity = sanitizeLine(fact.data.agent === undefined ? `checking: ${fact.data.command}` : `review by ${fact.data.agent}`);
      return true;
    case 'check.finished':
      run.activity = `check ${fact.data.status}`;
      return true;
    case 'step.started':
      if (fact.data.kind !== 'step' && fact.data.kind !== 'sleep') return false;
      run.tools.push({ call: `step ${fact.data.step}`, text: sanitizeLine(openStepText(fact.data)) });
      return true;
    case 'step.finished':
      if (fact.data.status !== 'ok') run.problems.failed++;
      run.tools = run.tools.filter(({ call }) => call !== `step ${fact.data.step}`);
      return true;
    case 'approval.asked':
      run.questions++;
      Object.assign(run, { status: 'waiting', activity: questionText(run, describeCall(fact.data.tool, fact.data.arguments)) });
      return true;
    case 'approval.answered':
      run.questions = Math.max(0, run.questions - 1);
      if (run.questions === 0) Object.assign(run, { status: 'running', activity: '' });
      return true;
    case 'cancel.asked':
      run.activity = 'cancelling';
      return true;
    case 'run.paused':
      Object.assign(run, { status: 'paused', activity: sanitizeLine(fact.data.reason), resumesItself: fact.data.resumeAt !== null });
      // Its end moves by the length of the pause, which is not known yet.
      if (fact.data.budget !== undefined) run.deadline = null;
      return true;
    case 'run.resumed':
      // Calls that waited for approval still wait.
      if (run.questions > 0) Object.assign(run, { status: 'waiting', activity: questionText(run, describeOpenCall(run)) });
      else Object.assign(run, { status: 'running', activity: '' });
      return true;
    case 'run.ended':
      endRun(run, fact.data.outcome);
      return true;
    default:
      return false;
  }
}

function openStepText({ kind, name }: FactData['step.started']): string {
  return kind === 'sleep' ? nameSleep(name) : `${kind} ${name}`;
}

/** A flow asks in its own words; a call of a model needs approval. */
function questionText({ kind, steps = [] }: LiveRun, call: string): string {
  const question = steps.find((step) => step.kind === 'ask' && step.endedAt === null);
  return kind === 'flow' && question ? `asks: ${question.name}` : `approve? ${call}`;
}

/** The call that waits for approval. */
function describeOpenCall({ tools }: LiveRun): string {
  return tools[0]?.text ?? 'a call';
}

function endRun(run: LiveRun, outcome: RecordedOutcome): void {
  run.status = outcome.status;
  run.activity = outcome.error && outcome.status !== 'completed' ? sanitizeLine(outcome.error.message) : '';
  run.tools = [];
  run.questions = 0;
  run.turn = outcome.turns;
  run.verified = outcome.verified ?? null;
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
