// Subagents of Gemini CLI: Markdown files with front matter. They never delegate.
import { join } from 'node:path';
import { parseFrontMatter } from '../front-matter.ts';
import { setModel, setTurns } from './claude.ts';
import { type AgentFormat, type KeyTable, nameAgent, type Translation, translateEntries } from './format.ts';
import { addServers, serverName } from './servers.ts';
import { addTools, delegation, type ToolNames } from './tools.ts';

const names: ToolNames = {
  tools: {
    read_file: ['read'],
    read_many_files: ['read'],
    write_file: ['write'],
    replace: ['edit'],
    list_directory: ['list'],
    glob: ['glob'],
    grep_search: ['grep'],
    search_file_content: ['grep'],
    run_shell_command: ['bash'],
    web_fetch: ['webfetch'],
    google_web_search: ['websearch'],
    write_todos: ['todo'],
    save_memory: ['memory'],
    activate_skill: ['skill'],
  },
  /** `mcp_server_tool`, `mcp_server_*` and `mcp_*`. The name of a server has no underscore there. */
  serverTool(name) {
    if (name === 'mcp_*') return 'mcp__*';
    const [, given = '', tool = ''] = /^mcp_{1,2}([^_]+)_{1,2}(.+)$/.exec(name) ?? [];
    const server = serverName(given);
    return server !== null && /^(\*|[\w-]+)$/.test(tool) ? `mcp__${server}__${tool}` : null;
  },
};

const servers = (value: Parameters<typeof addServers>[0], to: Translation) =>
  addServers(
    value,
    ({ http_url, url, timeout, trust, description: _, include_tools, exclude_tools, auth, ...rest }) => {
      if (auth !== undefined) return 'Retinue does not support its authentication';
      const address = http_url ?? url;
      const seconds = typeof timeout === 'number' ? timeout / 1000 : undefined;
      return {
        server: { ...rest, url: address, ...(http_url !== undefined && { type: 'http' }), timeout: seconds },
        only: include_tools,
        without: exclude_tools,
        leftOut: trust === true ? ['trust'] : [],
      };
    },
    to,
  );

const table: KeyTable = {
  name: () => {},
  description: 'description',
  display_name: { leftOut: 'Retinue uses the name' },
  kind(value, to) {
    if (value !== 'local') to.refuse('`kind`: only local agents can be used; a remote one works on another machine');
  },
  tools: (value, to) => addTools('tools', value, { names, to }),
  mcpServers: servers,
  mcp_servers: servers,
  model: (value, to) => setModel('google', value, to),
  temperature: { leftOut: 'the setting of the model is used' },
  max_turns: setTurns,
  timeout_mins: (value, to) => to.set('timeout', typeof value === 'number' ? `${value}m` : value),
  agent_card_url: (_, to) => to.refuse('a remote agent cannot be used'),
  agent_card_json: (_, to) => to.refuse('a remote agent cannot be used'),
  auth: (_, to) => to.refuse('a remote agent cannot be used'),
};

export const geminiFormat: AgentFormat = {
  program: 'Gemini CLI',
  folders: ['.gemini/agents'],
  userFolders: ({ home }) => [join(home, '.gemini', 'agents')],
  endings: ['.md'],
  read({ path, text }, stem) {
    const head = parseFrontMatter(path, text);
    if (head === null) return [];
    const raw = translateEntries({ source: path, path }, head, table);
    raw.entries.push({ key: 'disallowedTools', value: mergeDenied(raw.entries), line: 1 });
    const entries = raw.entries.filter(({ key }, index) => key !== 'disallowedTools' || index === raw.entries.length - 1);
    return [nameAgent({ ...raw, entries }, path, [head.entries.find(({ key }) => key === 'name')?.value, stem])];
  },
};

function mergeDenied(entries: { key: string; value: unknown }[]): string[] {
  return [...entries.filter(({ key }) => key === 'disallowedTools').flatMap(({ value }) => value as string[]), delegation];
}
