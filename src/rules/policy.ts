/**
 * Rules: may this call be made? Pure. It confines no paths and parses no commands: tools say what a call touches (its
 * subjects), rules are matched against that.
 *
 *  1. In a ruleset the last match wins. Rulesets are never joined: each answers alone and the strictest answer holds.
 *  2. So a further ruleset, or one more deny anywhere, never allows what was not allowed without it.
 *  3. Every owner's ruleset must allow; where it says nothing, or there is none, the answer is deny.
 *  4. A call needs all its subjects allowed. A rule with a pattern says nothing about a call without subjects. What is unsafe is allowed by
 *     no ordinary pattern; an alias can deny and ask, never allow.
 *  5. A tool that is not offered would be denied whatever its subjects.
 *  6. What a shell may reach (`network`, `git`) is no tool: only its own name speaks of it, never a `*`. So a list of tools neither closes nor
 *     opens it.
 *  7. Matching takes no more than pattern times subject steps, and no pattern is longer than 1,000 characters.
 */
import { RetinueError } from '../contract/error.ts';
import { type Decision, type Rule, RuleAction, type Ruleset } from '../contract/grant.ts';
import { sandboxOwner } from '../ports/sandbox.ts';
import { type Subject, unsafePrefix } from '../ports/subject.ts';
import { clipName, unknownNameMessage } from '../text/suggest.ts';

const strictness = { allow: 0, ask: 1, deny: 2 };
const maxPattern = 1_000;
const denyAll: Rule = { action: 'deny', tool: '*', pattern: null };
const builtIn = 'built-in';

/** What rules name besides tools (invariant 6). */
export const capabilities: readonly string[] = ['network', 'git'];

/** Reads `allow|ask|deny tool[:pattern]`. Throws RetinueError `invalid_rule`. */
export function parseRule(text: string): Rule {
  const [word = ''] = text.trimStart().split(/\s/, 1);
  const rest = text.trimStart().slice(word.length).trim();
  const colon = rest.indexOf(':');
  const tool = (colon === -1 ? rest : rest.slice(0, colon)).trimEnd();
  const pattern = colon === -1 ? null : rest.slice(colon + 1).trimStart();
  const action = RuleAction.options.find((option) => option === word);
  if (action === undefined) return invalid(text, word === '' ? 'it is empty' : unknownNameMessage('action', word, RuleAction.options));
  if (tool === '') return invalid(text, 'it names no tool; `*` stands for every tool');
  if (/\s/.test(tool)) return invalid(text, `a pattern is set off by a colon, as in \`${action} ${clipName(rest.replace(/\s+/, ':'))}\``);
  if (/[*?]./s.test(tool) || tool.endsWith('?')) return invalid(text, 'in the name of a tool `*` may only stand at the end');
  if (pattern === '') return invalid(text, 'nothing follows the colon; leave it out to mean every call');
  if (pattern !== null && pattern.length > maxPattern) return invalid(text, `its pattern is longer than ${maxPattern} characters`);
  return { action, tool, pattern };
}

function invalid(text: string, why: string): never {
  const help = 'write `allow|ask|deny tool[:pattern]`, for example `allow bash:git log *`';
  throw new RetinueError('invalid_rule', `rule \`${clipName(text)}\`: ${why}; ${help}`);
}

export function formatRule({ action, tool, pattern }: Rule): string {
  return pattern === null ? `${action} ${tool}` : `${action} ${tool}:${pattern}`;
}

/** Whether a rule speaks about a call. `subject` null: the call has none. */
export function ruleMatches(rule: Rule, tool: string, subject: string | null): boolean {
  if (!matchesTool(rule, tool)) return false;
  if (rule.pattern === null) return true;
  if (subject === null) return false;
  // `git log *` is about `git log` too.
  return wildcard(rule.pattern, subject) || (rule.pattern.endsWith(' *') && wildcard(rule.pattern.slice(0, -2), subject));
}

function matchesTool(rule: Rule, tool: string): boolean {
  return nameCovers(rule.tool, tool);
}

/** Whether a name, which may end in `*`, is about a tool. */
export function nameCovers(name: string, tool: string): boolean {
  return name === tool || (name.endsWith('*') && tool.startsWith(name.slice(0, -1)) && !capabilities.includes(tool));
}

