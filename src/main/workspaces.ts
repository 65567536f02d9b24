// The workspaces of this user, for `retinue ps --everywhere` and the server: lists their databases, and opens the API of another one as a command in
// its folder would, with its own settings and rights.
//
// Only databases that the user created or adopted on this machine are opened. Counting runs opens them only for reading.
import { statSync } from 'node:fs';
import { builtInAgents } from '../agents/built-in.ts';
import { createCatalog } from '../agents/catalog.ts';
import type { Api } from '../api/api.ts';
import { stopReasons } from '../cli/session/stop-signals.ts';
import { isOwnDatabase } from '../config/database-origin.ts';
import { loadSettings } from '../config/load.ts';
import { createUserAuthenticator } from '../config/order-key.ts';
import { checkRules } from '../config/rulesets.ts';
import type { Settings } from '../config/settings.ts';
import type { Env } from '../config/user-folders.ts';
import { databaseId, listDatabases, type RegisteredDatabase } from '../config/workspace-registry.ts';
import { RetinueError } from '../contract/error.ts';
import type { Workspace } from '../contract/http.ts';
import { native } from '../dialects/native.ts';
import { openSqliteReader } from '../stores/sqlite/reader.ts';
import { assembleApi } from './assemble.ts';
import { createIdleApi, type IdleApi } from './idle-api.ts';
import { openApi } from './open-api.ts';
import { openFile } from './open-file.ts';

/** An API that is not used for this long is closed; the next request opens it again. */
const defaultIdleMs = 300_000;

export interface Workspaces {
  /** The last used first. `live` and `questions` are null if the database cannot be read. */
  list(): Promise<Workspace[]>;
  /** For watching and steering, and for starting runs if the settings of the workspace are valid. Rejects with `usage` for an unknown id. */
  open(id: string): Promise<Api>;
  /** The settings of a command in that workspace. Rejects with `usage` for an unknown id, and like `loadSettings`. */
  settings(id: string): Promise<Settings>;
  /** Leaves what this process drives there for another one to continue. */
  close(): Promise<void>;
}

export interface WorkspacesOptions {
  env: Env;
  warn(message: string): void;
  /** How long a call that needs approval waits for an answer. Absent: such calls of runs that are driven here are denied. */
  askMs?: number | undefined;
  /** Tokens of the server, which are secrets of the runs too. */
  serverTokens?: string[] | undefined;
  idleMs?: number;
}

export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { env, idleMs = defaultIdleMs } = options;
  const opened = new Map<string, Promise<IdleApi>>();
  const counts = new Map<string, { state: string; live: number; questions: number }>();

  async function countRuns(entry: RegisteredDatabase): Promise<{ live: number | null; questions: number | null }> {
    const state = describeFiles(entry.db);
    const known = counts.get(entry.db);
    if (known?.state === state) return known;
    try {
      const counted = await useReader(env, entry, async (api) => ({
        live: (await api.ps({ all: false })).length,
        questions: (await api.questions()).length,
      }));
      counts.set(entry.db, { state, ...counted });
      return counted;
    } catch {
      return { live: null, questions: null };
    }
  }

  function findEntry(id: string): RegisteredDatabase {
    const entry = listDatabases(env).find(({ db }) => databaseId(db) === id);
    if (!entry) throw new RetinueError('usage', `there is no workspace with the id \`${id}\`; GET /api/workspaces lists them`);
    return entry;
  }

  async function openEntry(entry: RegisteredDatabase, id: string): Promise<IdleApi> {
    assertOwn(env, entry);
    return createIdleApi(await openWorkspace(entry, options), { idleMs, onIdle: () => void closeOne(id).catch(() => {}) });
  }

  async function closeOne(id: string): Promise<void> {
    const found = opened.get(id);
    opened.delete(id);
    await (await found)?.close();
  }

  return {
    async list() {
      const rows: Workspace[] = [];
      for (const entry of listDatabases(env)) {
        const { live, questions } = await countRuns(entry);
        rows.push({ id: databaseId(entry.db), path: entry.workspace, db: entry.db, live, questions, usedAt: entry.usedAt });
      }
      return rows;
    },
    async open(id) {
      const known = opened.get(id);
      if (known) return (await known).api;
      const opening = openEntry(findEntry(id), id);
      opened.set(id, opening);
      opening.catch(() => opened.delete(id));
      return (await opening).api;
    },
    settings: async (id) => loadEntrySettings(findEntry(id), env),
    async close() {
      const drain = async (found: Promise<IdleApi>) => (await found).api.drain(stopReasons.terminate);
      await Promise.allSettled([...opened.values()].map(drain));
      await Promise.allSettled([...opened.keys()].map(closeOne));
    },
  };
}

/** Opens the database of an entry only for reading, and closes it afterwards. Rejects with `usage` if it is not the user's own. */
export async function useReader<T>(env: Env, entry: RegisteredDatabase, work: (api: Api) => Promise<T>): Promise<T> {
  assertOwn(env, entry);
  const store = await openSqliteReader({ path: entry.db, authenticator: createUserAuthenticator(env), isOwn: true });
  const reason = new RetinueError('internal', 'the database was opened only for reading');
  const api = assembleApi({
    store,
    catalog: createCatalog(builtInAgents),
    dialect: native,
    checkRules,
    prepareRuntime: () => Promise.reject(reason),
  });
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

/** With settings that cannot be loaded, runs can be watched and steered, but nothing can be started. */
async function openWorkspace(entry: RegisteredDatabase, { env, warn, askMs, serverTokens = [] }: WorkspacesOptions): Promise<Api> {
  const name = (message: string) => `${entry.workspace}: ${message}`;
  let settings: Settings;
  try {
    settings = loadEntrySettings(entry, env);
    settings.agents();
  } catch (error) {
    warn(name(`no runs can be started: ${(error as Error).message}`));
    const warnHere = (message: string) => warn(name(message));
    const store = await openFile({ env, path: entry.db, adopt: false, access: 'write', durability: 'normal', warn: warnHere });
    const prepareRuntime = () => Promise.reject(error);
    return assembleApi({ store, catalog: createCatalog(builtInAgents), dialect: native, checkRules, prepareRuntime });
  }
  for (const notice of settings.notices) warn(name(notice));
  const options = { drive: true, existingOnly: true, askMs, serverTokens: () => serverTokens };
  return openApi(settings, { ...options, warn: (message) => warn(name(message)) });
}

function loadEntrySettings({ workspace, db }: RegisteredDatabase, env: Env): Settings {
  return loadSettings({ workspace, db, limits: {}, rules: [] }, { cwd: workspace, env });
}

function assertOwn(env: Env, { db }: RegisteredDatabase): void {
  if (!isOwnDatabase(env, db))
    throw new RetinueError('usage', `${db} was not created by you on this machine; adopt it there with \`retinue resume --adopt\``);
}

/** Changes with every write to the database. */
function describeFiles(db: string): string {
  const files = ['', '-wal'].map((suffix) => statSync(`${db}${suffix}`, { bigint: true, throwIfNoEntry: false }));
  return files.map((file) => `${file?.size} ${file?.mtimeNs}`).join();
}
