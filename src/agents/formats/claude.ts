// Subagents of Claude Code: Markdown files with front matter. They may also have the keys of Retinue.
import { join } from 'node:path';
import type { Json } from '../../contract/json.ts';
import { parseFrontMatter } from '../front-matter.ts';
import { agentKeys } from '../keys.ts';
import {
  type AgentFormat,
  chooseName,
  isObject,
  isTextList,
  type KeyTable,
  nameAgent,
  type Translation,
  translateEntries,
} from './format.ts';
import { readServer } from './servers.ts';
import { addTools, delegation, leaveOutHooks, type ToolNames } from './tools.ts';

const own = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash', 'webfetch', 'websearch', 'todo', 'memory', 'scratchpad', 'skill'];

const claudeTools: ToolNames = {
  tools: {
    ...Object.fromEntries(own.map((tool) => [tool, [tool]])),
    multiedit: ['edit'],
    ls: ['list'],
    todowrite: ['todo'],
    todoread: ['todo'],
    task: [delegation],
    agent: [delegation],
    delegate: [delegation],
  },
  serverTool: (name) => (name.startsWith('mcp__') ? name : null),
};

const maxTurns = 500;

const noObserver = { leftOut: 'no second agent watches a run; `checks` can have its result judged by one' };

const table: KeyTable = {
  ...Object.fromEntries(agentKeys.map((key) => [key, key])),
  name: () => {},
  // Other keys may add rules too.
  rules: (value, to) => (isTextList(value) ? to.add('rules', value) : to.set('rules', value)),
  tools: (value, to) => addTools('tools', value, { names: claudeTools, to }),
  disallowedTools: (value, to) => addTools('disallowedTools', value, { names: claudeTools, to }),
  model: setClaudeModel,
  maxTurns: setTurns,
  permissionMode(value, to) {
    if (value === 'plan') to.set('permissionMode', value);
    else if (value !== 'default' && value !== 'manual')
      to.leaveOut(`\`permissionMode: ${text(value)}\``, 'your own rules decide what needs approval; an agent can only restrict');
  },
  mcpServers: addClaudeServers,
  hooks: (value, to) => leaveOutHooks(value, { names: claudeTools, to }),
  effort: 'effort',
  memory: { leftOut: 'use the tool `memory` instead' },
  background: { leftOut: 'the run that delegates decides what runs in the background' },
  initialPrompt: { leftOut: 'the task is the first message' },
  omitClaudeMd(value, to) {
    if (value === true) to.set('workspaceRules', false);
    else if (value !== false) to.leaveOut(`\`omitClaudeMd: ${text(value)}\``, 'it must be true or false');
  },
  autoCompactWindow: { leftOut: 'the window of the model and `compaction` of the configuration decide when a conversation is summarised' },
  observer: noObserver,
  observerMessage: noObserver,
  observeSubagents: noObserver,
  color: { leftOut: 'Retinue shows no colours of agents' },
};

export const claudeFormat: AgentFormat = {
  program: 'Claude Code',
  folders: ['.claude/agents'],
  userFolders: ({ home, variable }) => [join(variable('CLAUDE_CONFIG_DIR') ?? join(home, '.claude'), 'agents')],
  endings: ['.md'],
  read({ path, text: content }, stem) {
    const head = parseFrontMatter(path, content);
    if (head === null) return [];
    const given = head.entries.find(({ key }) => key === 'name')?.value;
    // A name with a slash adds an agent to a dialect.
    const candidates = typeof given === 'string' && /^[a-z]+\/[a-z0-9][a-z0-9_-]*$/.test(given) ? [] : [given, stem];
    const raw = translateEntries({ source: path, path }, head, table);
    if (candidates.length > 0) return [nameAgent(raw, path, candidates)];
    return [{ ...raw, entries: [{ key: 'name', value: given as string, line: 1 }, ...raw.entries] }];
  },
};

/** A number above Retinue's limit is left out: the limit of the settings applies. */
export function setTurns(value: Json, to: Translation): void {
  if (typeof value === 'number' && value > maxTurns) to.leaveOut(`\`maxTurns: ${value}\``, `at most ${maxTurns} are possible`);
  else to.set('maxTurns', value);
}

export function setModel(provider: string, value: Json, to: Translation): void {
  if (typeof value === 'string' && value !== '' && value !== 'inherit' && !value.includes('/')) to.set('model', `${provider}/${value}`);
  else to.set('model', value);
}

/** Aliases such as `sonnet` name no model of a provider. */
function setClaudeModel(value: Json, to: Translation): void {
  if (typeof value === 'string' && /^claude-[\w.-]+$/.test(value)) to.set('model', `anthropic/${value}`);
  else if (typeof value === 'string' && /^(default|sonnet|opus|haiku|fable|best|opusplan)(\[1m\])?$/.test(value))
    to.leaveOut(`\`model: ${value}\``, 'it names no model of a provider, so the model of your settings or of the delegating run is used');
  else to.set('model', value);
}

/** A list of names of configured servers and of definitions, or definitions by name. */
function addClaudeServers(value: Json, to: Translation): void {
  const items = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : Array.isArray(value) ? value : [value];
  const servers = items.flatMap((item): Json[] => {
    if (typeof item === 'string') return [chooseName([item]) ?? item];
    if (!isObject(item)) return [];
    return Object.entries(item).flatMap(([name, fields]) => readServer(name, fields, (server) => ({ server }), to) ?? []);
  });
  to.set('mcpServers', servers);
}

function text(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
