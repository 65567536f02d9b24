// Permissions of opencode as rules. There as here, the last rule that matches decides, and the rules of an agent only restrict.

import type { Json } from '../../contract/json.ts';
import { delegationNames } from '../tool-lists.ts';
import { isObject, type Translation } from './format.ts';
import { serverName } from './servers.ts';

const actions = ['allow', 'ask', 'deny'];
const maxRules = 500;

/** By opencode's name: the tools of Retinue that rules name, and whether their patterns mean the same. */
const tools: Record<string, { rules: readonly string[]; hasPatterns?: true }> = {
  '*': { rules: ['*'] },
  read: { rules: ['read'], hasPatterns: true },
  edit: { rules: ['edit', 'write'], hasPatterns: true },
  write: { rules: ['edit', 'write'], hasPatterns: true },
  patch: { rules: ['edit', 'write'], hasPatterns: true },
  multiedit: { rules: ['edit', 'write'], hasPatterns: true },
  list: { rules: ['list'] },
  glob: { rules: ['glob'] },
  grep: { rules: ['grep'] },
  bash: { rules: ['bash'], hasPatterns: true },
  shell: { rules: ['bash'], hasPatterns: true },
  webfetch: { rules: ['webfetch'], hasPatterns: true },
  websearch: { rules: ['websearch'] },
  todowrite: { rules: ['todo'] },
  todoread: { rules: ['todo'] },
  skill: { rules: ['skill'], hasPatterns: true },
  task: { rules: delegationNames },
  subagent: { rules: delegationNames },
};
/** Questions that do not exist here: the workspace is closed around, and repeated calls are refused. */
const notNeeded = ['external_directory', 'doom_loop', 'question', 'lsp', 'plan_enter', 'plan_exit'];

/** `tools: { write: false, "*": true }`. */
export function addToolSwitches(value: Json, to: Translation): void {
  if (!isObject(value) || !Object.values(value).every((each) => typeof each === 'boolean'))
    return void to.refuse('`tools` must be names with true or false');
  for (const [name, isOn] of Object.entries(value)) addRule({ name, pattern: null, action: isOn ? 'allow' : 'deny' }, to);
}

/** `permission: ask`, or an action, or actions by pattern, for each tool. */
export function addPermissions(value: Json, to: Translation): void {
  const byTool = typeof value === 'string' ? { '*': value } : value;
  if (!isObject(byTool)) return void to.refuse('`permission` must be an action, or actions by tool');
  for (const [name, given] of Object.entries(byTool)) {
    const byPattern: Json = typeof given === 'string' ? { '*': given } : given;
    if (!isObject(byPattern)) return void to.refuse(`\`permission.${name.slice(0, 60)}\` must be an action, or actions by pattern`);
    const list = Object.entries(byPattern);
    if (list.length > maxRules) return void to.refuse('`permission` has too many patterns');
    for (const [pattern, action] of list) addRule({ name, pattern: pattern === '*' || pattern === '**' ? null : pattern, action }, to);
  }
}

/** The form of version 2: `[{ action, resource, effect }]`. */
export function addPermissionList(value: Json, to: Translation): void {
  if (!Array.isArray(value) || value.length > maxRules) return void to.refuse('`permissions` must be a list of rules');
  for (const rule of value) {
    if (!isObject(rule) || typeof rule.action !== 'string') return void to.refuse('`permissions` must be a list of rules');
    const { resource = '*' } = rule;
    if (typeof resource !== 'string') return void to.refuse('`permissions`: `resource` must be a pattern');
    addRule({ name: rule.action, pattern: resource === '*' ? null : resource, action: rule.effect ?? null }, to);
  }
}

function addRule({ name, pattern, action }: { name: string; pattern: string | null; action: Json }, to: Translation): void {
  const shown = name.slice(0, 60);
  if (typeof action !== 'string' || !actions.includes(action)) return void to.refuse(`\`${shown}\` must be allow, ask or deny`);
  const what = `\`${action} ${shown}${pattern === null ? '' : `: ${pattern}`}\``;
  if (notNeeded.includes(name)) return void to.leaveOut(what, 'Retinue has no such question');
  const known = Object.hasOwn(tools, name.toLowerCase()) ? tools[name.toLowerCase()] : undefined;
  const server = /^(.+)_\*$/.exec(name)?.[1];
  const found = known ?? { rules: server === undefined ? [] : [`mcp__${serverName(server)}__*`] };
  if (found.rules.length === 0 || found.rules.includes('mcp__null__*')) return void to.leaveOut(what, 'Retinue has no such tool');
  const text = pattern?.replace(/^\$HOME(?=\/|$)/, '~').trim() ?? null;
  const isUsable = text === null || ('hasPatterns' in found && text !== '' && text.length <= 1_000);
  if (isUsable) return void to.add('rules', toRules(action, found.rules, text));
  if (action === 'allow') return void to.leaveOut(what, 'Retinue cannot limit this tool by a pattern, so it allows nothing');
  to.leaveOut(what, `Retinue cannot limit this tool by a pattern, so it applies to the whole tool`);
  to.add('rules', toRules(action, found.rules, null));
}

function toRules(action: string, names: readonly string[], pattern: string | null): string[] {
  return names.map((tool) => `${action} ${tool}${pattern === null ? '' : `:${pattern}`}`);
}
