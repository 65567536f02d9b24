// What `retinue agents explain` and `retinue policy test` report. Keys are in the order in which they are printed.
import type { RuleAction } from '../contract/grant.ts';
import type { LimitName } from '../contract/limits.ts';

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
  model: { value: string | string[] | null; from: string };
  tools: { offered: ToolVerdict[]; leftOut: ToolVerdict[] };
  limits: Record<LimitName, { value: number | null; from: string }>;
  /** The owner's ruleset first; the others can only narrow it. */
  rulesets: { kind: 'owner' | 'narrowing'; owner: string; scope?: 'own' | 'children'; rules: { rule: string; from: string }[] }[];
  workspaceRules: boolean;
  warnings: string[];
  prompt: string;
}
