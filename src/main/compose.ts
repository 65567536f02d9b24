// The composition root: picks the adapters that a command stands on. Nothing here is kept between calls.
import { existsSync, rmSync } from 'node:fs';
import type { Api } from '../api/api.ts';
import { createApi } from '../api/create.ts';
import type { Explanation, PolicyVerdict } from '../cli/explanation.ts';
import type { OpenOptions } from '../cli/io.ts';
import type { Settings } from '../cli/settings.ts';
import { RetinueError } from '../contract/error.ts';
import type { Ruleset } from '../contract/grant.ts';
import { native } from '../dialects/native.ts';
import { nonNativeToolNames } from '../dialects/settings.ts';
import { catalogForDialect, dialectToolNames } from '../kernel/dialect-tools.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../kernel/runtime.ts';
import { describeModelOptions } from '../models/advice.ts';
import { createModelCaller } from '../models/call.ts';
import { createModels, type Provider } from '../models/models.ts';
import { createOfflineModels } from '../models/offline.ts';
import { withPrices } from '../models/prices.ts';
import { createProviders } from '../models/providers.ts';
import { createScriptModels } from '../models/script.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Memories } from '../ports/notes.ts';
import type { Redact } from '../ports/secrets.ts';
import { builtInRuleset, capabilities, parseRule } from '../rules/policy.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { createMemoryNotes, type Notes } from '../stores/notes-memory.ts';
import { openNotes } from '../stores/notes-sqlite.ts';
import { openSqliteStore } from '../stores/sqlite/create.ts';
import { systemClock, systemIds } from '../system/clock.ts';
import { createProcessGuard } from '../system/process-guard.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { builtInTools, type SearchBackend, workspaceReader } from '../tools/index.ts';
import { compileSchema } from '../tools/json-schema.ts';
import { createMcp } from '../tools/mcp/index.ts';
import { catalogOf } from './agents.ts';
import { armedCrash } from './crash.ts';
import { logFile } from './detach.ts';
import { dialectOf, findDialect } from './dialect.ts';
import { explainAgent } from './explain.ts';
import { createExecutors } from './hosts.ts';
import { assertMadeHere, rememberMade } from './origin.ts';
import { type PolicyQuestion, testPolicy } from './policy.ts';
import { type ShellGround, shellGround } from './sandbox.ts';
import { allServers, createRedact, grantedTo, serverSecrets } from './secrets.ts';

export async function openApi(settings: Settings, { drive, dialect: dialectName, host, askMs, adopted }: OpenOptions): Promise<Api> {
  const { path } = settings.db;
  // Begun at once: a run cannot be admitted before it is known.
  const looking = drive ? groundOf(settings) : null;
  const dialect = await dialectOf(dialectName, settings);
  const durability = settings.durability.value;
  // A command that only reads makes no database where there is none: it finds nothing.
  const crash = armedCrash(process.env) ?? undefined;
  const armed = crash && (await import('../testing/crash.ts'));
  const opened = drive || existsSync(path) ? await openSqliteStore({ path, durability, crash, made }) : createMemoryStore();
  const store = armed && crash ? armed.addStoreCrashPoints(opened, crash) : opened;
  const catalog = catalogOf(settings);
  const known = catalogForDialect(dialect, catalog);
  const guard = createProcessGuard();
  const notes = once(() => openNotes({ path, durability }));

  async function runtime(): Promise<Runtime> {
    const shell = await (looking ?? groundOf(settings));
    const redact = redactOf(settings, catalog);
    const { workspace, mcpServers: servers } = settings;
    const options: RuntimeOptions = {
      store,
      clock: systemClock,
      ids: systemIds,
      catalog,
      tools: builtInTools({
        ...lazyNotes(notes),
        clock: systemClock,
        search: searchBackend(process.env),
        bash: { ...shell, marks: guard.marks, secrets: (to) => grantedTo(to, { ...settings, catalog: known }, process.env) },
      }),
      callModel: createModelCaller(systemClock),
      compileSchema,
      redact,
      questions: askMs === undefined ? undefined : { attended: () => true, timeoutMs: askMs },
      toolSource: createMcp({ servers, workspace, env: process.env, clock: systemClock, redact, marks: guard.marks }),
      dialect,
      dialectNamed: (name) => findDialect(name, settings),
      executorNamed: createExecutors(guard, crash),
      host,
      workspaces: workspaceReader,
      memories: lazyNotes(notes).memories,
      models: withPrices(createModels({ providers: providers(settings) }), settings.prices),
      settings: {
        workspace,
        model: settings.model?.value ?? null,
        limits: settings.limits.config,
        rulesets: (delegationTools) => rulesets(settings, delegationTools, shell),
      },
    };
    return createRuntime(armed && crash ? armed.addCrashPoints(options, crash) : options);
  }

  const api = createApi({
    ...{ store, clock: systemClock, ids: systemIds, catalog, dialect, runtime },
    advise: (brief) => adviceFor(settings, brief, known),
    async forget(rootId, runIds) {
      await lazyNotes(notes).scratchpads.remove(rootId);
      for (const runId of runIds) rmSync(logFile(settings.workspace, runId), { force: true });
    },
  });
  return {
    ...api,
    async start(brief, options) {
      const advice = await api.advise(brief as { model?: string; agent?: string });
      if (advice !== null) throw new RetinueError('unknown_model', advice);
      return api.start(brief, options);
    },
    async resume(rootId, options) {
      if (!adopted) assertMadeHere(process.env, path);
      return api.resume(rootId, options);
    },
    async close() {
      await api.close();
      if (notes.made) await (await notes.made).close();
    },
  };
}

function made(draft: string, path: string): void {
  rememberMade(process.env, draft, path);
}

