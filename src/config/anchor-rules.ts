// Rules about paths in the spelling that tools use: relative to the workspace, or absolute and without links outside it. A rule in another spelling would
// match nothing, without any hint.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Rule } from '../contract/grant.ts';
import { formatRule, isPathTool, nameCovers, parseRule } from '../rules/policy.ts';
import { coversPath } from '../text/closed-paths.ts';
import { normalizePathPattern, patternsInFolder } from '../text/path-pattern.ts';
import { literalStart } from '../text/wildcard.ts';
import { type Env, homeFolder } from './user-folders.ts';

export interface AnchorOptions {
  workspace: string;
  env: Env;
}

/**
 * The rule, and the same rule for other spellings of its paths. Only a rule that takes away follows links and wildcards: the model may make a link,
 * and it must not open anything.
 */
export function anchorRule(rule: Rule, options: AnchorOptions): Rule[] {
  const { action, tool, pattern } = rule;
  if (pattern === null) return [rule];
  if (isPathTool(tool)) return findSpellings(pattern, action, options).map((each) => ({ ...rule, pattern: each }));
  if (action === 'allow' || !tool.endsWith('*')) return [rule];
  // `deny *:./secrets` is about paths as well as about commands and addresses.
  const effects = (['read', 'write'] as const).filter((each) => nameCovers(tool, each));
  const plain = parseRule(`${action} read:${pattern}`).pattern ?? pattern;
  const spellings = findSpellings(plain, action, options).filter((each) => each !== pattern);
  return [rule, ...effects.flatMap((effect) => spellings.map((each): Rule => ({ ...rule, tool: effect, pattern: each })))];
}

/** The agent with `anchorRule` applied to its rules. */
export function anchorAgent<T extends { rules?: string[] | undefined }>(agent: T, options: AnchorOptions): T {
  return agent.rules === undefined ? agent : { ...agent, rules: anchorRuleTexts(agent.rules, options) };
}

function anchorRuleTexts(rules: readonly string[], options: AnchorOptions): string[] {
  return rules.flatMap((text) => {
    const anchored = anchorRule(parseRule(text), options).map(formatRule);
    return anchored.length === 1 && anchored[0] === formatRule(parseRule(text)) ? [text] : anchored;
  });
}

/** Why a rule that should close something in the workspace closes nothing there; null if nothing suggests that. */
export function findUnusedPath(text: string, { workspace, env }: AnchorOptions): string | null {
  const { action, tool, pattern } = parseRule(text);
  if (action === 'allow' || pattern === null || !isPathTool(tool) || !pattern.startsWith('/')) return null;
  if (anchorRule(parseRule(text), { workspace, env }).some((rule) => !rule.pattern?.startsWith('/'))) return null;
  const [, top = ''] = pattern.split('/');
  const inside = pattern.slice(1);
  const isMeantInside = existsSync(join(workspace, literalFolder(inside) || literalStart(inside)));
  if (/[*?]/.test(top) || (existsSync(`/${top}`) && !isMeantInside)) return null;
  return `\`${text}\` is about ${pattern} outside the workspace; for a path in the workspace write \`${action} ${tool}:${inside}\``;
}

function findSpellings(given: string, action: Rule['action'], { workspace, env }: AnchorOptions): string[] {
  const root = resolveExisting(workspace);
  const pattern = /^~(?=\/|$)/.test(given) ? join(homeFolder(env), given.slice(1)) : given;
  const absolute = pattern.startsWith('/') ? pattern : /^\.\.(\/|$)/.test(pattern) ? join(root, pattern) : null;
  const toInside = (each: string) => [root, workspace].flatMap((folder) => relativePatterns(each, folder, action));
  const inside = absolute === null ? [pattern] : toInside(absolute);
  const written = absolute === null || inside.length > 0 ? inside : [absolute];
  const real = action === 'allow' ? null : resolveStart(absolute ?? join(root, pattern));
  const resolved = real === null ? [] : toInside(real);
  const outside = real !== null && resolved.length === 0 ? [real] : [];
  return [...new Set([...written, ...resolved, ...outside])];
}

/** The patterns for paths in the folder that an absolute pattern stands for. */
function relativePatterns(pattern: string, folder: string, action: Rule['action']): string[] {
  const start = folder.endsWith('/') ? folder : `${folder}/`;
  if (action === 'allow') return pattern.startsWith(start) ? [pattern.slice(start.length)] : [];
  return coversPath(pattern, folder) ? ['*'] : patternsInFolder(pattern, folder);
}

/** The pattern with the names before its first wildcard resolved; null if they contain no link. */
function resolveStart(pattern: string): string | null {
  const folder = literalFolder(pattern) || '/';
  const real = resolveExisting(folder);
  if (real === folder) return null;
  return normalizePathPattern(`${real}/${pattern.slice(folder.length)}`);
}

/** The whole names before the first wildcard. */
function literalFolder(pattern: string): string {
  const start = literalStart(pattern);
  return start === pattern ? pattern : start.slice(0, Math.max(start.lastIndexOf('/'), 0));
}

function resolveExisting(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(resolveExisting(dirname(path)), path.slice(dirname(path).length));
  }
}
