// The network providers, by the part of a model name before the `/`: the five built-in ones and those that the configuration adds. A provider
// is connected when its first model is requested, and then serves all runs.
//
// 1. Variables are read from `env` only, also by the SDKs' own code. An empty variable counts as unset.
// 2. An API key appears in request headers and nowhere else: not in errors, handles or facts.
// 3. Missing or wrong settings throw RetinueError `unknown_model`, which names the variable or setting, never its value.
import { RetinueError } from '../contract/error.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { ProviderRate } from '../ports/shared-limits.ts';
import { findEffortAbility } from './effort/abilities.ts';
import { planEffort } from './effort/plan.ts';
import { isAuthFailure } from './failure.ts';
import { findModelInfo } from './model-info.ts';
import type { Provider } from './models.ts';
import { normaliseBaseUrl, ollamaBaseUrl } from './providers/base-url.ts';
import { createBoundedFetch, type Fetch } from './providers/bounded-fetch.ts';
import { type Bounds, defaultBounds } from './providers/bounds.ts';
import { createEndpoint } from './providers/endpoint.ts';
import { type GuardRules, guardModel } from './providers/guard.ts';
import { type ProviderDefinition, type ProviderKind, providerKinds } from './providers/kinds.ts';

/** A provider in the configuration. `apiKeyEnv` is the name of a variable, never a key. */
export interface ProviderSettings {
  kind: ProviderKind;
  baseURL?: string | undefined;
  apiKeyEnv?: string | undefined;
  /** Limits over all processes that share a database. */
  rate?: ProviderRate | undefined;
}

export interface ProvidersOptions {
  env: Readonly<Record<string, string | undefined>>;
  providers?: Readonly<Record<string, ProviderSettings>>;
  /** If set, every request uses it, and the AI SDK's packages make them all. */
  fetch?: Fetch;
  bounds?: Bounds;
}

export function createProviders(options: ProvidersOptions): Record<string, Provider> {
  const builtIn = Object.fromEntries(Object.keys(providerKinds).map((kind) => [kind, { kind: kind as ProviderKind }]));
  const all: Record<string, ProviderSettings> = { ...builtIn, ...options.providers };
  return Object.fromEntries(Object.entries(all).map(([name, settings]) => [name, createProvider(name, settings, options)]));
}

function createProvider(name: string, settings: ProviderSettings, options: ProvidersOptions): Provider {
  const handles = new Map<string, Promise<ModelHandle>>();
  let connection: ReturnType<typeof connect> | null = null;
  return (rest) => {
    const known = handles.get(rest);
    if (known) return known;
    connection ??= connect(name, settings, options);
    const handle = connection.then((provider) => createHandle(name, rest, provider));
    handles.set(rest, handle);
    handle.catch(() => {
      handles.delete(rest);
      connection = null;
    });
    return handle;
  };
}

interface ConnectedProvider {
  kind: ProviderKind;
  key: string | undefined;
  baseURL: string;
  connectModel: Awaited<ReturnType<ProviderDefinition['connect']>>;
  rules: GuardRules;
  account: NonNullable<ModelHandle['account']>;
}

async function connect(name: string, settings: ProviderSettings, options: ProvidersOptions): Promise<ConnectedProvider> {
  const kind = providerKinds[settings.kind];
  const key = findKey(name, settings, options.env);
  const baseURL = findBaseUrl(name, settings, options.env);
  const bounds = options.bounds ?? defaultBounds;
  const fetch = createBoundedFetch(options.fetch ?? globalThis.fetch, bounds);
  const connectModel = await kind.connect({ baseURL, apiKey: key?.value, fetch, bounds, packagesOnly: options.fetch !== undefined });
  const rules: GuardRules = {
    clean: (text) => (key === null ? text : text.replaceAll(key.value, `[secret ${key.name}]`)),
    hint: (status, message) =>
      isAuthFailure(status, message) ? keyHint(name, settings) : status === 404 ? nameHint(settings, baseURL) : null,
    ...(kind.prepare && { prepare: kind.prepare }),
  };
  // The key itself leaves this function only in a header or as a keyed hash.
  const identify = (hash: (secret: string) => string | null) => hash(JSON.stringify([settings.kind, baseURL, key?.value ?? null]));
  return { kind: settings.kind, key: key?.value, baseURL, connectModel, rules, account: { rate: settings.rate ?? {}, identify } };
}

