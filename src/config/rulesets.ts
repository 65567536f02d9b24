// The rulesets of a process: the owner's list (built-in rules, then configured ones), then each narrowing ruleset on its own.
import { RetinueError } from '../contract/error.ts';
import type { Rule, Ruleset } from '../contract/grant.ts';
import { native } from '../dialects/native.ts';
import { nonNativeToolNames } from '../dialects/settings.ts';
import { dialectToolNames } from '../kernel/dialect-tools.ts';
import { builtInRuleset, capabilities, parseRule } from '../rules/policy.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { systemClock } from '../system/clock.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { builtInTools } from '../tools/index.ts';
import type { OwnedRules, Settings } from './settings.ts';
import type { ShellAccess } from './shell-access.ts';

export interface RulesetOptions {
  delegationTools: readonly string[];
  shell: ShellAccess;
  /** Tools that the embedding program brings; allowed unless a rule says otherwise. */
  programTools?: string[];
  ownerRules: OwnedRules[];
  narrowingRules?: OwnedRules[];
}

export function buildRulesets({ delegationTools, shell, programTools = [], ownerRules, narrowingRules = [] }: RulesetOptions): Ruleset[] {
  const builtIn = builtInRuleset(delegationTools, programTools, { sandboxed: shell.sandbox !== null });
  const configured = ownerRules.flatMap(({ owner, rules }): Rule[] => rules.map((rule) => ({ ...parseRule(rule), from: owner })));
  const narrowing = narrowingRules.map(({ owner, rules }): Ruleset => ({ kind: 'narrowing', owner, rules: rules.map(parseRule) }));
  return [{ ...builtIn, rules: [...builtIn.rules, ...configured] }, ...narrowing, ...shell.narrowing];
}

/** The rulesets of the settings. Throws `invalid_rule` for a rule that names no known tool. */
export function settingsRulesets(settings: Settings, delegationTools: readonly string[], shell: ShellAccess): Ruleset[] {
  const { ownerRules, narrowingRules } = settings;
  assertToolNames([...ownerRules, ...narrowingRules], delegationTools);
  return buildRulesets({ delegationTools, shell, ownerRules, narrowingRules });
}

/** A misspelt tool in a deny rule would protect nothing, without any hint. */
function assertToolNames(ruleLists: OwnedRules[], delegationTools: readonly string[]): void {
  const known = [
    ...new Set([...builtInToolNames(), ...capabilities, ...delegationTools, ...dialectToolNames(native), ...nonNativeToolNames]),
  ];
  for (const { owner, rules } of ruleLists)
    for (const text of rules) {
      const { tool } = parseRule(text);
      if (/^mcp__(?!.*__)[^*]*$/.test(tool))
        throw new RetinueError('invalid_rule', `\`${text}\` (${owner}) names no tool; for all tools of this server write \`${tool}__*\``);
      if (!known.includes(tool) && !tool.includes('*') && !tool.startsWith('mcp__'))
        throw new RetinueError('invalid_rule', `\`${text}\` (${owner}): ${unknownNameMessage('tool', tool, known)}`);
    }
}

function builtInToolNames(): string[] {
  return builtInTools({ ...createMemoryNotes(), clock: systemClock, bash: { sandbox: null } }).map((tool) => tool.name);
}
