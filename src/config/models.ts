// The models that names refer to, and the search backend: what the configuration and the environment offer.
import { createModels } from '../models/models.ts';
import { createOfflineModels } from '../models/offline.ts';
import { providerKinds } from '../models/providers/kinds.ts';
import { createProviders, type ProviderSettings } from '../models/providers.ts';
import { createRecordedModels, type ReadAnswer } from '../models/recorded.ts';
import { createScriptModels } from '../models/script.ts';
import type { Models } from '../ports/model.ts';
import { systemClock } from '../system/clock.ts';
import type { SearchBackend } from '../tools/index.ts';
import type { Env } from './user-folders.ts';

/**
 * Built-in and configured providers, and the models that need none: `offline/…`, `script/…`, and `recorded/…` if answers of recorded runs can be
 * read.
 */
export function createNamedModels(env: Env, providers: Record<string, ProviderSettings> = {}, readAnswer?: ReadAnswer): Models {
  return createModels({
    providers: {
      ...createProviders({ env, providers }),
      offline: createOfflineModels({ clock: systemClock }),
      script: createScriptModels({ clock: systemClock }),
    },
    ...(readAnswer && { internal: { recorded: createRecordedModels(readAnswer) } }),
  });
}

/**
 * Rejects with `unknown_model` if no process could have a model of this name. Keys and addresses of providers are not checked: another process may have
 * them.
 */
export async function checkModelName(
  name: string,
  { env, providers, workspace }: { env: Env; providers: Record<string, ProviderSettings>; workspace: string },
): Promise<void> {
  const [, provider = '', rest] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  if (rest !== undefined && (Object.hasOwn(providers, provider) || Object.hasOwn(providerKinds, provider))) return;
  const nobody = { runId: '', rootId: '', agent: 'general', label: null, task: '' };
  await createNamedModels(env, providers).resolve(name, { ...nobody, workspace });
}

/** A SearXNG server of the user's, or Brave. */
export function findSearchBackend(env: Env): SearchBackend | null {
  if (env.SEARXNG_URL) return { kind: 'searxng', baseURL: env.SEARXNG_URL };
  return env.BRAVE_API_KEY ? { kind: 'brave', baseURL: 'https://api.search.brave.com', apiKey: env.BRAVE_API_KEY } : null;
}
