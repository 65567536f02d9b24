// Opens the API for a command, from its settings.
import type { Api } from '../api/api.ts';
import type { MemoryOptions, OpenOptions } from '../cli/io.ts';
import { createAgentCatalog } from '../config/agents.ts';
import { openCheckouts } from '../config/checkouts.ts';
import { databaseFile, databaseSecrets } from '../config/database-setting.ts';
import { findDialect, loadDialect } from '../config/dialect.ts';
import { openExternalHomes } from '../config/external-homes.ts';
import { createRedaction } from '../config/redact.ts';
import { checkRules } from '../config/rulesets.ts';
import type { Settings } from '../config/settings.ts';
import { registerDatabase } from '../config/workspace-registry.ts';
import { RetinueError } from '../contract/error.ts';
import { catalogForDialect } from '../kernel/delegation/dialect-tools.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Memory } from '../ports/notes.ts';
import type { Store } from '../ports/store.ts';
import type { Notes } from '../stores/notes-memory.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { assembleApi } from './assemble.ts';
import { assertNotBelowRun } from './below-run.ts';
import { removeLog } from './detach.ts';
import type { AssemblyHooks } from './hooks.ts';
import type { Notifications } from './notify.ts';
import { type DatabaseOptions, openDatabase, openDatabaseMemories, openDatabaseNotes } from './open-database.ts';

/** `store`: an open one, instead of the database of the settings. It is closed with the API. */
export async function openApi(settings: Settings, options: OpenOptions & { store?: Store }, hooks?: AssemblyHooks): Promise<Api> {
  const { env } = process;
  const { drive, writes = drive } = options;
  if (writes) assertNotBelowRun(env);
  const { workspace, db } = settings;
  // A command that certainly starts a run loads what runs need, and probes the sandbox, while the database opens.
  const earlyProbe = options.startsRuns ? loadPreparation().then(({ probeShell }) => probeShell(settings, env)) : null;
  const dialect = await loadDialect(options.dialect, settings, env);
  const database = toDatabaseOptions(settings, options, hooks);
  const wrapped = options.store ?? (await openWrapped(database, hooks));
  const notifications = drive && settings.notify ? await loadNotifications(settings, wrapped, options.warn) : null;
  const store = notifications?.store ?? wrapped;
  const registering = writes ? registerDatabase(env, settings, new Date()) : null;
  const catalog = createAgentCatalog(settings);
  const dialectCatalog = catalogForDialect(dialect, catalog);
  /** Notices to print at the end. */
  const held: string[] = [];
  const notes = openNotesLazily(() => openDatabaseNotes(database));

  const checkouts = openCheckouts({ env, workspace, db: databaseFile(db), worker: options.worker, crash: hooks?.crash });
  const homes = openExternalHomes(env);
  const secretNames = [
    ...Object.values(settings.providers).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []),
    ...Object.values(settings.env).flat(),
    ...(settings.notify?.value.webhookSecretEnv ? [settings.notify.value.webhookSecretEnv] : []),
    ...(settings.telemetry.state === 'on' ? settings.telemetry.secretNames : []),
  ];

  const prepareRuntime = async () => {
    const { prepareRuntime: prepare } = await loadPreparation();
    const prepared = await prepare({ settings, store, notes, secretNames, catalog: dialectCatalog, options, shell: earlyProbe });
    if (!writes) assertNotBelowRun(env);
    return prepared;
  };

  const api: Api = assembleApi(
    {
      flows: { load: async (ref) => (await import('./flows.ts')).openFlows(workspace, env, api).load(ref) },
      ...{ store, catalog, dialect, checkRules, prepareRuntime, workspace },
      checkouts,
      homes,
      dialectNamed: (name) => findDialect(name, settings, env),
      advise: (brief) => adviseOnModel(settings, brief, dialectCatalog),
      telemetry: settings.telemetry,
      redact: (text, isResult) =>
        createRedaction(env, { names: secretNames, values: [], tokens: [], databasePasswords: databaseSecrets(db) }).redact(text, isResult),
      warn: (message) => (options.warnAtEnd ? void held.push(message) : options.warn?.(message)),
      async forget(rootId, runIds) {
        await notes.scratchpads.remove(rootId);
        await checkouts.forget(runIds);
        await homes.forget(runIds);
        for (const runId of runIds) removeLog(workspace, runId);
        (await import('../config/attachments.ts')).removeAttachments(workspace, runIds);
      },
    },
    hooks,
  );
  notifications?.watch(api);
  return {
    ...api,
    limits: settings.limits.config,
    ...(options.queue !== undefined && { clientQueue: options.queue }),
    client: (clientOptions) => api.client({ ...clientOptions, ...(options.queue !== undefined && { queue: options.queue }) }),
    async start(brief, startOptions) {
      await assertModel(api, brief);
      return api.start(brief, startOptions);
    },
    async namedFlow({ name, input = null, label, limits, budgets, effort }, flowOptions) {
      const { findNamedFlow } = await import('../config/flow-files.ts');
      const program = await (await import('./flows.ts')).openFlows(workspace, env, api).open(findNamedFlow(name, workspace));
      return api.flow(program, input, {
        ...flowOptions,
        ...(label !== undefined && { label }),
        ...(limits && { limits }),
        ...(budgets && { budgets }),
        ...(effort !== undefined && { effort }),
      });
    },
    async enqueue(brief, enqueueOptions) {
      await assertModel(api, brief);
      return api.enqueue(brief, { usesWorkspace: true, ...enqueueOptions });
    },
    async putSchedule(schedule) {
      const { agent, model } = schedule.brief as { agent?: string; model?: string };
      if (agent !== undefined) assertAgentKnown(agent, dialectCatalog);
      if (model !== undefined)
        await (await import('../config/models.ts')).checkModelName(model, { env, workspace, providers: settings.providers });
      return api.putSchedule(schedule);
    },
    async close() {
      await api.close();
      await notes.close();
      await Promise.all([registering, notifications?.close()]);
      for (const message of held.splice(0)) options.warnAtEnd?.(message);
    },
  };
}

