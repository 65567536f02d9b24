// What a run may do now: its own rules and approvals, and those of its ancestors.
import type { Ruleset } from '../contract/grant.ts';
import type { AlwaysAllowed } from '../conversation/tool-calls.ts';
import type { Run } from './run.ts';

/** The rulesets of the run and all its ancestors, as they are now. All of them must allow a call (invariant 4). */
export function collectRulesets(run: Run): Ruleset[] {
  return [...(run.parent ? collectChildRulesets(run.parent) : []), ...listOwnRulesets(run).filter(({ scope }) => scope !== 'children')];
}

/** The rulesets that a run and its ancestors pass on to its children. */
export function collectChildRulesets(run: Run): Ruleset[] {
  return [...(run.parent ? collectChildRulesets(run.parent) : []), ...listOwnRulesets(run).filter(({ scope }) => scope !== 'own')];
}

function listOwnRulesets({ grant, state }: Run): Ruleset[] {
  return [...grant.rulesets, ...state.rights.narrowed];
}

/** Calls approved for good in this run or an ancestor. */
export function collectAlwaysAllowed(run: Run): AlwaysAllowed[] {
  return [...(run.parent ? collectAlwaysAllowed(run.parent) : []), ...run.state.rights.always];
}
