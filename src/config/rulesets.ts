// The rulesets of a process: the owner's list (built-in rules, then configured ones), then each narrowing ruleset on its own.
import { builtInToolNames } from '../agents/tool-lists.ts';
import { RetinueError } from '../contract/error.ts';
import type { Rule, Ruleset } from '../contract/grant.ts';
import { native } from '../dialects/native.ts';
import { nonNativeToolNames } from '../dialects/settings.ts';
import { dialectToolNames } from '../kernel/delegation/dialect-tools.ts';
import { builtInRuleset, capabilities, parseRule } from '../rules/policy.ts';
import { clipName, unknownNameMessage } from '../text/suggest.ts';
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

/** Throws `invalid_rule`. */
export function assertToolNames(ruleLists: OwnedRules[], delegationTools: readonly string[]): void {
  for (const { owner, rules } of ruleLists) checkRules(rules, owner, delegationTools);
}

/**
 * Throws `invalid_rule` for a rule that names no tool: misspelt in a deny rule, it would protect nothing, without any hint. `owner`: where the rules
 * are. `more`: tools besides the built-in ones and those of dialects.
 */
export function checkRules(rules: readonly string[], owner: string, more: Iterable<string>): void {
  if (rules.length === 0) return;
  const own = new Set(more);
  for (const [i, text] of rules.entries()) checkRule(text, owner === commandLineOwner ? owner : `${owner}, rules.${i}`, own);
}

/** The same for one rule. */
export function checkRule(text: string, where: string, own: ReadonlySet<string> = new Set()): void {
  const { tool } = parseRule(text);
  const refuse = (why: string) => new RetinueError('invalid_rule', `\`${clipName(text)}\` (${where})${why}`);
  if (/^mcp__(?!.*__)[^*]*$/.test(tool)) throw refuse(` names no tool; for all tools of this server write \`${clipName(tool)}__*\``);
  if (tool.includes('*') || openPrefixes.some((prefix) => tool.startsWith(prefix))) return;
  commonNames ??= new Set([...builtInToolNames, ...capabilities, ...dialectToolNames(native), ...nonNativeToolNames]);
  if (!commonNames.has(tool) && !own.has(tool))
    throw refuse(`: ${unknownNameMessage('tool', tool, [...new Set([...commonNames, ...own])])}`);
}

/** `acp__`: tools of external agents that have no counterpart here. Tools of MCP servers are known only when a run starts. */
const openPrefixes = ['mcp__', 'acp__'];

/** Names that rules may use, whichever tools a run has. */
let commonNames: ReadonlySet<string> | undefined;
