// What `retinue agents explain` and `retinue policy test` report. Keys are in the order in which they are printed.

import type { AgentParameter } from '../contract/agent-parameter.ts';
import type { Effort } from '../contract/effort.ts';
import type { RuleAction } from '../contract/grant.ts';
import type { JsonObject } from '../contract/json.ts';
import type { LimitName } from '../contract/limits.ts';
import type { ExternalExplanation } from './external-programs.ts';

export type { PolicyVerdict } from '../contract/http.ts';

/** The decision for a call of this tool without arguments. */
export interface ToolVerdict {
  tool: string;
  action: RuleAction;
  /** Null if no rule matches. */
  rule: string | null;
  owner: string;
}

/** What a root run of an agent would get. */
export interface Explanation {
  name: string;
  description: string;
  source: string;
  /** The program whose format the file has; null for a built-in agent. */
  program: string | null;
  model: { value: string | string[] | null; from: string };
  /** How much the model thinks; null: as much as it does by default. */
  effort: { value: Effort; from: string } | null;
  tools: { offered: ToolVerdict[]; leftOut: ToolVerdict[] };
  limits: Record<LimitName, { value: number | null; from: string }>;
  /** The owner's ruleset first; the others can only narrow it. */
  rulesets: { kind: 'owner' | 'narrowing'; owner: string; scope?: 'own' | 'children'; rules: { rule: string; from: string }[] }[];
  workspaceRules: boolean;
  /** `worktree`: each of its runs works on its own copy of the files. Null: on those of the workspace. */
  isolation: 'worktree' | null;
  parameters: AgentParameter[];
  /** Commands that decide whether a run is done. */
  checks: string[];
  resultSchema: JsonObject | null;
  /** Skills that it may load. */
  skills: { name: string; source: string }[];
  /** For an agent that an external program carries out: whether the program can be started, and who keeps each promise. */
  external?: ExternalExplanation;
  /** Parts of its file without effect, and why. */
  leftOut: { what: string; why: string }[];
  /** Other definitions of this name. `by`: what is used instead of each. */
  hides: { source: string; by: string }[];
  warnings: string[];
  prompt: string;
}
