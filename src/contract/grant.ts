import { z } from 'zod';
import { Instant } from './ids.ts';
import { EffectiveLimits } from './limits.ts';

export const RuleAction = z.enum(['allow', 'ask', 'deny']);
export type RuleAction = z.infer<typeof RuleAction>;

/**
 * One rule, such as `deny bash` or `allow bash:git log *`. A tool name may be or end in `*`. In a pattern, `*` matches any characters and `?`
 * exactly one.
 */
export const Rule = z.strictObject({
  action: RuleAction,
  tool: z.string().min(1),
  pattern: z.string().nullable(),
  /** Where the rule comes from, in a ruleset with several sources. */
  from: z.string().optional(),
});
export type Rule = z.infer<typeof Rule>;

/**
 * A list of rules that is evaluated as one: the last match wins. An `owner` ruleset must allow a call. A `narrowing` ruleset can only take
 * rights away: without a match it has no effect.
 */
export const Ruleset = z.strictObject({
  kind: z.enum(['owner', 'narrowing']),
  owner: z.string(),
  rules: z.array(Rule),
  /** `own`: for the run itself, not for its descendants. `children`: for its descendants only. Absent: for both. */
  scope: z.enum(['own', 'children']).optional(),
});
export type Ruleset = z.infer<typeof Ruleset>;

/**
 * The decision about a call, with the rule and its owner. `rule` is null if no rule of the owner matches. `about`: the subject it was
 * decided for, if the call has several.
 */
export const Decision = z.strictObject({
  action: RuleAction,
  rule: z.string().nullable(),
  owner: z.string(),
  about: z.string().optional(),
});
export type Decision = z.infer<typeof Decision>;

/** What a run may do. A child's grant is never wider than its parent's. */
export const Grant = z.strictObject({
  workspace: z.string(),
  rulesets: z.array(Ruleset),
  limits: EffectiveLimits,
  /** The latest possible deadline. The run's deadline is this or its start plus `timeoutMs`, whichever is earlier. */
  notAfter: Instant.nullable(),
  /** Names of the tools offered to the model. */
  tools: z.array(z.string()),
  /** Shared budgets that the run draws from for itself and everything below it, besides those of its ancestors. Since version 4 of `run.created`. */
  budgets: z.array(z.string()).optional(),
});
export type Grant = z.infer<typeof Grant>;