function redactOf(settings: Settings, catalog: Catalog): Redact {
  const { names, values } = serverSecrets(allServers(settings.mcpServers, catalog.list()));
  const keys = Object.values(settings.providers).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  const granted = Object.values(settings.env).flat();
  return createRedact(process.env, { names: [...keys, ...names, ...granted], values });
}

function groundOf({ workspace, db, sandbox }: Settings): Promise<ShellGround> {
  return shellGround(sandbox.value, { workspace, db: db.path, env: process.env });
}

function providers(settings: Settings): Record<string, Provider> {
  return {
    ...createProviders({ env: process.env, providers: settings.providers }),
    offline: createOfflineModels(),
    script: createScriptModels({ clock: systemClock }),
  };
}

/** Nobody falls back to a model in silence: without one, the message says which ways there are on this machine. */
async function adviceFor(settings: Settings, brief: Parameters<Api['advise']>[0], catalog: Catalog): Promise<string | null> {
  const { model, agent = 'general' } = brief;
  if (settings.model !== null || model !== undefined || catalog.get(agent)?.model !== undefined) return null;
  return describeModelOptions({ env: process.env, probe: globalThis.fetch });
}

/** One configured backend: a SearXNG of one's own, or Brave. */
function searchBackend(env: NodeJS.ProcessEnv): SearchBackend | null {
  if (env.SEARXNG_URL) return { kind: 'searxng', baseURL: env.SEARXNG_URL };
  return env.BRAVE_API_KEY ? { kind: 'brave', baseURL: 'https://api.search.brave.com', apiKey: env.BRAVE_API_KEY } : null;
}

/** The notes are in the same database, opened when a run first uses them. */
function lazyNotes(notes: () => Promise<Notes>): Notes {
  return {
    memories: {
      put: async (...given) => (await notes()).memories.put(...given),
      list: async (...given) => (await notes()).memories.list(...given),
      remove: async (...given) => (await notes()).memories.remove(...given),
    },
    scratchpads: {
      append: async (...given) => (await notes()).scratchpads.append(...given),
      read: async (...given) => (await notes()).scratchpads.read(...given),
      remove: async (...given) => (await notes()).scratchpads.remove(...given),
    },
  };
}

function once<T>(make: () => Promise<T>): { (): Promise<T>; made: Promise<T> | null } {
  const get = Object.assign(() => (get.made ??= make()), { made: null as Promise<T> | null });
  return get;
}

/** What a run of the agent would get; nothing is opened. */
export async function explain(settings: Settings, name: string): Promise<Explanation> {
  return explainAgent(settings, name, await explainGround(settings));
}

/** How a call of an agent would be decided; nothing is opened. */
export async function policy(settings: Settings, question: PolicyQuestion): Promise<PolicyVerdict> {
  return testPolicy(settings, question, await explainGround(settings));
}

async function explainGround(settings: Settings) {
  const { memories, scratchpads } = createMemoryNotes();
  const search = searchBackend(process.env);
  const made = builtInTools({ memories, scratchpads, clock: systemClock, search, bash: { sandbox: null } });
  const tools = made.map((tool) => tool.name);
  return {
    made,
    tools,
    delegationTools: dialectToolNames(native),
    rulesets: rulesets(settings, dialectToolNames(native), await groundOf(settings)),
  };
}

/** What `retinue memory` works on: the notes of the workspace's database. A command that only reads makes none where there is none. */
export async function openMemories(settings: Settings, { drive }: { drive: boolean }): Promise<Memories & { close(): Promise<void> }> {
  const { path } = settings.db;
  const durability = settings.durability.value;
  if (!drive && !existsSync(path)) return { ...createMemoryNotes().memories, close: async () => {} };
  if (!existsSync(path)) await (await openSqliteStore({ path, durability, made })).close();
  const notes = await openNotes({ path, durability });
  return { ...notes.memories, close: notes.close };
}

/** The owner's one list (built-in, then the user's, then the command's), and each other ruleset on its own. */
function rulesets(settings: Settings, delegationTools: readonly string[], { sandbox, narrowing }: ShellGround): Ruleset[] {
  const builtIn = builtInRuleset(delegationTools, [], { sandboxed: sandbox !== null });
  const known = new Set([...ownToolNames(), ...capabilities, ...delegationTools, ...dialectToolNames(native), ...nonNativeToolNames]);
  const read = (owner: string, text: string) => {
    const rule = parseRule(text);
    if (/^mcp__(?!.*__)[^*]*$/.test(rule.tool))
      throw new RetinueError(
        'invalid_rule',
        `\`${text}\` (${owner}): it names no tool; for all tools of this server write \`${rule.tool}__*\``,
      );
    // A misspelt name in a deny would protect nothing, in silence.
    if (!known.has(rule.tool) && !rule.tool.includes('*') && !rule.tool.startsWith('mcp__')) {
      throw new RetinueError('invalid_rule', `\`${text}\` (${owner}): ${unknownNameMessage('tool', rule.tool, [...known])}`);
    }
    return rule;
  };
  const own = settings.ownerRules.flatMap(({ owner, rules }) => rules.map((rule) => ({ ...read(owner, rule), from: owner })));
  const others = settings.narrowingRules.map(
    ({ owner, rules }): Ruleset => ({ kind: 'narrowing', owner, rules: rules.map((rule) => read(owner, rule)) }),
  );
  return [{ ...builtIn, rules: [...builtIn.rules, ...own] }, ...others, ...narrowing];
}

function ownToolNames(): string[] {
  return builtInTools({ ...createMemoryNotes(), clock: systemClock, bash: { sandbox: null } }).map((tool) => tool.name);
}
