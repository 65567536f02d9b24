// The editors that `retinue acp install` knows, and how each writes the entry of an agent.
import { platform } from 'node:os';
import { join } from 'node:path';
import { configFolder, type EntryFormat } from '../mcp-install/clients.ts';
import { type Env, homeFolder } from '../user-folders.ts';

export const acpEditors = ['zed', 'jetbrains', 'neovim'] as const;
export type AcpEditor = (typeof acpEditors)[number];

/** Neovim has none: its configuration is a program, which is never changed. */
export const editorFiles: Record<Exclude<AcpEditor, 'neovim'>, { file(env: Env): string; format: EntryFormat }> = {
  zed: {
    file: (env) => join(platform() === 'darwin' ? join(homeFolder(env), '.config') : configFolder(env), 'zed', 'settings.json'),
    format: {
      format: 'json',
      entry: ({ command, args }) => ({ path: ['agent_servers'], always: { type: 'custom', command, args }, initial: { env: {} } }),
    },
  },
  jetbrains: {
    file: (env) => join(homeFolder(env), '.jetbrains', 'acp.json'),
    format: {
      format: 'json',
      entry: ({ command, args }) => ({ path: ['agent_servers'], always: { command, args }, initial: { env: {} } }),
    },
  },
};
