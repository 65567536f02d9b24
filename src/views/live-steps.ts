// The steps of a flow in the tree of its runs. A delegation is its run; every other step is a row of its own. Pure.
import type { Fact } from '../contract/fact.ts';
import type { LiveRun, LiveStep } from '../contract/view.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { formatDuration, formatInstant, formatPlural } from './format.ts';

/** Finished steps beyond this are forgotten, oldest first; delegations stay. */
const maxSteps = 1_000;

/** Whether a row may look different now. Changes the run in place. */
export function applyToSteps(run: LiveRun, fact: Fact): boolean {
  if (run.kind !== 'flow') return false;
  run.steps ??= [];
  const { steps } = run;
  const at = Date.parse(fact.at);
  switch (fact.type) {
    case 'step.started': {
      const { step, kind, name, at: line } = fact.data;
      if (kind === 'log') return false;
      const status = kind === 'ask' || kind === 'sleep' ? 'waiting' : 'running';
      const texts = { name: sanitizeLine(kind === 'sleep' ? nameSleep(name) : name), at: sanitizeLine(line) };
      const until = fact.data.until === undefined ? {} : { until: Date.parse(fact.data.until) };
      steps.push({ step, kind, ...texts, status, problem: '', childId: null, startedAt: at, ...until, endedAt: null });
      if (steps.length > maxSteps) forgetOldest(steps);
      return true;
    }
    case 'step.finished': {
      const { step, status, error } = fact.data;
      const problem = status === 'unknown' ? 'cut off, result unknown' : sanitizeLine(error?.message ?? '');
      return endStep(steps, step, at, status === 'ok' ? '' : problem || 'failed');
    }
    case 'approval.answered':
      return endStep(steps, fact.data.turn, at, fact.data.allowed ? '' : `refused by ${sanitizeLine(fact.data.by)}`);
    case 'child.created': {
      const step = steps.find((each) => each.step === fact.data.call?.turn);
      if (step) step.childId = fact.data.childId;
      return step !== undefined;
    }
    case 'child.ended': {
      const step = steps.find(({ childId }) => childId === fact.data.childId);
      const { success, status } = fact.data.outcome;
      return step ? endStep(steps, step.step, at, success ? '' : status) : false;
    }
    case 'run.ended':
      for (const { step, endedAt } of steps) if (endedAt === null) endStep(steps, step, at, 'the flow ended before it');
      return true;
    default:
      return false;
  }
}

/** `sleep 1h00m` for what the kernel records as `3600000 ms`. */
export function nameSleep(name: string): string {
  const ms = /^(\d+) ms$/.exec(name)?.[1];
  return `sleep ${ms === undefined ? name : formatDuration(Number(ms))}`;
}

function endStep(steps: LiveStep[], number: number, at: number, problem: string): boolean {
  const step = steps.find((each) => each.step === number);
  if (!step || step.endedAt !== null) return false;
  Object.assign(step, { status: problem === '' ? 'completed' : 'failed', problem, endedAt: at });
  return true;
}

function forgetOldest(steps: LiveStep[]): void {
  const index = steps.findIndex(({ kind, endedAt }) => kind !== 'delegate' && endedAt !== null);
  if (index >= 0) steps.splice(index, 1);
}

/** What is below a run, in order: runs by their id, and steps of a flow that are no runs. */
export function listBelow(run: LiveRun): (string | LiveStep)[] {
  if (!run.steps) return run.children;
  const shown = run.steps.map((step) => step.childId ?? step);
  const known = new Set(shown);
  return [
    ...shown.filter((each) => typeof each !== 'string' || run.children.includes(each)),
    ...run.children.filter((id) => !known.has(id)),
  ];
}

/** So many completed steps in a row become one row that unfolds. */
const minGroup = 4;

/** What is below a run as rows: completed steps that follow each other are one group. Delegations and steps that failed stay rows of their own. */
export function groupBelow(run: LiveRun): (string | LiveStep | LiveStep[])[] {
  const grouped: (string | LiveStep | LiveStep[])[] = [];
  let group: LiveStep[] = [];
  const close = () => {
    grouped.push(...(group.length < minGroup ? group : [group]));
    group = [];
  };
  for (const each of listBelow(run)) {
    if (typeof each !== 'string' && each.status === 'completed') group.push(each);
    else {
      close();
      grouped.push(each);
    }
  }
  close();
  return grouped;
}

/** A group of completed steps as a run. Its id stays the same while steps are added. */
export function groupToRun(flow: LiveRun, steps: LiveStep[]): LiveRun {
  const [first, last] = [steps[0] as LiveStep, steps.at(-1) as LiveStep];
  const name = formatPlural(steps.length, 'step');
  return { ...stepToRun(flow, first), id: `${flow.id}:${first.step}+`, name, agent: 'steps', endedAt: last.endedAt };
}

/** A step as a run, for the rows of a tree. Its id is that of no run. */
export function stepToRun(flow: LiveRun, step: LiveStep): LiveRun {
  const { kind, name, status, problem, startedAt, endedAt } = step;
  return {
    ...flow,
    id: `${flow.id}:${step.step}`,
    parentId: flow.id,
    depth: flow.depth + 1,
    name,
    agent: kind,
    task: '',
    status,
    activity: problem || (endedAt === null ? describeOpenStep(step) : ''),
    tools: [],
    questions: kind === 'ask' && endedAt === null ? 1 : 0,
    children: [],
    createdAt: startedAt,
    startedAt,
    endedAt,
    deadline: null,
    tokens: 0,
    costUsd: null,
    problems: { failed: 0, denied: 0 },
    verified: null,
    taint: [],
    steps: [],
  };
}

/** What an open step does or waits for, and the line of the program. */
function describeOpenStep({ kind, at, startedAt, until }: LiveStep): string {
  if (kind === 'ask') return `waits for an answer · ${at}`;
  if (kind !== 'sleep' || until === undefined) return `running · ${at}`;
  return `until ${formatInstant(new Date(until).toISOString(), startedAt)} · ${at}`;
}
