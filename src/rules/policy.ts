// Evaluates rules: may this call be made? Pure. It neither resolves paths nor parses commands: tools name the subjects of a call, and rules are
// matched against those.
//
// R1. In a ruleset the last match wins. Rulesets are never joined: each is evaluated separately, and the strictest answer counts.
// R2. So another ruleset, or one more deny anywhere, never allows anything.
// R3. Every owner ruleset must allow the call. No match, or no owner ruleset at all, means deny.
// R4. All subjects of a call must be allowed. A rule with a pattern does not match a call without subjects. An ordinary pattern never allows an
//     unsafe subject. An alias can deny and ask, but never allow.
// R5. A tool that is not offered would be denied whatever its subjects.
// R6. The capabilities of a shell (`network`, `git`) are not tools: only rules with their exact name match them, never a `*`. So lists of tools
//     neither grant nor remove them.
// R7. Rules about paths apply to every tool that reads or writes the path (`path-rules.ts`).
// R8. If a command is not known before it runs, a rule that might deny it asks.
// R9. Matching takes at most pattern length times subject length steps, and a pattern has at most 1,000 characters.
import type { Decision, Rule, RuleAction, Ruleset } from '../contract/grant.ts';
import { sandboxOwner } from '../ports/sandbox.ts';
import { type Subject, unsafePrefix } from '../ports/subject.ts';
import { canMatchFrom, literalStart } from '../text/wildcard.ts';
import { askedFiles } from './asked-files.ts';
import { deniesEveryEffect, findEffectRules, findOwnRule, matchesSubject } from './path-rules.ts';
import { capabilities, formatRule, nameCovers, ruleMatches } from './rule.ts';

export { capabilities, formatRule, isPathTool, nameCovers, parseRule, ruleMatches } from './rule.ts';

const strictness = { allow: 0, ask: 1, deny: 2 };
const denyAll: Rule = { action: 'deny', pattern: null, tool: '*' };
const builtIn = 'built-in';

/** The rule of a ruleset that decides about a subject. */
function findRule(rules: readonly Rule[], tool: string, subject: Subject | null): Rule | undefined {
  if (subject === null || typeof subject === 'string') return findOwnRule(rules, tool, subject);
  const { alias, unsafe, text } = subject;
  if (alias) return findAliasRule(rules, tool, subject);
  if (unsafe === undefined) return findOwnRule(rules, tool, text);
  return rules.findLast((rule) => {
    const { action, pattern } = rule;
    if (pattern?.startsWith(unsafePrefix)) return ruleMatches(rule, tool, `${unsafePrefix}${text}`);
    return (action !== 'allow' || pattern === null || pattern === '*') && matchesSubject(rule, tool, text);
  });
}

/** An alias that names another tool is about a file; of the rules about reading, only those with a pattern count. */
function findAliasRule(rules: readonly Rule[], tool: string, { text, tool: other, possible }: Exclude<Subject, string>): Rule | undefined {
  const rule =
    other === undefined
      ? rules.findLast((each) => each.pattern !== null && ruleMatches(each, tool, text))
      : findOwnRule(aboutFiles(rules, other, possible), other, text);
  return rule?.action === 'allow' ? undefined : rule;
}

/** Rules that only take away from what `found` says: about other effects of the call, or about what it may turn out to be. */
function findStricterRules(rules: readonly Rule[], tool: string, subject: Subject | null, found: Rule | undefined): Rule[] {
  if (subject === null || typeof subject === 'string') return findEffectRules(rules, tool, { subject, own: found });
  const { text, tree, tool: other, known, possible: isPossible } = subject;
  if (other !== undefined) {
    const removed = tree ? rules.filter((rule) => isInFolder(rule, other, text)) : [];
    const counted = aboutFiles(rules, other, isPossible);
    // What the runtime itself asks about would make every unknown word a question.
    const named = isPossible ? counted.filter(({ action, from }) => action !== 'ask' || from !== undefined) : counted;
    const possible = known === undefined ? [] : findPossibleRule(named, other, known, found);
    return [...removed, ...possible, ...findEffectRules(counted, other, { subject: text, own: findOwnRule(counted, other, text) })];
  }
  if (known === undefined) return findEffectRules(rules, tool, { subject: text, own: found });
  return findPossibleRule(rules, tool, known, found);
}

/**
 * A rule that could match what begins with `known`, as a question. Rules before one that allows the subject, or every call, do not count.
 */
function findPossibleRule(rules: readonly Rule[], tool: string, known: string, found: Rule | undefined): Rule[] {
  const isAllowing = (rule: Rule) => rule.action === 'allow' && (rule === found || (rule.pattern === null && nameCovers(rule.tool, tool)));
  const possible = rules
    .slice(rules.findLastIndex(isAllowing) + 1)
    .find(
      ({ action, tool: name, pattern }) => action !== 'allow' && pattern !== null && nameCovers(name, tool) && canMatchFrom(pattern, known),
    );
  return possible ? [{ ...possible, action: 'ask' }] : [];
}

/** Of the rules about reading, and about files that a command only may write, those with a pattern count. */
function aboutFiles(rules: readonly Rule[], effect: string, isPossible = false): readonly Rule[] {
  return effect === 'read' || isPossible ? rules.filter(({ pattern }) => pattern !== null) : rules;
}