async function createHandle(
  name: string,
  rest: string,
  { kind, key, baseURL, connectModel, rules, account }: ConnectedProvider,
): Promise<ModelHandle> {
  const info = await findModelInfo({ kind, baseURL }, rest);
  const { model, open } = connectModel(rest);
  const endpoint = createEndpoint(kind, rest, { baseURL, key });
  const ability = findEffortAbility(kind, rest);
  return {
    ...{ id: `${name}/${rest}`, lane: name, account, model: guardModel(model, rules, open) },
    ...info,
    planEffort: (effort) => planEffort(ability, effort),
    ...(endpoint && { endpoint }),
  };
}

function findKey(name: string, settings: ProviderSettings, env: ProvidersOptions['env']): { name: string; value: string } | null {
  const { keyVariable, keyRequired } = providerKinds[settings.kind];
  const variable = settings.apiKeyEnv ?? keyVariable;
  const value = variable === null ? undefined : nonEmpty(env[variable]);
  if (variable !== null && value !== undefined) {
    // The error about an invalid header would contain such a key.
    if (!/^[\x21-\x7e]+$/.test(value))
      throw createSettingsError(`the key in ${variable} contains spaces, line breaks or other characters that are not allowed in a key`);
    return { name: variable, value };
  }
  if (keyRequired || settings.apiKeyEnv !== undefined) throw createSettingsError(`${name}/… needs a key: set ${variable}`);
  return null;
}

/** A variable overrides the configuration, but only for the provider that the variable belongs to. */
function findBaseUrl(name: string, settings: ProviderSettings, env: ProvidersOptions['env']): string {
  const { baseVariable, defaultBase, version } = providerKinds[settings.kind];
  const own = settings.baseURL === undefined ? null : { address: settings.baseURL, from: `providers.${name}.baseURL` };
  const given = baseVariable === null ? undefined : nonEmpty(env[baseVariable]);
  const conventional = given === undefined || baseVariable === null ? null : { address: given, from: baseVariable };
  const found = name === settings.kind ? (conventional ?? own) : (own ?? conventional);
  if (settings.kind === 'ollama' && (found === null || found === conventional)) {
    return normaliseBaseUrl(ollamaBaseUrl(found?.address), version, 'OLLAMA_HOST');
  }
  if (found !== null) return normaliseBaseUrl(found.address, version, found.from);
  if (defaultBase !== null) return defaultBase;
  throw createSettingsError(
    `${name}/… needs a base address: set ${name === settings.kind ? `${baseVariable} or ` : ''}providers.${name}.baseURL`,
  );
}

function keyHint(name: string, { apiKeyEnv, kind }: ProviderSettings): string {
  return `check ${apiKeyEnv ?? providerKinds[kind].keyVariable ?? `the key of ${name}`}`;
}

function nameHint({ kind }: ProviderSettings, baseURL: string): string {
  if (kind === 'ollama') return '`ollama list` shows the available models';
  const other = kind === 'openai' && baseURL !== providerKinds.openai.defaultBase;
  return `check the name of the model and the base address${other ? '; for a server without the Responses API, use openai-compatible/…' : ''}`;
}

function nonEmpty(value: string | undefined): string | undefined {
  const trimmed = value?.trim();
  return trimmed === '' ? undefined : trimmed;
}

function createSettingsError(message: string): RetinueError {
  return new RetinueError('unknown_model', message);
}
