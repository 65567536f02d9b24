// Custom agents of Codex: TOML files with a name, instructions, and any setting of Codex.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { createProblem, type FrontMatterEntry, maxHeadBytes } from '../front-matter.ts';
import { type AgentFormat, isObject, type KeyTable, nameAgent, type Translation, translateEntries } from './format.ts';
import { addServers } from './servers.ts';
import { delegation } from './tools.ts';

/** Settings of the program itself. None of them restricts what the agent may do. */
const ofCodex = [
  ...['nickname_candidates', 'model_provider', 'model_reasoning_summary', 'model_verbosity', 'model_context_window', 'service_tier'],
  ...['model_auto_compact_token_limit', 'tool_output_token_limit', 'personality', 'features', 'history', 'tui', 'file_opener'],
  ...['hide_agent_reasoning', 'show_raw_agent_reasoning', 'profile', 'project_doc_max_bytes', 'project_doc_fallback_filenames'],
];
const widening = { leftOut: 'your own rules and sandbox decide; an agent can only restrict' };
const never = { leftOut: 'commands beside the agent are never run' };

const table: KeyTable = {
  ...Object.fromEntries(ofCodex.map((key) => [key, { leftOut: 'it is a setting of Codex itself' }])),
  name: () => {},
  description: 'description',
  developer_instructions: (value, to) => {
    if (typeof value === 'string') to.addPrompt(value);
    else to.refuse('`developer_instructions` must be a text');
  },
  model_reasoning_effort: 'effort',
  sandbox_mode(value, to) {
    if (value === 'read-only') to.add('disallowedTools', ['write', 'edit']);
    else if (value !== 'workspace-write') to.leaveOut(`\`sandbox_mode: ${String(value)}\``, widening.leftOut);
  },
  approval_policy(value, to) {
    if (value === 'untrusted') to.add('rules', ['ask bash']);
    else to.leaveOut('`approval_policy`', widening.leftOut);
  },
  web_search(value, to) {
    if (value === 'disabled' || value === false) to.add('disallowedTools', ['websearch']);
    else to.leaveOut('`web_search`', 'the tool `websearch` is used where it is available');
  },
  agents(value, to) {
    if (isObject(value) && value.max_depth === 0) to.add('disallowedTools', [delegation]);
    to.leaveOut('`agents`', 'the limits of your settings apply');
  },
  mcp_servers: (value, to) => addServers(value, translateServer, to),
  skills: { leftOut: 'every skill is offered; use `rules` to deny some' },
  sandbox_workspace_write: widening,
  shell_environment_policy: { leftOut: 'commands get only the variables that your configuration grants' },
  allow_login_shell: widening,
  model_instructions_file: { leftOut: 'other files are not read' },
  model_providers: { leftOut: 'your own configuration says where models are' },
  hooks: never,
  notify: never,
};

export const codexFormat: AgentFormat = {
  program: 'Codex',
  folders: ['.codex/agents'],
  userFolders: ({ home, variable }) => [join(variable('CODEX_HOME') ?? join(home, '.codex'), 'agents')],
  endings: ['.toml'],
  read({ path, text }, stem) {
    const entries = parseToml(path, text);
    const provider = entries.find(({ key }) => key === 'model_provider')?.value ?? 'openai';
    const rules = { ...table, model: (value: Json, to: Translation) => setCodexModel(value, provider, to) };
    const raw = translateEntries({ source: path, path }, { entries, body: '' }, rules);
    return [nameAgent(raw, path, [entries.find(({ key }) => key === 'name')?.value, stem])];
  },
};

function setCodexModel(value: Json, provider: Json, to: Translation): void {
  if (provider === 'openai' && typeof value === 'string' && value !== '') to.set('model', value.includes('/') ? value : `openai/${value}`);
  else to.leaveOut('`model`', 'its provider is defined only in Codex');
}

function translateServer(fields: { [key: string]: Json }) {
  const { enabled, enabled_tools, disabled_tools, env_vars, bearer_token_env_var, http_headers, env_http_headers, ...rest } = fields;
  const { startup_timeout_sec, tool_timeout_sec, required: _, ...server } = rest;
  if (enabled === false) return 'it is disabled in its file';
  if (bearer_token_env_var !== undefined) return 'Retinue does not support `bearer_token_env_var`; use `headers`';
  const renamed = { envFrom: env_vars, headers: http_headers, headersFrom: env_http_headers };
  return {
    server: { ...server, ...renamed, startupTimeout: startup_timeout_sec, timeout: tool_timeout_sec },
    only: enabled_tools,
    without: disabled_tools,
  };
}

/** Keys of the top level, in the order of the file. Throws `invalid_config`. */
function parseToml(file: string, text: string): FrontMatterEntry[] {
  if (Buffer.byteLength(text) > maxHeadBytes) throw createProblem(file, 1, `the file is larger than ${maxHeadBytes} bytes`);
  const { parse } = createRequire(import.meta.url)('smol-toml') as typeof import('smol-toml');
  let table: object;
  try {
    table = parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    const { line = 1, message = '' } = error as { line?: number; message?: string };
    throw createProblem(file, line, `invalid TOML: ${message.split('\n')[0]}`);
  }
  const lines = text.split('\n');
  return Object.entries(table).map(([key, value]) => {
    const line = lines.findIndex((each) => each.trimStart().startsWith(key) || each.trimStart().startsWith(`[${key}`)) + 1;
    return { key, value: toJson(value, file), line: Math.max(1, line) };
  });
}

/** Dates become texts. */
function toJson(value: unknown, file: string): Json {
  try {
    return JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? Number(each) : each)));
  } catch (error) {
    throw new RetinueError('invalid_config', `${file}:1: ${(error as Error).message}`);
  }
}
