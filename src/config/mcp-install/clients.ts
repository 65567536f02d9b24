// Where each MCP client keeps its servers, and how it writes one.
//
// `config/mcp-install/` adds Retinue's own server to the configuration file of an MCP client. It is in `config/` and not in `mcp/` because
// it only edits configuration files: it knows nothing of the protocol, and the command line uses its types.
import { platform } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { type Env, homeFolder } from '../user-folders.ts';

export const mcpClients = ['claude-code', 'codex', 'cursor', 'vscode', 'zed', 'opencode'] as const;
export type McpClient = (typeof mcpClients)[number];

export interface ServerCommand {
  command: string;
  args: string[];
  /** Variables that the server needs, for clients that pass on only those they are told to. */
  variables: string[];
}

/** A server in a JSON file. */
export interface JsonEntry {
  /** Keys of the objects that contain the entry. */
  path: string[];
  /** If the object at `path` has an object of this name, the entry goes into that one. */
  nestedIn?: string;
  /** Keys that are set at every installation. */
  always: Record<string, Json>;
  /** Keys that are set only in a new entry. */
  initial: Record<string, Json>;
  /** Further top-level keys of a new file. */
  newFile?: Record<string, Json>;
}

/** How a file has the entry of a server. */
export type EntryFormat = { format: 'json'; entry(command: ServerCommand): JsonEntry } | { format: 'toml' };

export type ClientFormat = { userFile(env: Env): string; projectFile(workspace: string): string } & EntryFormat;

/** A file's text with the server in it. */
export interface MergeResult {
  text: string;
  /** Dotted keys of the server's entry that were removed. */
  removed: string[];
}

export const serverName = 'retinue';

export function notChangedError(file: string, why: string): RetinueError {
  return new RetinueError('invalid_config', `${file} was not changed: ${why}. --print shows what to add by hand`);
}

/** The folder in a variable, if it is an absolute path. */
function folderFrom(env: Env, name: string, fallback: string): string {
  const value = env[name];
  return value && isAbsolute(value) ? value : fallback;
}

export function configFolder(env: Env): string {
  return folderFrom(env, 'XDG_CONFIG_HOME', join(homeFolder(env), '.config'));
}

export const clientFormats: Record<McpClient, ClientFormat> = {
  'claude-code': {
    userFile: (env) => join(folderFrom(env, 'CLAUDE_CONFIG_DIR', homeFolder(env)), '.claude.json'),
    projectFile: (workspace) => join(workspace, '.mcp.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['mcpServers'], always: { type: 'stdio', command, args }, initial: {} }),
  },
  codex: {
    userFile: (env) => join(folderFrom(env, 'CODEX_HOME', join(homeFolder(env), '.codex')), 'config.toml'),
    projectFile: (workspace) => join(workspace, '.codex', 'config.toml'),
    format: 'toml',
  },
  cursor: {
    userFile: (env) => join(homeFolder(env), '.cursor', 'mcp.json'),
    projectFile: (workspace) => join(workspace, '.cursor', 'mcp.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['mcpServers'], always: { command, args }, initial: {} }),
  },
  vscode: {
    userFile: (env) =>
      platform() === 'darwin'
        ? join(homeFolder(env), 'Library', 'Application Support', 'Code', 'User', 'mcp.json')
        : join(configFolder(env), 'Code', 'User', 'mcp.json'),
    projectFile: (workspace) => join(workspace, '.vscode', 'mcp.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['servers'], always: { type: 'stdio', command, args }, initial: {} }),
  },
  zed: {
    userFile: (env) => join(platform() === 'darwin' ? join(homeFolder(env), '.config') : configFolder(env), 'zed', 'settings.json'),
    projectFile: (workspace) => join(workspace, '.zed', 'settings.json'),
    format: 'json',
    entry: ({ command, args }) => ({ path: ['context_servers'], always: { command, args }, initial: { env: {} } }),
  },
  opencode: {
    userFile: (env) => join(configFolder(env), 'opencode', 'opencode.json'),
    projectFile: (workspace) => join(workspace, 'opencode.json'),
    format: 'json',
    entry: ({ command, args }) => ({
      path: ['mcp'],
      nestedIn: 'servers',
      always: { type: 'local', command: [command, ...args] },
      initial: { enabled: true },
      newFile: { $schema: 'https://opencode.ai/config.json' },
    }),
  },
};