/** Whether a rule closes a path below a folder that a command moves or removes. */
function isInFolder({ action, tool, pattern }: Rule, effect: string, folder: string): boolean {
  const isAbout = nameCovers(tool, effect) || (effect === 'write' && nameCovers(tool, 'edit'));
  return action !== 'allow' && isAbout && pattern !== null && (folder === '.' || literalStart(pattern).startsWith(`${folder}/`));
}

/** A subject as decisions and approval questions show it. */
export function subjectText(subject: Subject): string {
  if (typeof subject === 'string') return subject;
  const { text, unsafe, tool } = subject;
  return `${tool === undefined ? '' : `${tool}:`}${unsafe === undefined ? '' : unsafePrefix}${text}`;
}

/**
 * The strictest answer of all rulesets for all subjects; of equally strict ones, the first. If the rule that allows belongs to `without`, the
 * answer is deny.
 */
export function decideCall(
  rulesets: readonly Ruleset[],
  call: { tool: string; subjects: readonly Subject[] },
  { without }: { without?: string } = {},
): Decision {
  const noMatch: Decision = { action: 'deny', owner: builtIn, rule: null };
  if (!rulesets.some((ruleset) => ruleset.kind === 'owner')) return noMatch;
  // Aliases cannot allow a call. Without other subjects, the tool itself must be allowed.
  const subjects = call.subjects.every(isAlias) ? [null, ...call.subjects] : call.subjects;
  let strictest: Decision | null = null;
  for (const { kind, owner, rules } of rulesets) {
    for (const subject of subjects) {
      const found = findRule(rules, call.tool, subject);
      const isSilent = found === undefined && (kind === 'narrowing' || isAlias(subject));
      const answers = isSilent ? [] : [found === undefined ? { ...noMatch } : ruleToDecision(found, owner)];
      for (const rule of findStricterRules(rules, call.tool, subject, found)) answers.push(ruleToDecision(rule, owner));
      for (const answer of answers) {
        if (answer.action === 'allow' && answer.owner === without) answer.action = 'deny';
        if (strictest !== null && strictness[answer.action] <= strictness[strictest.action]) continue;
        if (subject !== null && (subjects.length > 1 || typeof subject !== 'string')) answer.about = subjectText(subject);
        strictest = answer;
      }
    }
  }
  return strictest ?? noMatch;
}

function ruleToDecision(rule: Rule, owner: string): Decision {
  return { action: rule.action, owner: rule.from ?? owner, rule: formatRule(rule) };
}

function isAlias(subject: Subject | null): boolean {
  return typeof subject === 'object' && subject?.alias === true;
}

/** Lists of tools as a narrowing ruleset. Without `allow`, all tools except `deny`; an empty `allow` means none. Null if nothing is narrowed. */
export function createToolRuleset(owner: string, allow: readonly string[] | undefined, deny: readonly string[]): Ruleset | null {
  if (allow === undefined && deny.length === 0) return null;
  const allowed = allow === undefined ? [] : [denyAll, ...allow.map(wholeTool('allow'))];
  return { kind: 'narrowing', owner, rules: [...allowed, ...deny.map(wholeTool('deny'))] };
}

/** An agent's list of MCP servers as a narrowing ruleset: tools of other servers are denied. */
export function createServerRuleset(owner: string, servers: readonly string[]): Ruleset {
  const allowed = servers.map((server) => wholeTool('allow')(`mcp__${server}__*`));
  return { kind: 'narrowing', owner, rules: [wholeTool('deny')('mcp__*'), ...allowed] };
}

/** The tools to offer to a model: those that no ruleset denies for every call (R5). */
export function filterOfferedTools(rulesets: readonly Ruleset[], tools: readonly string[]): string[] {
  if (!rulesets.some((ruleset) => ruleset.kind === 'owner')) return [];
  return tools.filter((tool) => !rulesets.some((ruleset) => deniesAll(ruleset, tool) || deniesEveryEffect(ruleset.rules, tool)));
}

function deniesAll({ kind, rules }: Ruleset, tool: string): boolean {
  const decisive = rules.findLast((rule) => nameCovers(rule.tool, tool) && (rule.action !== 'deny' || rule.pattern === null));
  return decisive === undefined ? kind === 'owner' : decisive.action === 'deny';
}

/**
 * The default rules. Delegation tools and the program's own tools are allowed, and so are tools of MCP servers, because the owner has configured
 * or trusted them. Shell commands need approval, unless they run in a sandbox, and so do changes of files that later agents or programs obey.
 */
export function builtInRuleset(
  delegationTools: readonly string[],
  ownTools: readonly string[],
  { sandboxed = false }: { sandboxed?: boolean } = {},
): Ruleset {
  const reading = ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch', 'skill'];
  const writing = ['todo', 'memory', 'scratchpad', 'write', 'edit'];
  const allowed = [...reading, ...writing, ...delegationTools, ...ownTools, 'mcp__*'];
  const asked = askedFiles.map(({ path }): Rule => ({ action: 'ask', pattern: path, tool: 'write' }));
  const shell: Rule = sandboxed ? { ...wholeTool('allow')('bash'), from: sandboxOwner } : wholeTool('ask')('bash');
  return {
    kind: 'owner',
    owner: builtIn,
    rules: [...allowed.map(wholeTool('allow')), ...asked, shell, ...capabilities.map(wholeTool('deny'))],
  };
}

/** Makes rules without a pattern. */
function wholeTool(action: RuleAction): (tool: string) => Rule {
  return (tool) => ({ action, pattern: null, tool });
}
