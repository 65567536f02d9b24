// Parses the tool lists of agent files: Retinue's names, those of the Claude Code format in any case, tools of MCP servers (`mcp__github__*`),
// and patterns such as `Bash(git log:*)`.
import { nearestName } from '../text/suggest.ts';

/** The delegation tools, whatever the dialect calls them. */
const delegation = Symbol('delegation');
/** Patterns for the delegation tools of all dialects. */
export const delegationNames: readonly string[] = [
  ...['delegate*', 'subagent*', 'spawn_subagent', 'parallel_subagent', 'task', 'task_*'],
  ...['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage'],
  ...['spawn_agent', 'send_input', 'resume_agent', 'wait_agent', 'close_agent'],
];

/** The built-in tools. A list, because reading agent files must not load the tools. */
export const builtInToolNames: readonly string[] = [
  'read',
  'write',
  'edit',
  'list',
  'glob',
  'grep',
  'bash',
  'webfetch',
  'websearch',
  'todo',
  'memory',
  'scratchpad',
  'skill',
];
const otherNames: Record<string, string | typeof delegation> = {
  multiedit: 'edit',
  ls: 'list',
  todowrite: 'todo',
  todoread: 'todo',
  task: delegation,
  agent: delegation,
  delegate: delegation,
};
/** Tools of the Claude Code format that Retinue does not have. */
const unavailableTools = [
  ...['notebookedit', 'notebookread', 'bashoutput', 'killshell', 'killbash', 'taskoutput', 'taskstop', 'slashcommand', 'lsp'],
  ...['exitplanmode', 'enterplanmode', 'askuserquestion', 'listmcpresourcestool', 'readmcpresourcetool', 'toolsearch', 'monitor'],
];
/** Tools whose calls a pattern in a tool list can limit. */
const patternTools = ['bash', 'skill'];
/** The tools of an agent with `permissionMode: plan`. */
const planTools = ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch', 'todo', 'skill'];

export interface ToolLists {
  /** Absent if the agent gets every tool. */
  tools?: string[];
  disallowedTools: string[];
  /** Rules to insert before those of the file. */
  before: string[];
  /** Rules to add after those of the file, so that a denial is final. */
  after: string[];
  problems: { key: ToolKey; message: string }[];
  warnings: string[];
}

type ToolKey = 'tools' | 'disallowedTools';

export interface ToolFields {
  tools: string[] | undefined;
  disallowedTools: string[];
  /** Only tools that change nothing. */
  planOnly: boolean;
}

/** A list of tools without `Task` or `Agent` excludes delegation. */
export function parseTools(fields: ToolFields): ToolLists {
  const lists: ToolLists = { disallowedTools: [], before: [], after: [], problems: [], warnings: [] };
  if (fields.tools !== undefined && !fields.tools.includes('*')) allowTools(fields.tools, lists);
  if (fields.planOnly) lists.tools = (lists.tools ?? planTools).filter((tool) => planTools.includes(tool));
  for (const item of fields.disallowedTools) denyTool(item, lists);
  return lists;
}

/** Splits `Read, Bash(git log:*)` at the commas outside brackets. */
export function splitTools(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function allowTools(items: string[], lists: ToolLists): void {
  const names = new Set<string>();
  const whole = new Set<string>();
  const patterns = new Map(patternTools.map((tool): [string, string[]] => [tool, []]));
  let delegates = false;
  for (const item of items) {
    const call = parseToolItem(item, 'tools', lists);
    if (call === null) continue;
    if (isServerTool(call.name)) {
      names.add(toServerPattern(call.name));
      continue;
    }
    const tool = findTool(call.name);
    if (tool === delegation) delegates = true;
    else if (tool === null) lists.warnings.push(`\`tools\`: Retinue has no tool ${call.name}`);
    else {
      if (tool === undefined) lists.warnings.push(`\`tools\`: ${describeUnknownTool(call.name)}`);
      names.add(tool ?? call.name);
      if (call.pattern === null) whole.add(tool ?? call.name);
      else patterns.get(tool as string)?.push(call.pattern);
    }
  }
  for (const [tool, allowed] of patterns)
    if (names.has(tool) && !whole.has(tool)) lists.before.push(`deny ${tool}`, ...allowed.map((pattern) => `allow ${tool}:${pattern}`));
  lists.tools = [...names];
  if (!delegates) lists.disallowedTools.push(...delegationNames);
}

function denyTool(item: string, lists: ToolLists): void {
  if (item === '*') return void lists.disallowedTools.push('*');
  const call = parseToolItem(item, 'disallowedTools', lists);
  if (call === null) return;
  if (isServerTool(call.name)) return void lists.disallowedTools.push(toServerPattern(call.name));
  const tool = findTool(call.name);
  if (tool === null) return;
  if (tool === delegation) lists.disallowedTools.push(...delegationNames);
  else if (call.pattern !== null) lists.after.push(`deny ${String(tool)}:${call.pattern}`);
  else {
    if (tool === undefined) {
      const message = `\`disallowedTools\`: ${describeUnknownTool(call.name)}`;
      // A misspelt name would deny nothing, so it is an error.
      if (nearestName(call.name, builtInToolNames) === null) lists.warnings.push(message);
      else lists.problems.push({ key: 'disallowedTools', message });
    }
    lists.disallowedTools.push(tool ?? call.name);
  }
}

function parseToolItem(item: string, key: ToolKey, lists: ToolLists): { name: string; pattern: string | null } | null {
  const refuse = (why: string) => {
    lists.problems.push({ key, message: `\`${key}\`: \`${item}\` ${why}` });
    return null;
  };
  const parts = /^([A-Za-z_][\w-]*\*?)(?:\((.*)\))?$/s.exec(item.trim());
  if (parts === null) return refuse('is not a tool name; write a name such as `Read`');
  const [, name = '', inner] = parts;
  if (inner === undefined || inner.trim() === '' || inner.trim() === '*') return { name, pattern: null };
  const tool = findTool(name);
  if (typeof tool === 'string' && patternTools.includes(tool)) return { name, pattern: inner.trim().replace(/:\*$/, ' *') };
  if (tool === delegation) return refuse('is refused: delegation cannot be limited to some agents');
  return refuse('is refused: only Bash and Skill accept a pattern here; use `rules`, for example `deny read:secrets/*`');
}

/** The tools of MCP servers are known only when a run starts, so their names are not checked. */
function isServerTool(name: string): boolean {
  return name.startsWith('mcp__');
}

/** `mcp__github` means all tools of that server. */
function toServerPattern(name: string): string {
  return name.endsWith('*') || name.slice('mcp__'.length).includes('__') ? name : `${name}__*`;
}

/** Retinue's name of a tool, or `delegation`; null for a tool that Retinue does not have, undefined for an unknown name. */
function findTool(name: string): string | typeof delegation | null | undefined {
  const low = name.toLowerCase();
  if (builtInToolNames.includes(low)) return low;
  if (Object.hasOwn(otherNames, low)) return otherNames[low];
  return unavailableTools.includes(low) ? null : undefined;
}

function describeUnknownTool(name: string): string {
  const near = nearestName(name, builtInToolNames);
  return `there is no tool \`${name}\`${near === null ? '' : `; did you mean \`${near}\`?`}`;
}
