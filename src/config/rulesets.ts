// The rulesets of a process: the owner's list (built-in rules, then configured ones), then each narrowing ruleset on its own.
import { RetinueError } from '../contract/error.ts';
import type { Rule, Ruleset } from '../contract/grant.ts';
import { native } from '../dialects/native.ts';
import { nonNativeToolNames } from '../dialects/settings.ts';
import { dialectToolNames } from '../kernel/delegation/dialect-tools.ts';
import { builtInRuleset, capabilities, parseRule } from '../rules/policy.ts';
import { createMemoryNotes } from '../stores/notes-memory.ts';
import { systemClock } from '../system/clock.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { builtInTools, skillToolName } from '../tools/index.ts';
import { type AnchorOptions, anchorRule } from './anchor-rules.ts';
import { commandLineOwner, type OwnedRules, type Settings } from './settings.ts';
import type { ShellAccess } from './shell-access.ts';
import type { Env } from './user-folders.ts';

export interface RulesetOptions {
  delegationTools: readonly string[];
  shell: ShellAccess;
  /** Tools that the embedding program brings; allowed unless a rule says otherwise. */
  programTools?: string[];
  /** The workspace of the rules' paths, and the environment that says where `~` is. */
  anchor: AnchorOptions;
  ownerRules: OwnedRules[];
  narrowingRules?: OwnedRules[];
}

export function buildRulesets(options: RulesetOptions): Ruleset[] {
  const { delegationTools, shell, programTools = [], anchor, ownerRules, narrowingRules = [] } = options;
  const builtIn = builtInRuleset(delegationTools, programTools, { sandboxed: shell.sandbox !== null });
  const configured = ownerRules.flatMap((list) => toOwnerRules(list, anchor));
  const narrowing = narrowingRules.map(({ owner, rules }): Ruleset => ({ kind: 'narrowing', owner, rules: toRules(rules, anchor) }));
  return [{ ...builtIn, rules: [...builtIn.rules, ...configured] }, ...narrowing, ...shell.narrowing];
}

function toOwnerRules({ owner, rules }: OwnedRules, anchor: AnchorOptions): Rule[] {
  return toRules(rules, anchor).map((rule) => ({ ...rule, from: owner }));
}

function toRules(texts: string[], anchor: AnchorOptions): Rule[] {
  return texts.flatMap((text) => anchorRule(parseRule(text), anchor));
}

/** The rules of the command line among those of `settingsRulesets`. */
export function commandLineRules({ workspace, ownerRules }: Pick<Settings, 'workspace' | 'ownerRules'>, env: Env): Rule[] {
  return ownerRules.filter(({ owner }) => owner === commandLineOwner).flatMap((list) => toOwnerRules(list, { workspace, env }));
}

/** The rulesets of the settings. Throws `invalid_rule` for a rule that names no known tool. */
export function settingsRulesets(
  settings: Settings,
  { delegationTools, shell, env }: Pick<RulesetOptions, 'delegationTools' | 'shell'> & { env: Env },
): Ruleset[] {
  const { workspace, ownerRules, narrowingRules } = settings;
  assertToolNames([...ownerRules, ...narrowingRules], delegationTools);
  return buildRulesets({ delegationTools, shell, anchor: { workspace, env }, ownerRules, narrowingRules });
}

/** Throws `invalid_rule`. A misspelt tool in a deny rule would protect nothing, without any hint. */
export function assertToolNames(ruleLists: OwnedRules[], delegationTools: readonly string[]): void {
  const known = [
    ...new Set([...builtInToolNames(), ...capabilities, ...delegationTools, ...dialectToolNames(native), ...nonNativeToolNames]),
  ];
  for (const { owner, rules } of ruleLists)
    for (const [index, text] of rules.entries()) {
      const { tool } = parseRule(text);
      const where = owner === commandLineOwner ? owner : `${owner}, rules.${index}`;
      if (/^mcp__(?!.*__)[^*]*$/.test(tool))
        throw new RetinueError('invalid_rule', `\`${text}\` (${where}) names no tool; for all tools of this server write \`${tool}__*\``);
      if (!known.includes(tool) && !tool.includes('*') && !tool.startsWith('mcp__'))
        throw new RetinueError('invalid_rule', `\`${text}\` (${where}): ${unknownNameMessage('tool', tool, known)}`);
    }
}

export function builtInToolNames(): string[] {
  const tools = builtInTools({ ...createMemoryNotes(), clock: systemClock, bash: { sandbox: null } });
  return [...tools.map((tool) => tool.name), skillToolName];
}
