// What the demos show.
import type { LimitsGiven } from '../contract/limits.ts';
import type { MachineSummary } from '../doctor/machine.ts';

/** A demo that is one run. */
export interface Demo {
  about: string;
  task: string;
  workspace: string;
  model: string;
  /** Null: the database of the workspace. */
  db: string | null;
  /** How the user calls this program, for the hints at the end. */
  program: string;
  /** What the machine offers for a real run. */
  inspectMachine(): Promise<MachineSummary>;
}

/** A demo of rights and limits: a prepared workspace and the briefs that run in it, one after the other. */
export interface RightsDemo extends Pick<Demo, 'about' | 'workspace' | 'model'> {
  db: string;
  rules: string[];
  limits: LimitsGiven;
  briefs: { task: string; agent: string }[];
}

/** A demo of writers in worktrees: a prepared workspace and one task. */
export interface MergeDemo extends Pick<Demo, 'about' | 'task' | 'workspace' | 'model'> {
  db: string;
}

/** Counts of a tree that was killed halfway and resumed. */
export interface CrashDemo {
  db: string;
  runs: number;
  openAtKill: number;
  completed: number;
  /** `asked`: requests that the model received. `repeated`: requests made again although their answer was in the log. */
  model: { asked: number; answered: number; openAtKill: number; repeated: number };
  /** `repeated`: calls that took effect more than once. */
  tools: { finished: number; unknown: number; repeated: number };
  facts: number;
  /** Violated invariants of the log. */
  faults: string[];
}

/** Counts of one long run on a model with a small window. */
export interface LongDemo {
  db: string;
  status: string;
  turns: number;
  window: number;
  /** Tokens of the largest request. */
  largest: number;
  compactions: number;
  tokens: { input: number; output: number; cached: number };
  costUsd: number | null;
  maxCostUsd: number;
  answer: string;
  /** Whether the answer has what the first turn read. */
  isRemembered: boolean;
  facts: number;
  faults: string[];
}

/** Counts of a tree whose worker was killed, and that another worker took over. */
export interface ClusterDemo extends Omit<CrashDemo, 'db' | 'model'> {
  /** Names of the workers that drove the tree, in order. */
  workers: string[];
  /** From the kill to the first event of the other worker. */
  takeoverMs: number;
  model: Omit<CrashDemo['model'], 'openAtKill'>;
}