/** `*` any characters, `?` one (a UTF-16 unit). On a mismatch only the last star takes one more: earlier ones need never. */
function wildcard(pattern: string, text: string): boolean {
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

/** The rule of a ruleset that holds for a subject: the last that speaks of it. */
function ruleFor(rules: readonly Rule[], tool: string, subject: Subject | null): Rule | undefined {
  if (subject === null || typeof subject === 'string') return rules.findLast((rule) => ruleMatches(rule, tool, subject));
  const { text, unsafe, alias, tool: other = tool } = subject;
  if (alias) {
    const rule = rules.findLast((each) => (each.pattern !== null || other !== tool) && ruleMatches(each, other, text));
    return rule?.action === 'allow' ? undefined : rule;
  }
  if (unsafe === undefined) return ruleFor(rules, tool, text);
  return rules.findLast((rule) => {
    const { action, pattern } = rule;
    if (pattern?.startsWith(unsafePrefix)) return ruleMatches(rule, tool, `${unsafePrefix}${text}`);
    return (action !== 'allow' || pattern === null || pattern === '*') && ruleMatches(rule, tool, text);
  });
}

/** As decisions and people name it. */
export function subjectText(subject: Subject): string {
  if (typeof subject === 'string') return subject;
  const { text, unsafe, tool } = subject;
  return `${tool === undefined ? '' : `${tool}:`}${unsafe === undefined ? '' : unsafePrefix}${text}`;
}

/**
 * The strictest answer of all rulesets about all subjects; of equal ones the first is named. Where a rule from `without` is the one that
 * allows, the answer is deny.
 */
export function decideCall(
  rulesets: readonly Ruleset[],
  call: { tool: string; subjects: readonly Subject[] },
  { without }: { without?: string } = {},
): Decision {
  const silent: Decision = { action: 'deny', owner: builtIn, rule: null };
  if (!rulesets.some((ruleset) => ruleset.kind === 'owner')) return silent;
  // Other names alone are no call: what it is itself must be allowed.
  const subjects = call.subjects.every(isAlias) ? [null, ...call.subjects] : call.subjects;
  let strictest: Decision | null = null;
  for (const { kind, owner, rules } of rulesets) {
    for (const subject of subjects) {
      const rule = ruleFor(rules, call.tool, subject);
      if (rule === undefined && (kind === 'narrowing' || isAlias(subject))) continue;
      const answer: Decision =
        rule === undefined ? { ...silent } : { action: rule.action, owner: rule.from ?? owner, rule: formatRule(rule) };
      if (answer.action === 'allow' && answer.owner === without) answer.action = 'deny';
      if (strictest !== null && strictness[answer.action] <= strictness[strictest.action]) continue;
      if (subject !== null && (subjects.length > 1 || typeof subject !== 'string')) answer.about = subjectText(subject);
      strictest = answer;
    }
  }
  return strictest ?? silent;
}

function isAlias(subject: Subject | null): boolean {
  return typeof subject === 'object' && subject?.alias === true;
}

/** Lists of tools as a ruleset that narrows. `allow` absent: all but the denied ones; empty: none. Null: nothing to say. */
export function toolRuleset(owner: string, allow: readonly string[] | undefined, deny: readonly string[]): Ruleset | null {
  if (allow === undefined && deny.length === 0) return null;
  const allowed = allow === undefined ? [] : [denyAll, ...allow.map(ruleOn('allow'))];
  return { kind: 'narrowing', owner, rules: [...allowed, ...deny.map(ruleOn('deny'))] };
}

/** An agent's list of MCP servers as a ruleset that narrows: of tools of servers, only those of these. */
export function serverRuleset(owner: string, servers: readonly string[]): Ruleset {
  const allowed = servers.map((server) => ruleOn('allow')(`mcp__${server}__*`));
  return { kind: 'narrowing', owner, rules: [ruleOn('deny')('mcp__*'), ...allowed] };
}

/** The tools that a model gets to see: without those that some ruleset denies whatever the call (invariant 5). */
export function offeredTools(rulesets: readonly Ruleset[], tools: readonly string[]): string[] {
  if (!rulesets.some((ruleset) => ruleset.kind === 'owner')) return [];
  return tools.filter((tool) => !rulesets.some((ruleset) => deniesAll(ruleset, tool)));
}

function deniesAll({ kind, rules }: Ruleset, tool: string): boolean {
  const decisive = rules.findLast((rule) => matchesTool(rule, tool) && (rule.action !== 'deny' || rule.pattern === null));
  return decisive === undefined ? kind === 'owner' : decisive.action === 'deny';
}

/**
 * What holds before the owner says anything. Delegation tools and the caller's own are allowed, and so are those of MCP servers, which are
 * there because the owner has configured or trusted them; a shell is asked about, unless commands run in a sandbox.
 */
export function builtInRuleset(
  delegationTools: readonly string[],
  ownTools: readonly string[],
  { sandboxed = false }: { sandboxed?: boolean } = {},
): Ruleset {
  const reading = ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch'];
  const keeping = ['todo', 'memory', 'scratchpad', 'write', 'edit'];
  const allowed = [...reading, ...keeping, ...delegationTools, ...ownTools, 'mcp__*'];
  const shell: Rule = sandboxed ? { ...ruleOn('allow')('bash'), from: sandboxOwner } : ruleOn('ask')('bash');
  return { kind: 'owner', owner: builtIn, rules: [...allowed.map(ruleOn('allow')), shell, ...capabilities.map(ruleOn('deny'))] };
}

function ruleOn(action: RuleAction): (tool: string) => Rule {
  return (tool) => ({ action, pattern: null, tool });
}