async function openWrapped(database: DatabaseOptions, hooks: AssemblyHooks | undefined): Promise<Store> {
  const store = await openDatabase(database);
  return hooks ? hooks.wrapStore(store) : store;
}

async function loadNotifications(settings: Settings, store: Store, warn: OpenOptions['warn']): Promise<Notifications | null> {
  return (await import('./notify.ts')).createNotifications(settings, store, warn ?? (() => {}));
}

/** The memories of the workspace's database, for `retinue memory`. */
export async function openMemories(settings: Settings, options: MemoryOptions): ReturnType<typeof openDatabaseMemories> {
  if (options.access !== 'read') assertNotBelowRun(process.env);
  return openDatabaseMemories({ ...toDatabaseOptions(settings, { drive: false, warn: options.warn }), access: options.access });
}

/** For a server, which reads them now and then. */
export async function listMemories(settings: Settings): Promise<Memory[]> {
  const memories = await openMemories(settings, { access: 'read' });
  try {
    return await memories.list(settings.workspace);
  } finally {
    await memories.close();
  }
}

/** Loaded with everything that only running agents need. */
const loadPreparation = () => import('./prepare-runtime.ts');

function toDatabaseOptions(settings: Settings, options: OpenOptions, hooks?: AssemblyHooks): DatabaseOptions {
  const { drive, writes = drive, existingOnly = !drive, warn = () => {} } = options;
  const { db } = settings;
  const access = existingOnly ? (writes ? 'write' : 'read') : 'create';
  return { env: process.env, db, adopt: db.adopt, access, durability: settings.durability.value, warn, crash: hooks?.crash };
}

function assertAgentKnown(name: string, catalog: Catalog): void {
  if (catalog.get(name)) return;
  const known = catalog.list().map((agent) => agent.name);
  throw new RetinueError('unknown_agent', unknownNameMessage('agent', name, known));
}

async function assertModel(api: Api, brief: unknown): Promise<void> {
  const advice = await api.advise(brief as { model?: string; agent?: string });
  if (advice !== null) throw new RetinueError('unknown_model', advice);
}

/** Retinue never chooses a model for the user: without one, the message says which models work on this machine. */
async function adviseOnModel(settings: Settings, brief: Parameters<Api['advise']>[0], catalog: Catalog): Promise<string | null> {
  const { model, agent = 'general' } = brief;
  const isRouted = Object.hasOwn(settings.routes, agent);
  if (settings.model !== null || isRouted || model !== undefined || catalog.get(agent)?.model !== undefined) return null;
  const { describeModelOptions } = await import('../models/advice.ts');
  return describeModelOptions({ env: process.env, probe: globalThis.fetch });
}

/** Notes that are opened at first use. `close` closes them if they were opened. */
function openNotesLazily(open: () => Promise<Notes & { close(): Promise<void> }>): Notes & { close(): Promise<void> } {
  let opened: ReturnType<typeof open> | null = null;
  const notes = () => {
    opened ??= open().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
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
