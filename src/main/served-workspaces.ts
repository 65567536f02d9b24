// The workspaces that a server shows: the one that it was started for, and the others of this user.
import { existsSync, realpathSync } from 'node:fs';
import type { Api } from '../api/api.ts';
import { explainConfiguredCall } from '../config/explain.ts';
import { loadSettings } from '../config/load.ts';
import { listModels } from '../config/model-choice.ts';
import type { Settings } from '../config/settings.ts';
import type { Env } from '../config/user-folders.ts';
import { databaseId, listDatabases } from '../config/workspace-registry.ts';
import { RetinueError } from '../contract/error.ts';
import type { WorkspaceSetup, Workspaces } from '../server/options.ts';
import { listMemories } from './open-api.ts';
import { createWorkspaces } from './workspaces.ts';

export interface ServedWorkspacesOptions {
  /** Of the server's own workspace. */
  api: Api;
  settings: Settings;
  env: Env;
  askMs: number;
  warn(message: string): void;
}

export interface ServedWorkspaces extends Workspaces {
  /** The id of the server's own workspace. */
  own: string;
  setup(id: string): Promise<WorkspaceSetup>;
  /** Leaves what runs in the others for another process to continue. */
  close(reason: string): Promise<void>;
}

export function createServedWorkspaces({ api, settings, env, askMs, warn }: ServedWorkspacesOptions): ServedWorkspaces {
  const others = createWorkspaces({ env, askMs, warn });
  const opened = new Set<Api>();
  const { path } = settings.db;
  const own = databaseId(existsSync(path) ? realpathSync(path) : path);

  return {
    own,
    async list() {
      const all = await others.list();
      const { length: live } = await api.ps({ all: false });
      const { length: questions } = await api.questions();
      const usedAt = all.find(({ id }) => id === own)?.usedAt ?? null;
      return [{ id: own, path: settings.workspace, db: path, live, questions, usedAt }, ...all.filter(({ id }) => id !== own)];
    },
    async open(id) {
      if (id === own) return api;
      const other = await others.open(id);
      opened.add(other);
      return other;
    },
    setup: async (id) => createSetup(id === own ? settings : loadSettingsOf(id, env), env),
    async close(reason) {
      await Promise.allSettled([...opened].map((each) => each.drain(reason)));
      await others.close();
    },
  };
}

/** As a command in that folder would load them. */
function loadSettingsOf(id: string, env: Env): Settings {
  const entry = listDatabases(env).find(({ db }) => databaseId(db) === id);
  if (!entry) throw new RetinueError('usage', `this server knows no workspace \`${id}\`; GET /api/workspaces lists them`);
  return loadSettings({ workspace: entry.workspace, db: entry.db, limits: {}, rules: [] }, { cwd: entry.workspace, env });
}

function createSetup(settings: Settings, env: Env): WorkspaceSetup {
  return {
    models: () => listModels(settings, env),
    memories: () => listMemories(settings),
    policy: (question) => explainConfiguredCall(settings, question, env),
  };
}
