import { z } from 'zod';
import { Instant } from './ids.ts';
import { EffectiveLimits } from './limits.ts';

export const RuleAction = z.enum(['allow', 'ask', 'deny']);
export type RuleAction = z.infer<typeof RuleAction>;

/** One rule: `deny bash`, `allow bash:git log *`. `tool` may be `*`; in a pattern `*` stands for any characters, `?` for one. */
export const Rule = z.strictObject({
  action: RuleAction,
  tool: z.string().min(1),
  pattern: z.string().nullable(),
  /** Whose rule it is, where a ruleset is put together from several sources. */
  from: z.string().optional(),
});
export type Rule = z.infer<typeof Rule>;

/**
 * Rules that belong together. Inside a ruleset the last match wins. The owner's ruleset must allow a call;
 * every other one says nothing where nothing matches and can only narrow.
 */
export const Ruleset = z.strictObject({
  kind: z.enum(['owner', 'narrowing']),
  owner: z.string(),
  rules: z.array(Rule),
});
export type Ruleset = z.infer<typeof Ruleset>;

/**
 * How a call was decided, by which rule and whose. `rule` is null where the owner's list has no match. `about`: which part of the call it
 * was about, where there are several.
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
  /** No later than this; the run's own deadline is the earlier of this and its start plus `timeoutMs`. */
  notAfter: Instant.nullable(),
  /** Names of the tools that are offered to the model. */
  tools: z.array(z.string()),
});
export type Grant = z.infer<typeof Grant>;
