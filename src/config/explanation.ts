// What `retinue agents explain` and `retinue policy test` report. Keys are in the order in which they are printed.
import type { Decision, RuleAction } from '../contract/grant.ts';
import type { LimitName } from '../contract/limits.ts';

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

/** The decision for one call, and for each of its subjects. */
export interface PolicyVerdict extends Decision {
  call: string;
  tool: string;
  agent: string;
  /** Whether the agent gets the tool at all. */
  offered: boolean;
  /** Why the call is refused whatever the rules say: it cannot be analysed, or its path is outside, closed or protected. */
  refused?: string;
  /** What else decides what would happen: the sandbox, or that there is none. */
  notes: string[];
  parts: (Decision & { subject: string; unsafe?: string; alias?: true })[];
}
