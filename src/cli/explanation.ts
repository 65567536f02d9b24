import type { Decision, RuleAction } from '../contract/grant.ts';
import type { LimitName } from '../contract/limits.ts';

/** How a call of the tool without any particulars would be decided, by which rule and whose. */
export interface ToolVerdict {
  tool: string;
  action: RuleAction;
  /** Null where no rule speaks about it. */
  rule: string | null;
  owner: string;
}

/** What a run of an agent as a root would get. Keys in the order in which they are printed. */
export interface Explanation {
  name: string;
  description: string;
  source: string;
  model: { value: string | string[] | null; from: string };
  tools: { offered: ToolVerdict[]; leftOut: ToolVerdict[] };
  limits: Record<LimitName, { value: number | null; from: string }>;
  /** The owner's list first; each other one can only narrow. */
  rulesets: { kind: 'owner' | 'narrowing'; owner: string; rules: { rule: string; from: string }[] }[];
  workspaceRules: boolean;
  warnings: string[];
  prompt: string;
}

/** How a call would be decided, and each thing that rules were asked about. Keys in the order in which they are printed. */
export interface PolicyVerdict extends Decision {
  call: string;
  tool: string;
  agent: string;
  /** Whether the agent gets the tool at all. */
  offered: boolean;
  /** Why no rule was asked: the call cannot be read. */
  refused?: string;
  parts: (Decision & { subject: string; unsafe?: string; alias?: true })[];
}
