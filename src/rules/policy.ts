// Evaluates rules: may this call be made? Pure. It neither resolves paths nor parses commands: tools name the subjects of a call, and rules are
// matched against those.
//
//  1. In a ruleset the last match wins. Rulesets are never joined: each is evaluated separately, and the strictest answer counts.
//  2. So another ruleset, or one more deny anywhere, never allows anything.
//  3. Every owner ruleset must allow the call. No match, or no owner ruleset at all, means deny.
//  4. All subjects of a call must be allowed. A rule with a pattern does not match a call without subjects. An ordinary pattern never allows an
//     unsafe subject. An alias can deny and ask, but never allow.
//  5. A tool that is not offered would be denied whatever its subjects.
//  6. The capabilities of a shell (`network`, `git`) are not tools: only rules with their exact name match them, never a `*`. So lists of tools
//     neither grant nor remove them.
//  7. Matching takes at most pattern length times subject length steps, and a pattern has at most 1,000 characters.
import { RetinueError } from '../contract/error.ts';
import { type Decision, type Rule, RuleAction, type Ruleset } from '../contract/grant.ts';
import { sandboxOwner } from '../ports/sandbox.ts';
import { type Subject, unsafePrefix } from '../ports/subject.ts';
import { clipName, unknownNameMessage } from '../text/suggest.ts';

const strictness = { allow: 0, ask: 1, deny: 2 };
const maxPattern = 1_000;
const denyAll: Rule = { action: 'deny', tool: '*', pattern: null };
const builtIn = 'built-in';

/** Names in rules that are not tools (invariant 6). */
export const capabilities: readonly string[] = ['network', 'git'];

/** Parses `allow|ask|deny tool[:pattern]`. Throws RetinueError `invalid_rule`. */
export function parseRule(text: string): Rule {
  const [word = ''] = text.trimStart().split(/\s/, 1);
  const rest = text.trimStart().slice(word.length).trim();
  const colon = rest.indexOf(':');
  const tool = (colon === -1 ? rest : rest.slice(0, colon)).trimEnd();
  const pattern = colon === -1 ? null : rest.slice(colon + 1).trimStart();
  const action = RuleAction.options.find((option) => option === word);
  if (action === undefined) throw invalidRule(text, word === '' ? 'it is empty' : unknownNameMessage('action', word, RuleAction.options));
  if (tool === '') throw invalidRule(text, 'it names no tool; `*` means every tool');
  if (/\s/.test(tool)) throw invalidRule(text, `a pattern needs a colon before it: \`${action} ${clipName(rest.replace(/\s+/, ':'))}\``);
  if (/[*?]./s.test(tool) || tool.endsWith('?')) throw invalidRule(text, 'a tool name may have a `*` only at its end');
  if (pattern === '') throw invalidRule(text, 'nothing follows the colon; remove the colon to match every call');
  if (pattern !== null && pattern.length > maxPattern) throw invalidRule(text, `its pattern is longer than ${maxPattern} characters`);
  return { action, tool, pattern };
}

function invalidRule(text: string, why: string): RetinueError {
  const help = 'write `allow|ask|deny tool[:pattern]`, for example `allow bash:git log *`';
  return new RetinueError('invalid_rule', `rule \`${clipName(text)}\`: ${why}; ${help}`);
}

export function formatRule({ action, tool, pattern }: Rule): string {
  return pattern === null ? `${action} ${tool}` : `${action} ${tool}:${pattern}`;
}

/** Whether a rule matches a call. `subject` is null for a call without subjects. */
export function ruleMatches(rule: Rule, tool: string, subject: string | null): boolean {
  if (!nameCovers(rule.tool, tool)) return false;
  if (rule.pattern === null) return true;
  if (subject === null) return false;
  // `git log *` also matches `git log`.
  return matchesWildcard(rule.pattern, subject) || (rule.pattern.endsWith(' *') && matchesWildcard(rule.pattern.slice(0, -2), subject));
}

/** Whether a name, which may end in `*`, matches a tool or capability. */
export function nameCovers(name: string, tool: string): boolean {
  return name === tool || (name.endsWith('*') && tool.startsWith(name.slice(0, -1)) && !capabilities.includes(tool));
}

