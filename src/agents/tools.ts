// Lists of tools in agent files: names of the Claude Code format in any case, ours, those of MCP servers (`mcp__github__*`), and patterns
// such as `Bash(git log:*)`.

/** Stands for the delegation tools, whatever the dialect in force calls them. */
const delegation = Symbol('delegation');
/** The names that dialects give to their delegation tools, as rules match them. */
const delegationNames = ['delegate*', 'subagent*', 'spawn_subagent', 'parallel_subagent', 'task', 'task_*'];

const same = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash', 'webfetch', 'websearch', 'todo', 'memory', 'scratchpad'];
const others: Record<string, string | typeof delegation> = {
  multiedit: 'edit',
  ls: 'list',
  todowrite: 'todo',
  todoread: 'todo',
  task: delegation,
  agent: delegation,
  delegate: delegation,
};
/** Tools of the Claude Code format that have nothing like them here. */
const absent = [
  ...['notebookedit', 'notebookread', 'bashoutput', 'killshell', 'killbash', 'taskoutput', 'taskstop', 'skill', 'slashcommand', 'lsp'],
  ...['exitplanmode', 'enterplanmode', 'askuserquestion', 'listmcpresourcestool', 'readmcpresourcetool', 'toolsearch', 'monitor'],
];
/** What an agent that only plans may use. */
const planning = ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch', 'todo'];

export interface ToolLists {
  /** Absent: every tool there is. */
  tools?: string[];
  disallowedTools: string[];
  /** To stand before the file's own rules. */
  before: string[];
  /** To stand after them: what is denied stays denied. */
  after: string[];
  problems: { key: ToolKey; message: string }[];
  warnings: string[];
}

type ToolKey = 'tools' | 'disallowedTools';

export interface ToolsWritten {
  tools: string[] | undefined;
  disallowedTools: string[];
  /** Only tools that change nothing. */
  planOnly: boolean;
  nearest(word: string, candidates: readonly string[]): string | null;
}

/** Turns what is written into lists and rules. A list without `Task` or `Agent` leaves no delegation. */
export function readTools(written: ToolsWritten): ToolLists {
  const lists: ToolLists = { disallowedTools: [], before: [], after: [], problems: [], warnings: [] };
  if (written.tools !== undefined && !written.tools.includes('*')) allow(written.tools, lists, written);
  if (written.planOnly) lists.tools = (lists.tools ?? planning).filter((tool) => planning.includes(tool));
  for (const item of written.disallowedTools) deny(item, lists, written);
  return lists;
}

/** Splits `Read, Bash(git log:*)` at the commas outside brackets. */
export function splitTools(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function allow(items: string[], lists: ToolLists, { nearest }: ToolsWritten): void {
  const names = new Set<string>();
  const whole = new Set<string>();
  const commands: string[] = [];
  let delegates = false;
  for (const item of items) {
    const call = split(item, 'tools', lists);
    if (call === null) continue;
    if (isOfServer(call.name)) {
      names.add(wholeServer(call.name));
      continue;
    }
    const tool = known(call.name);
    if (tool === delegation) delegates = true;
    else if (tool === null) lists.warnings.push(`\`tools\`: there is no ${call.name} here`);
    else {
      if (tool === undefined) lists.warnings.push(`\`tools\`: ${stranger(call.name, nearest)}`);
      names.add(tool ?? call.name);
      if (call.pattern === null) whole.add(tool ?? call.name);
      else commands.push(call.pattern);
    }
  }
  if (names.has('bash') && !whole.has('bash')) lists.before.push('deny bash', ...commands.map((command) => `allow bash:${command}`));
  lists.tools = [...names];
  if (!delegates) lists.disallowedTools.push(...delegationNames);
}

function deny(item: string, lists: ToolLists, { nearest }: ToolsWritten): void {
  if (item === '*') return void lists.disallowedTools.push('*');
  const call = split(item, 'disallowedTools', lists);
  if (call === null) return;
  if (isOfServer(call.name)) return void lists.disallowedTools.push(wholeServer(call.name));
  const tool = known(call.name);
  if (tool === null) return;
  if (tool === delegation) lists.disallowedTools.push(...delegationNames);
  else if (call.pattern !== null) lists.after.push(`deny bash:${call.pattern}`);
  else {
    if (tool === undefined) {
      const message = `\`disallowedTools\`: ${stranger(call.name, nearest)}`;
      // A misspelt name would deny nothing.
      if (nearest(call.name, same) === null) lists.warnings.push(message);
      else lists.problems.push({ key: 'disallowedTools', message });
    }
    lists.disallowedTools.push(tool ?? call.name);
  }
}

function split(item: string, key: ToolKey, lists: ToolLists): { name: string; pattern: string | null } | null {
  const refuse = (why: string) => {
    lists.problems.push({ key, message: `\`${key}\`: \`${item}\` ${why}` });
    return null;
  };
  const parts = /^([A-Za-z_][\w-]*\*?)(?:\((.*)\))?$/s.exec(item.trim());
  if (parts === null) return refuse('is no tool; write a name such as `Read`');
  const [, name = '', inner] = parts;
  if (inner === undefined || inner.trim() === '' || inner.trim() === '*') return { name, pattern: null };
  const tool = known(name);
  if (tool === 'bash') return { name, pattern: inner.trim().replace(/:\*$/, ' *') };
  if (tool === delegation) return refuse('is refused: which agents may be delegated to cannot be limited');
  return refuse('is refused: only Bash takes a pattern here; write it in `rules`, for example `deny read:secrets/*`');
}

/** Tools of MCP servers are known only when a run starts. */
function isOfServer(name: string): boolean {
  return name.startsWith('mcp__');
}

/** `mcp__github` means all that this server has. */
function wholeServer(name: string): string {
  return name.endsWith('*') || name.slice('mcp__'.length).includes('__') ? name : `${name}__*`;
}

/** Ours, `delegation`, null for one that is not there, undefined for a name that nobody knows. */
function known(name: string): string | typeof delegation | null | undefined {
  const low = name.toLowerCase();
  if (same.includes(low)) return low;
  if (Object.hasOwn(others, low)) return others[low];
  return absent.includes(low) ? null : undefined;
}

function stranger(name: string, nearest: ToolsWritten['nearest']): string {
  const near = nearest(name, same);
  return `no tool has the name \`${name}\`${near === null ? '' : `; did you mean \`${near}\`?`}`;
}
