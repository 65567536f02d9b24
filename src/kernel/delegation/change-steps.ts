// Which states files had, from the recorded steps of runs. Pure.
import { type ChangeSet, type ChangeStep, isSameState, type PathChange } from '../../contract/change-set.ts';

/** One change of one path by one run. */
export interface RunPathChange {
  runId: string;
  change: PathChange;
}

/** The steps of a plan as one set: from the first state of each path to the last. Each step of a plan begins with the state that the one before it left. */
export function joinSteps(steps: readonly ChangeStep[]): ChangeSet {
  const joined = new Map<string, PathChange>();
  for (const change of steps.flatMap(({ changes }) => changes)) {
    const known = joined.get(change.path);
    joined.set(change.path, known ? { ...known, after: change.after } : change);
  }
  return { v: 1, changes: [...joined.values()].filter(({ before, after }) => !isSameState(before, after)) };
}

export function invertChanges({ changes }: ChangeSet): ChangeSet {
  return { v: 1, changes: changes.map(({ path, before, after }) => ({ path, before: after, after: before })) };
}

export interface Reversal {
  /** What takes the steps back: the newest step first. */
  steps: ChangeStep[];
  /** Paths that something else changed between the steps. They are taken back only to the state that it left. */
  interrupted: string[];
}

/**
 * How the steps are taken back. Steps of a path that follow on each other are taken back together. Where the state before a step is not the one that the
 * last step left, a person or another run has changed the file: nothing before that is taken back.
 */
export function reverseSteps(steps: readonly RunPathChange[]): Reversal {
  const reversed: ChangeStep[] = [];
  const interrupted: string[] = [];
  const chains = [...Map.groupBy(steps, ({ change }) => change.path)].map(([path, own]) => ({ path, chains: groupIntoChains(own) }));
  const last = new Set<RunPathChange>();
  for (const { path, chains: found } of chains) {
    for (const step of found.at(-1) ?? []) last.add(step);
    if (found.length > 1) interrupted.push(path);
  }
  for (const step of steps.toReversed()) {
    if (!last.has(step)) continue;
    const { runId, change } = step;
    const inverse: PathChange = { path: change.path, before: change.after, after: change.before };
    const newest = reversed.at(-1);
    if (newest?.runId === runId) newest.changes.push(inverse);
    else reversed.push({ runId, changes: [inverse] });
  }
  return { steps: reversed, interrupted };
}

/** Groups of steps that follow on each other, without those that led back to where they began. */
function groupIntoChains(steps: readonly RunPathChange[]): RunPathChange[][] {
  const chains: RunPathChange[][] = [];
  for (const step of steps) {
    const newest = chains.at(-1);
    if (newest && isSameState(newest.at(-1)?.change.after ?? null, step.change.before)) newest.push(step);
    else chains.push([step]);
    const chain = chains.at(-1) as RunPathChange[];
    if (isSameState(chain[0]?.change.before ?? null, step.change.after)) chains.pop();
  }
  return chains;
}
