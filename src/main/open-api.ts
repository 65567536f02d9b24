// Opens the API for a command, from its settings.
import { existsSync, rmSync } from 'node:fs';
import type { Api } from '../api/api.ts';
import type { OpenOptions } from '../cli/io.ts';
import { createAgentCatalog } from '../config/agents.ts';
import type { RuntimeInput } from '../config/assembly.ts';
import { assertOwnDatabase, recordCreatedDatabase } from '../config/database-origin.ts';
import { findDialect, loadDialect } from '../config/dialect.ts';
import { createNamedModels, findSearchBackend } from '../config/models.ts';
import { settingsRulesets } from '../config/rulesets.ts';
import { grantedVariables } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import { probeShellAccess } from '../config/shell-access.ts';
import { RetinueError } from '../contract/error.ts';
import { catalogForDialect } from '../kernel/dialect-tools.ts';
import { describeModelOptions } from '../models/advice.ts';
import { withPrices } from '../models/prices.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Memories } from '../ports/notes.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { createMemoryNotes, type Notes } from '../stores/notes-memory.ts';
import { openNotes } from '../stores/notes-sqlite.ts';
import { openSqliteStore } from '../stores/sqlite/create.ts';
import { assembleApi } from './assemble.ts';
import { logFile } from './detach.ts';
import type { AssemblyHooks } from './hooks.ts';

export async function openApi(settings: Settings, options: OpenOptions, hooks?: AssemblyHooks): Promise<Api> {
  const { env } = process;
  const { workspace, db, mcpServers } = settings;
  const durability = settings.durability.value;
  const probeShell = () => probeShellAccess(settings.sandbox.value, { workspace, db: db.path, env });
  // A command that certainly starts a run probes the sandbox while the database opens.
  const earlyProbe = options.startsRuns ? probeShell() : null;
  const dialect = await loadDialect(options.dialect, settings, env);
  // A command that only reads creates no database.
  const opened =
    options.drive || existsSync(db.path)
      ? await openSqliteStore({ path: db.path, durability, crash: hooks?.crash, made: recordDatabase })
      : createMemoryStore();
  const store = hooks ? hooks.wrapStore(opened) : opened;
  const catalog = createAgentCatalog(settings);
  const dialectCatalog = catalogForDialect(dialect, catalog);
  const notes = openNotesLazily(() => openNotes({ path: db.path, durability }));

  async function prepareRuntime(): Promise<RuntimeInput> {
    const shell = await (earlyProbe ?? probeShell());
    const { askMs } = options;
    return {
      ...{ env, workspace, mcpServers, shell, notes },
      readable: settings.readable,
      models: withPrices(createNamedModels(env, settings.providers), settings.prices),
      model: settings.model?.value ?? null,
      limits: settings.limits.config,
      rulesets: (delegationTools) => settingsRulesets(settings, delegationTools, shell),
      grantedVariables: (rights) => grantedVariables(rights, { ...settings, catalog: dialectCatalog }, env),
      secretNames: [
        ...Object.values(settings.providers).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []),
        ...Object.values(settings.env).flat(),
      ],
      search: findSearchBackend(env),
      programTools: [],
      host: options.host,
      questions: askMs === undefined ? undefined : { attended: () => true, timeoutMs: askMs },
    };
  }

  const api = assembleApi(
    {
      ...{ store, catalog, dialect, prepareRuntime },
      dialectNamed: (name) => findDialect(name, settings, env),
      advise: (brief) => adviseOnModel(settings, brief, dialectCatalog),
      async forget(rootId, runIds) {
        await notes.scratchpads.remove(rootId);
        for (const runId of runIds) rmSync(logFile(workspace, runId), { force: true });
      },
    },
    hooks,
  );
  return {
    ...api,
    async start(brief, startOptions) {
      const advice = await api.advise(brief as { model?: string; agent?: string });
      if (advice !== null) throw new RetinueError('unknown_model', advice);
      return api.start(brief, startOptions);
    },
    async resume(rootId, resumeOptions) {
      if (!options.adopted) assertOwnDatabase(env, db.path);
      return api.resume(rootId, resumeOptions);
    },
    async close() {
      await api.close();
      await notes.close();
    },
  };
}

/** The notes of the workspace's database, for `retinue memory`. A command that only reads creates no database. */
export async function openMemories(settings: Settings, { drive }: { drive: boolean }): Promise<Memories & { close(): Promise<void> }> {
  const { path } = settings.db;
  const durability = settings.durability.value;
  if (!drive && !existsSync(path)) return { ...createMemoryNotes().memories, close: async () => {} };
  if (!existsSync(path)) await (await openSqliteStore({ path, durability, made: recordDatabase })).close();
  const notes = await openNotes({ path, durability });
  return { ...notes.memories, close: notes.close };
}

function recordDatabase(draft: string, path: string): void {
  recordCreatedDatabase(process.env, draft, path);
}

/** Retinue never chooses a model by itself: without one, the message says which models work on this machine. */
async function adviseOnModel(settings: Settings, brief: Parameters<Api['advise']>[0], catalog: Catalog): Promise<string | null> {
  const { model, agent = 'general' } = brief;
  if (settings.model !== null || model !== undefined || catalog.get(agent)?.model !== undefined) return null;
  return describeModelOptions({ env: process.env, probe: globalThis.fetch });
}

/** Notes that are opened at first use. `close` closes them if they were opened. */
function openNotesLazily(open: () => Promise<Notes & { close(): Promise<void> }>): Notes & { close(): Promise<void> } {
  let opened: ReturnType<typeof open> | null = null;
  const notes = () => (opened ??= open());
  return {
    memories: {
      put: async (...args) => (await notes()).memories.put(...args),
      list: async (...args) => (await notes()).memories.list(...args),
      remove: async (...args) => (await notes()).memories.remove(...args),
    },
    scratchpads: {
      append: async (...args) => (await notes()).scratchpads.append(...args),
      read: async (...args) => (await notes()).scratchpads.read(...args),
      remove: async (...args) => (await notes()).scratchpads.remove(...args),
    },
    async close() {
      if (opened) await (await opened).close();
    },
  };
}
