// Custom agents of GitHub Copilot and VS Code: Markdown files with front matter. The file has the name; `name` is only shown.
import { join } from 'node:path';
import type { Json } from '../../contract/json.ts';
import { parseFrontMatter } from '../front-matter.ts';
import { type AgentFormat, isTextList, type KeyTable, nameAgent, type Translation, translateEntries } from './format.ts';
import { addServers, serverName } from './servers.ts';
import { addTools, delegation, leaveOutHooks, type ToolNames } from './tools.ts';

const search = ['grep', 'glob', 'list'];
const web = ['webfetch', 'websearch'];

/** Names of tool sets, and of the tools in them that VS Code uses. */
const tools: ToolNames['tools'] = {
  ...group(['execute', 'shell', 'bash', 'powershell', 'runcommands', 'runinterminal', 'execute/runinterminal'], ['bash']),
  ...group(['read', 'view', 'notebookread', 'readfile', 'read/readfile'], ['read']),
  ...group(['edit', 'multiedit', 'write', 'notebookedit', 'editfiles', 'edit/editfiles'], ['edit', 'write']),
  ...group(['edit/createfile', 'createfile'], ['write']),
  ...group(['search', 'grep', 'glob', 'codebase', 'search/codebase'], search),
  ...group(['search/textsearch', 'textsearch'], ['grep']),
  ...group(['search/filesearch', 'filesearch'], ['glob']),
  ...group(['search/listdirectory', 'listdirectory'], ['list']),
  ...group(['web', 'webfetch', 'websearch'], web),
  ...group(['fetch', 'web/fetch'], ['webfetch']),
  ...group(['agent', 'custom-agent', 'task', 'runsubagent', 'agent/runsubagent'], [delegation]),
  ...group(['todo', 'todos', 'todowrite'], ['todo']),
  skill: ['skill'],
};
const toolSets = ['execute', 'read', 'edit', 'search', 'web', 'agent', 'todo', 'vscode'];

const names: ToolNames = {
  tools: { ...tools, ...Object.fromEntries(toolSets.flatMap((set) => (tools[set] ? [[`${set}/*`, tools[set]]] : []))) },
  /** `server/tool` and `server/*`, unless it names a tool set. */
  serverTool(name) {
    const [, given = '', tool = ''] = /^([^/]+)\/([^/]+)$/.exec(name) ?? [];
    if (toolSets.includes(given.toLowerCase()) || /[^\w-]/.test(given)) return null;
    const server = serverName(given);
    return server !== null && /^(\*|[\w-]+)$/.test(tool) ? `mcp__${server}__${tool}` : null;
  },
};

const table: KeyTable = {
  name: () => {},
  description: 'description',
  tools: (value, to) => addTools('tools', value, { names, to }),
  agents: limitDelegation,
  model(value, to) {
    if (typeof value === 'string' && /^[\w-]+\/[\w./:-]+$/.test(value)) to.set('model', value);
    else to.leaveOut(`\`model: ${typeof value === 'string' ? value : JSON.stringify(value)}\``, 'it names a model of Copilot');
  },
  'mcp-servers': (value, to) =>
    addServers(value, ({ type, tools: only, ...rest }) => ({ server: { ...rest, type: type === 'local' ? 'stdio' : type }, only }), to),
  hooks: (value, to) => leaveOutHooks(value, { names, to }),
  target: { leftOut: 'the agent is used here whatever its target is' },
  'user-invocable': { leftOut: 'a user may run every agent' },
  'user-invokable': { leftOut: 'a user may run every agent' },
  'disable-model-invocation': (value, to) => setModelInvocation(value !== false && value !== 'false', to),
  infer: (value, to) => setModelInvocation(value === false || value === 'false', to),
  'argument-hint': { leftOut: 'it is shown only in editors' },
  handoffs: { leftOut: 'an agent hands its result to whoever started it' },
  metadata: { leftOut: 'it has no effect' },
};

export const githubFormat: AgentFormat = {
  program: 'GitHub Copilot',
  folders: ['.github/agents'],
  userFolders: ({ home }) => [join(home, '.copilot', 'agents')],
  endings: ['.agent.md', '.md'],
  read({ path, text }, stem) {
    const head = parseFrontMatter(path, text);
    if (head === null) return [];
    return [nameAgent(translateEntries({ source: path, path }, head, table), path, [stem])];
  },
};

/** A value that is no boolean counts as the stricter one. */
function setModelInvocation(isDisabled: boolean, to: Translation): void {
  if (isDisabled) to.set('modelInvocation', false);
}

/** Retinue cannot limit delegation to some agents, so a list of them removes it. */
function limitDelegation(value: Json, to: Translation): void {
  if (value === '*' || (isTextList(value) && value.includes('*'))) return;
  to.add('disallowedTools', [delegation]);
  if (!(Array.isArray(value) && value.length === 0))
    to.leaveOut('`agents`', 'delegation cannot be limited to some agents, so the agent does not delegate');
}

function group(keys: string[], found: string[]): ToolNames['tools'] {
  return Object.fromEntries(keys.map((key) => [key, found]));
}
