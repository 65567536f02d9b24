// One rule: its text, and whether it matches a call.
import { RetinueError } from '../contract/error.ts';
import { type Rule, RuleAction } from '../contract/grant.ts';
import { normalizePathPattern } from '../text/path-pattern.ts';
import { clipName, unknownNameMessage } from '../text/suggest.ts';
import { matchesWildcard } from '../text/wildcard.ts';

const maxPattern = 1_000;

/** Names in rules that are not tools (R6 of `policy.ts`). */
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
  return { action, pattern: pattern === null || !isPathTool(tool) ? pattern : readPathPattern(action, tool, pattern), tool };
}

/** Whether the patterns of a tool's rules are about paths. */
export function isPathTool(tool: string): boolean {
  return pathTools.includes(tool);
}

const pathTools = ['read', 'write', 'edit', 'list', 'glob', 'grep'];

/** A folder covers what is in it, and the workspace itself is a folder; a rule that allows needs the `*` for that. */
function readPathPattern(action: RuleAction, tool: string, pattern: string): string {
  const plain = normalizePathPattern(pattern);
  if (action === 'allow') return pattern.endsWith('/') && plain !== '/' ? (plain === '.' ? '*' : `${plain}/*`) : plain;
  return plain === '.' && ['read', 'write', 'edit'].includes(tool) ? '*' : plain;
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
  return subject !== null && matchesWildcard(rule.pattern, subject);
}

/** Whether a name, which may end in `*`, matches a tool or capability. */
export function nameCovers(name: string, tool: string): boolean {
  return name === tool || (name.endsWith('*') && tool.startsWith(name.slice(0, -1)) && !capabilities.includes(tool));
}
