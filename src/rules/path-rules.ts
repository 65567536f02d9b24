// Rules about paths. A rule such as `deny read:.env` is about the path, whichever tool would read it.
//
//  1. `read:PATTERN` covers every file tool; `write:PATTERN` and `edit:PATTERN` both cover writing and editing. A rule that denies or asks about
//     a folder covers what is in it.
//  2. Without a pattern, `read` also covers `grep`, and `write` also covers `edit`. The reverse is not true.
//  3. Such a rule can only take away: it counts after the last rule that allows the tool itself, as one of the same ruleset.
//  4. Commands cannot ask for approval of single paths, so for them a path whose rule asks is closed. A rule that asks about every path, such as
//     `ask write`, is about the tool: commands have a rule of their own (`ask bash`).
import type { ClosedPaths, PathRule } from '../contract/closed-paths.ts';
import type { Rule, Ruleset } from '../contract/grant.ts';
import { coversPath } from '../text/closed-paths.ts';
import { askedFiles } from './asked-files.ts';
import { nameCovers, ruleMatches } from './rule.ts';

type Effect = 'read' | 'write' | 'edit';

/** The effects that each file tool has besides its own name. `whole`: rules without a pattern count too. */
const effects: Record<string, { effect: Effect; whole: boolean }[]> = {
  grep: [{ effect: 'read', whole: true }],
  list: [{ effect: 'read', whole: false }],
  glob: [{ effect: 'read', whole: false }],
  edit: [
    { effect: 'write', whole: true },
    { effect: 'read', whole: false },
  ],
  write: [
    { effect: 'edit', whole: false },
    { effect: 'read', whole: false },
  ],
};
const fileTools = new Set(['read', ...Object.keys(effects)]);

/**
 * Whether a rule is about an effect and not only about the tool of that name. `deny *` without a pattern belongs to a list of tools: an agent that has
 * `edit` but not `write` may edit.
 */
function isPathRule({ action, tool, pattern }: Rule, effect: Effect): boolean {
  return nameCovers(tool, effect) && (action === 'allow' || tool === effect || pattern !== null);
}

/** The last rule of a ruleset that matches a subject of a tool by the tool's name. */
export function findOwnRule(rules: readonly Rule[], tool: string, subject: string | null): Rule | undefined {
  return rules.findLast((rule) => matchesSubject(rule, tool, subject));
}

/** Like `ruleMatches`; for file tools, a rule that takes away also matches what is in a folder. */
export function matchesSubject(rule: Rule, tool: string, subject: string | null): boolean {
  return fileTools.has(tool) ? pathRuleMatches(rule, tool, subject) : ruleMatches(rule, tool, subject);
}

/** Rules about other effects of a tool that deny or ask. Those before `own`, the rule about the tool itself, do not count. */
export function findEffectRules(
  rules: readonly Rule[],
  tool: string,
  { subject, own }: { subject: string | null; own: Rule | undefined },
): Rule[] {
  const from = own === undefined ? -1 : rules.lastIndexOf(own);
  return (effects[tool] ?? []).flatMap(({ effect, whole }) => {
    const at = rules.findLastIndex((rule) => isEffectRule(rule, effect, whole) && pathRuleMatches(rule, effect, subject));
    const rule = rules[at];
    return rule !== undefined && at > from && rule.action !== 'allow' ? [rule] : [];
  });
}

/** Whether rules about an effect deny every call of a tool. */
export function deniesEveryEffect(rules: readonly Rule[], tool: string): boolean {
  const own = rules.findLastIndex((rule) => rule.action !== 'deny' && nameCovers(rule.tool, tool));
  return (effects[tool] ?? []).some(({ effect, whole }) => {
    const at = rules.findLastIndex((rule) => isEffectRule(rule, effect, whole) && (rule.action !== 'deny' || rule.pattern === null));
    return at > own && rules[at]?.action === 'deny';
  });
}

/** The paths that commands of a run may not read or write. They cannot be asked about, so a path with a rule that asks is closed too. */
export function collectClosedPaths(rulesets: readonly Ruleset[]): ClosedPaths {
  return {
    read: rulesets.flatMap((ruleset) => trimOpen(listReadRules(ruleset))),
    write: rulesets.flatMap((ruleset) => trimOpen(listWriteRules(ruleset))),
  };
}

function listReadRules({ kind, rules }: Ruleset): PathRule[] {
  return rules.filter((rule) => isPathRule(rule, 'read')).map((rule) => toPathRule(rule, kind));
}

/** Commands may write what one of the writing tools may write. If editing is not allowed as a whole, a list of tools counts as well. */
function listWriteRules({ kind, rules }: Ruleset): PathRule[] {
  const whole = rules.findLast((rule) => rule.pattern === null && nameCovers(rule.tool, 'edit'));
  const canEdit = whole === undefined ? kind === 'narrowing' : whole.action === 'allow';
  const isEdit = (rule: Rule) => rule.action !== 'allow' && isEffectRule(rule, 'edit', false);
  const counted = rules.filter((rule) => isPathRule(rule, 'write') || isEdit(rule) || (!canEdit && nameCovers(rule.tool, 'write')));
  const unmatched: PathRule[] = kind === 'owner' && !canEdit ? [{ closed: true, pattern: null }] : [];
  return [...unmatched, ...counted.map((rule) => toPathRule(rule, kind))];
}

function toPathRule({ action, pattern, from }: Rule, kind: Ruleset['kind']): PathRule {
  const isBuiltIn = kind === 'owner' && from === undefined && askedFiles.some(({ path }) => path === pattern);
  return { closed: action === 'deny' || (action === 'ask' && pattern !== null), pattern, ...(isBuiltIn && { builtIn: true }) };
}

/** Without the rules that change nothing: none, or the list from the last rule that decides about every path. */
function trimOpen(list: PathRule[]): PathRule[][] {
  const whole = list.findLastIndex(({ pattern }) => pattern === null);
  const rest = list.slice(list[whole]?.closed ? whole : whole + 1);
  const first = rest.findIndex(({ closed }) => closed);
  return first === -1 ? [] : [rest.slice(first)];
}

function isEffectRule(rule: Rule, effect: Effect, whole: boolean): boolean {
  return isPathRule(rule, effect) && (whole || rule.action === 'allow' || rule.pattern !== null);
}

function pathRuleMatches(rule: Rule, tool: string, subject: string | null): boolean {
  if (ruleMatches(rule, tool, subject)) return true;
  return (
    rule.action !== 'allow' && rule.pattern !== null && subject !== null && nameCovers(rule.tool, tool) && coversPath(rule.pattern, subject)
  );
}
