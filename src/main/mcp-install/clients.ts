// Where each client keeps its MCP servers, and how it writes one down.
import { platform } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { McpClient } from '../../cli/io.ts';
import type { Json } from '../../contract/json.ts';
import { type Env, home } from '../config/places.ts';

export interface ServerCommand {
  command: string;
  args: string[];
}

/** A server in a JSON file: what is set whenever we write, and what only where there was none. */
export interface JsonEntry {
  /** The objects that it stands in. */
  path: string[];
  /** Where those have an object of this name in turn, the servers stand in that. */
  within?: string;
  always: Record<string, Json>;
  first: Record<string, Json>;
  /** In a file where there is nothing yet. */
  around?: Record<string, Json>;
}

export type Client = { user(env: Env): string; project(workspace: string): string } & (
  | { format: 'json'; entry(command: ServerCommand): JsonEntry }
  | { format: 'toml' }
);

/** A file's text with our server in it, and what had to go for that. */
export interface Merged {
  text: string;
  /** Keys of our own entry, as a person writes them. */
  removed: string[];
}

export const serverName = 'retinue';

/** A variable that names a folder counts where it does so absolutely. */
function folder(env: Env, name: string, otherwise: string): string {
  const value = env[name];
  return value && isAbsolute(value) ? value : otherwise;
}

function config(env: Env): string {
  return folder(env, 'XDG_CONFIG_HOME', join(home(env), '.config'));
}

export const clients: Record<McpClient, Client> = {
  'claude-code': {
    user: (env) => join(folder(env, 'CLAUDE_CONFIG_DIR', home(env)), '.claude.json'),
    project: (workspace) => join(workspace, '.mcp.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['mcpServers'], always: { type: 'stdio', command, args }, first: {} }),
  },
  codex: {
    user: (env) => join(folder(env, 'CODEX_HOME', join(home(env), '.codex')), 'config.toml'),
    project: (workspace) => join(workspace, '.codex', 'config.toml'),
    format: 'toml',
  },
  cursor: {
    user: (env) => join(home(env), '.cursor', 'mcp.json'),
    project: (workspace) => join(workspace, '.cursor', 'mcp.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['mcpServers'], always: { command, args }, first: {} }),
  },
  vscode: {
    user: (env) =>
      platform() === 'darwin'
        ? join(home(env), 'Library', 'Application Support', 'Code', 'User', 'mcp.json')
        : join(config(env), 'Code', 'User', 'mcp.json'),
    project: (workspace) => join(workspace, '.vscode', 'mcp.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['servers'], always: { type: 'stdio', command, args }, first: {} }),
  },
  zed: {
    user: (env) => join(platform() === 'darwin' ? join(home(env), '.config') : config(env), 'zed', 'settings.json'),
    project: (workspace) => join(workspace, '.zed', 'settings.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['context_servers'], always: { command, args }, first: { env: {} } }),
  },
  opencode: {
    user: (env) => join(config(env), 'opencode', 'opencode.json'),
    project: (workspace) => join(workspace, 'opencode.json'),
    format: 'json',
    entry: ({ command, args }) => ({
      path: ['mcp'],
      within: 'servers',
      always: { type: 'local', command: [command, ...args] },
      first: { enabled: true },
      around: { $schema: 'https://opencode.ai/config.json' },
    }),
  },
};
