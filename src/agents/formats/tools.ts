// Names of tools of other programs. An unknown one is left out, and a list never becomes wider by that.
import type { Json } from '../../contract/json.ts';
import { nearestName } from '../../text/suggest.ts';
import { splitTools } from '../tool-lists.ts';
import { isTextList, type Translation } from './format.ts';

/** The delegation tools, as tool lists of Retinue call them. */
export const delegation = 'Task';

export interface ToolNames {
  /** By the program's name in lower case: the tools of Retinue with the same effect. */
  tools: Record<string, readonly string[]>;
  /** The name of an MCP server's tool in the form `mcp__server__tool`; null if it is none. */
  serverTool?(name: string): string | null;
}

type ListKey = 'tools' | 'disallowedTools';

/** Tools whose calls a pattern can limit in a tool list of Retinue. */
const withPatterns = ['bash', 'skill'];

/** Adds the items of a list to `tools` or `disallowedTools`. */
export function addTools(key: ListKey, value: Json, { names, to }: { names: ToolNames; to: Translation }): void {
  const items = typeof value === 'string' ? splitTools(value) : isTextList(value) ? value : null;
  if (items === null) return void to.refuse(`\`${key}\` must be a list of names`);
  to.add(
    key,
    items.flatMap((item) => translateItem(item.trim(), key, { names, to })),
  );
}

function translateItem(item: string, key: ListKey, { names, to }: { names: ToolNames; to: Translation }): string[] {
  const what = `\`${key}: ${item}\``;
  if (item === '*' || item === '') return item === '' ? [] : ['*'];
  const [, name = item, pattern] = /^([^()]+?)(?:\((.*)\))?$/s.exec(item) ?? [];
  const server = names.serverTool?.(name) ?? null;
  if (server !== null) return [server];
  const found = findTools(name, names);
  if (found === null) {
    const near = key === 'disallowedTools' ? nearestName(name, Object.keys(names.tools)) : null;
    // A misspelt name would deny nothing.
    if (near !== null) to.refuse(`\`${key}\`: there is no tool \`${name}\`; did you mean \`${near}\`?`);
    else to.leaveOut(what, 'Retinue has no such tool');
    return [];
  }
  if (pattern === undefined || pattern.trim() === '' || pattern.trim() === '*') return [...found];
  if (found.every((tool) => withPatterns.includes(tool))) return found.map((tool) => `${tool}(${pattern})`);
  if (key === 'disallowedTools') {
    to.leaveOut(what, 'Retinue cannot limit this tool by a pattern here, so the whole tool is denied');
    return [...found];
  }
  const why = found.includes(delegation)
    ? 'delegation cannot be limited to some agents'
    : 'Retinue cannot limit this tool by a pattern here';
  to.leaveOut(what, `${why}, so the agent does not get it`);
  return [];
}

/** Null for an unknown name. */
export function findTools(name: string, { tools }: ToolNames): readonly string[] | null {
  const low = name.trim().toLowerCase();
  return Object.hasOwn(tools, low) ? (tools[low] as readonly string[]) : null;
}

/** What takes away everything but looking at files. */
const changingTools = ['write', 'edit', 'bash', 'webfetch', 'websearch', 'skill', 'memory', 'mcp__*', delegation];

/** Hooks are never run. Tools that a hook guards before they are used are taken away, because the author relied on the hook. */
export function leaveOutHooks(value: Json, { names, to }: { names: ToolNames; to: Translation }): void {
  to.leaveOut('`hooks`', 'commands of hooks are never run');
  const hooks = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  const guards = Object.entries(hooks).filter(([event]) => /^(pretooluse|permissionrequest|beforetool)$/i.test(event));
  if (guards.length === 0) return;
  const matchers = guards.flatMap(([, list]) => (Array.isArray(list) ? list : [list])).map(readMatcher);
  const guarded = matchers.flatMap((matcher) => matcher?.split('|').map((name) => findTools(name, names)) ?? [null]);
  const denied = guarded.includes(null) ? changingTools : [...new Set(guarded.flatMap((tools) => tools ?? []))];
  to.add('disallowedTools', denied);
  to.leaveOut(`tools ${denied.join(', ')}`, 'a hook guards their use in the other program, and hooks are never run');
}

/** Null: it is about all tools, or it is not understood. */
function readMatcher(hook: Json): string | null {
  const matcher = typeof hook === 'object' && hook !== null && !Array.isArray(hook) ? hook.matcher : undefined;
  return typeof matcher === 'string' && /^[A-Za-z_|]+$/.test(matcher) ? matcher : null;
}
