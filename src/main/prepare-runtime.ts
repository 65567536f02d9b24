// What the runtime of a command needs from its settings.
import type { OpenOptions } from '../cli/io.ts';
import type { RuntimeInput } from '../config/assembly.ts';
import { databaseFile, databaseSecrets } from '../config/database-setting.ts';
import { plainRoutes } from '../config/model-setting.ts';
import { createNamedModels, findSearchBackend } from '../config/models.ts';
import { settingsRulesets } from '../config/rulesets.ts';
import { grantedVariables } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import { probeShellAccess, type ShellAccess } from '../config/shell-access.ts';
import type { Env } from '../config/user-folders.ts';
import { recordedPrefix } from '../contract/eval.ts';
import { loadState } from '../kernel/recovery/history.ts';
import { composeSummary } from '../kernel/state/outcome.ts';
import { endedFact } from '../kernel/state/state.ts';
import { withPrices } from '../models/prices.ts';
import type { RecordedResult } from '../models/recorded.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Store } from '../ports/store.ts';
import type { Notes } from '../stores/notes-memory.ts';

export interface PreparationDeps {
  settings: Settings;
  store: Store;
  notes: Notes;
  catalog: Catalog;
  /** Environment variables that hold secrets. */
  secretNames: string[];
  options: Pick<OpenOptions, 'askMs' | 'host' | 'serverTokens'>;
  /** The sandbox, if it is being probed already. */
  shell: Promise<ShellAccess> | null;
}

export async function prepareRuntime({
  settings,
  store,
  notes,
  catalog,
  secretNames,
  options,
  shell: probe,
}: PreparationDeps): Promise<RuntimeInput> {
  const { env } = process;
  const { workspace, mcpServers } = settings;
  const { askMs, host } = options;
  const shell = await (probe ?? probeShell(settings, env));
  return {
    ...{ env, workspace, mcpServers, shell, notes, host, secretNames },
    readable: settings.readable,
    models: withPrices(
      createNamedModels(env, settings.providers, (runId) => readAnswer(store, runId)),
      settings.prices,
    ),
    model: settings.model?.value ?? null,
    routes: plainRoutes(settings),
    effort: settings.effort?.value,
    promptCache: settings.promptCache.value,
    limits: settings.limits.config,
    budgets: settings.budgets,
    compaction: settings.compaction,
    rulesets: (delegationTools) => settingsRulesets(settings, { delegationTools, shell, env }),
    grantedVariables: (rights) => grantedVariables(rights, { ...settings, catalog }, env),
    serverTokens: options.serverTokens?.(),
    databasePasswords: databaseSecrets(settings.db),
    search: findSearchBackend(env),
    skills: settings.skills().list,
    programTools: [],
    questions: askMs === undefined ? undefined : { canAnswer: () => true, timeoutMs: askMs },
  };
}

export function probeShell({ workspace, readable, sandbox, db }: Settings, env: Env): Promise<ShellAccess> {
  return probeShellAccess(sandbox.value, { workspace, readable, db: databaseFile(db), env });
}

/** For `recorded/…`: the answer of a run that completed, or that only its checks have failed. */
async function readAnswer(store: Store, runId: string): Promise<RecordedResult | null> {
  if (!(await store.run(runId))) return null;
  const state = await loadState(runId, store);
  const outcome = endedFact(state)?.data.outcome;
  if (!outcome?.success && outcome?.error?.code !== 'check_failed') return null;
  const { external, model, models = model === null ? [] : [model] } = state.created.data;
  // An external agent has models of its own, and a recorded answer is no model for other runs.
  const ownModels = external ? [] : models.filter((name) => !name.startsWith(recordedPrefix));
  return { text: composeSummary(state, true), data: state.data, models: ownModels, isPriced: outcome.costUsd !== null };
}