/** `*` matches any characters, `?` one UTF-16 unit. After a mismatch only the last `*` is extended, because extending an earlier one cannot help. */
function matchesWildcard(pattern: string, text: string): boolean {
  let p = 0;
  let star = -1;
  let resume = 0;
  for (let t = 0; t < text.length; ) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (pattern[p] === '?' || pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star !== -1) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/** The last rule of a ruleset that matches a subject. */
function findRule(rules: readonly Rule[], tool: string, subject: Subject | null): Rule | undefined {
  if (subject === null || typeof subject === 'string') return rules.findLast((rule) => ruleMatches(rule, tool, subject));
  const { text, unsafe, alias, tool: other = tool } = subject;
  if (alias) {
    const rule = rules.findLast((each) => (each.pattern !== null || other !== tool) && ruleMatches(each, other, text));
    return rule?.action === 'allow' ? undefined : rule;
  }
  if (unsafe === undefined) return findRule(rules, tool, text);
  return rules.findLast((rule) => {
    const { action, pattern } = rule;
    if (pattern?.startsWith(unsafePrefix)) return ruleMatches(rule, tool, `${unsafePrefix}${text}`);
    return (action !== 'allow' || pattern === null || pattern === '*') && ruleMatches(rule, tool, text);
  });
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
      const rule = findRule(rules, call.tool, subject);
      if (rule === undefined && (kind === 'narrowing' || isAlias(subject))) continue;
      const answer: Decision =
        rule === undefined ? { ...noMatch } : { action: rule.action, owner: rule.from ?? owner, rule: formatRule(rule) };
      if (answer.action === 'allow' && answer.owner === without) answer.action = 'deny';
      if (strictest !== null && strictness[answer.action] <= strictness[strictest.action]) continue;
      if (subject !== null && (subjects.length > 1 || typeof subject !== 'string')) answer.about = subjectText(subject);
      strictest = answer;
    }
  }
  return strictest ?? noMatch;
}

function isAlias(subject: Subject | null): boolean {
  return typeof subject === 'object' && subject?.alias === true;
}

/** Lists of tools as a narrowing ruleset. Without `allow`, all tools except `deny`; an empty `allow` means none. Null if nothing is narrowed. */
export function toolRuleset(owner: string, allow: readonly string[] | undefined, deny: readonly string[]): Ruleset | null {
  if (allow === undefined && deny.length === 0) return null;
  const allowed = allow === undefined ? [] : [denyAll, ...allow.map(wholeTool('allow'))];
  return { kind: 'narrowing', owner, rules: [...allowed, ...deny.map(wholeTool('deny'))] };
}

/** An agent's list of MCP servers as a narrowing ruleset: tools of other servers are denied. */
export function serverRuleset(owner: string, servers: readonly string[]): Ruleset {
  const allowed = servers.map((server) => wholeTool('allow')(`mcp__${server}__*`));
  return { kind: 'narrowing', owner, rules: [wholeTool('deny')('mcp__*'), ...allowed] };
}

/** The tools to offer to a model: those that no ruleset denies for every call (invariant 5). */
export function offeredTools(rulesets: readonly Ruleset[], tools: readonly string[]): string[] {
  if (!rulesets.some((ruleset) => ruleset.kind === 'owner')) return [];
  return tools.filter((tool) => !rulesets.some((ruleset) => deniesAll(ruleset, tool)));
}

function deniesAll({ kind, rules }: Ruleset, tool: string): boolean {
  const decisive = rules.findLast((rule) => nameCovers(rule.tool, tool) && (rule.action !== 'deny' || rule.pattern === null));
  return decisive === undefined ? kind === 'owner' : decisive.action === 'deny';
}

/**
 * The default rules. Delegation tools and the program's own tools are allowed, and so are tools of MCP servers, because the owner has configured
 * or trusted them. Shell commands need approval, unless they run in a sandbox.
 */
export function builtInRuleset(
  delegationTools: readonly string[],
  ownTools: readonly string[],
  { sandboxed = false }: { sandboxed?: boolean } = {},
): Ruleset {
  const reading = ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch'];
  const writing = ['todo', 'memory', 'scratchpad', 'write', 'edit'];
  const allowed = [...reading, ...writing, ...delegationTools, ...ownTools, 'mcp__*'];
  const shell: Rule = sandboxed ? { ...wholeTool('allow')('bash'), from: sandboxOwner } : wholeTool('ask')('bash');
  return { kind: 'owner', owner: builtIn, rules: [...allowed.map(wholeTool('allow')), shell, ...capabilities.map(wholeTool('deny'))] };
}

/** Makes rules without a pattern. */
function wholeTool(action: RuleAction): (tool: string) => Rule {
  return (tool) => ({ action, pattern: null, tool });
}
