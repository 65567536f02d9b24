/**
 * The providers that need the network, by the name that stands before the `/` of a model: the five built-in ones, and those that the
 * configuration adds under names of their own. Each is connected once, when a model of it is first asked for, and serves all runs.
 *
 *  1. Only variables that are given in `env` are read, the SDKs' own look into the environment included: an empty one is an unset one.
 *  2. A key is used in the headers of requests and nowhere else: no error, no handle and no fact carries it.
 *  3. What is missing or wrong is RetinueError `unknown_model`, which names the variable or setting and never its value.
 */
import { RetinueError } from '../contract/error.ts';
import type { ModelHandle } from '../ports/model.ts';
import { isAuth } from './failure.ts';
import { knownOf } from './known.ts';
import type { Provider } from './models.ts';
import { baseAddress, ollamaAddress } from './providers/address.ts';
import { boundedFetch, type Fetch } from './providers/bounded-fetch.ts';
import { type Bounds, defaultBounds } from './providers/bounds.ts';
import { type GuardRules, guarded } from './providers/guard.ts';
import { type Kind, kinds, type ProviderKind } from './providers/kinds.ts';

/** A provider as the configuration has it. `apiKeyEnv` is the name of a variable, never a key. */
export interface ProviderSettings {
  kind: ProviderKind;
  baseURL?: string | undefined;
  apiKeyEnv?: string | undefined;
}

export interface ProvidersOptions {
  env: Readonly<Record<string, string | undefined>>;
  providers?: Readonly<Record<string, ProviderSettings>>;
  /** Every request goes through it then, and the AI SDK's packages make them all. */
  fetch?: Fetch;
  bounds?: Bounds;
}

export function createProviders(options: ProvidersOptions): Record<string, Provider> {
  const builtIn = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, { kind: kind as ProviderKind }]));
  const all: Record<string, ProviderSettings> = { ...builtIn, ...options.providers };
  return Object.fromEntries(Object.entries(all).map(([name, settings]) => [name, createProvider(name, settings, options)]));
}

function createProvider(name: string, settings: ProviderSettings, options: ProvidersOptions): Provider {
  const handles = new Map<string, Promise<ModelHandle>>();
  let connected: ReturnType<typeof connect> | null = null;
  return (rest) => {
    const known = handles.get(rest);
    if (known) return known;
    connected ??= connect(name, settings, options);
    const handle = connected.then((connection) => handleOf(name, rest, connection));
    handles.set(rest, handle);
    handle.catch(() => {
      handles.delete(rest);
      connected = null;
    });
    return handle;
  };
}

interface Connected {
  kind: ProviderKind;
  baseURL: string;
  modelOf: Awaited<ReturnType<Kind['connect']>>;
  rules: GuardRules;
}

async function connect(name: string, settings: ProviderSettings, options: ProvidersOptions): Promise<Connected> {
  const kind = kinds[settings.kind];
  const key = keyOf(name, settings, options.env);
  const baseURL = addressOf(name, settings, options.env);
  const bounds = options.bounds ?? defaultBounds;
  const fetch = boundedFetch(options.fetch ?? globalThis.fetch, bounds);
  const modelOf = await kind.connect({ baseURL, apiKey: key?.value, fetch, bounds, packages: options.fetch !== undefined });
  const rules: GuardRules = {
    clean: (text) => (key === null ? text : text.replaceAll(key.value, `[secret ${key.name}]`)),
    hint: (status, message) => (isAuth(status, message) ? keyHint(name, settings) : status === 404 ? nameHint(settings, baseURL) : null),
    ...(kind.prepare && { prepare: kind.prepare }),
  };
  return { kind: settings.kind, baseURL, modelOf, rules };
}

async function handleOf(name: string, rest: string, { kind, baseURL, modelOf, rules }: Connected): Promise<ModelHandle> {
  const known = await knownOf({ kind, baseURL }, rest);
  const { model, open } = modelOf(rest);
  return { id: `${name}/${rest}`, lane: name, model: guarded(model, rules, open), ...known };
}

function keyOf(name: string, settings: ProviderSettings, env: ProvidersOptions['env']): { name: string; value: string } | null {
  const { keyVariable, keyRequired } = kinds[settings.kind];
  const variable = settings.apiKeyEnv ?? keyVariable;
  const value = variable === null ? undefined : set(env[variable]);
  if (variable !== null && value !== undefined) {
    // Such a key would come back in the error of the header that it cannot be put into.
    if (!/^[\x21-\x7e]+$/.test(value)) throw refused(`the key in ${variable} has spaces, line breaks or other characters that no key has`);
    return { name: variable, value };
  }
  if (keyRequired || settings.apiKeyEnv !== undefined) throw refused(`${name}/… needs a key: set ${variable}`);
  return null;
}

/** A variable beats the file, but only for the provider that it is conventionally for. */
function addressOf(name: string, settings: ProviderSettings, env: ProvidersOptions['env']): string {
  const { baseVariable, defaultBase, version } = kinds[settings.kind];
  const own = settings.baseURL === undefined ? null : { address: settings.baseURL, from: `providers.${name}.baseURL` };
  const given = baseVariable === null ? undefined : set(env[baseVariable]);
  const conventional = given === undefined || baseVariable === null ? null : { address: given, from: baseVariable };
  const found = name === settings.kind ? (conventional ?? own) : (own ?? conventional);
  if (settings.kind === 'ollama' && (found === null || found === conventional)) {
    return baseAddress(ollamaAddress(found?.address), version, 'OLLAMA_HOST');
  }
  if (found !== null) return baseAddress(found.address, version, found.from);
  if (defaultBase !== null) return defaultBase;
  throw refused(`${name}/… needs a base address: set ${name === settings.kind ? `${baseVariable} or ` : ''}providers.${name}.baseURL`);
}

function keyHint(name: string, { apiKeyEnv, kind }: ProviderSettings): string {
  return `check ${apiKeyEnv ?? kinds[kind].keyVariable ?? `the key of ${name}`}`;
}

function nameHint({ kind }: ProviderSettings, baseURL: string): string {
  if (kind === 'ollama') return 'see what there is with `ollama list`';
  const other = kind === 'openai' && baseURL !== kinds.openai.defaultBase;
  return `check the name of the model and the base address${other ? '; a server without the Responses API is openai-compatible/…' : ''}`;
}

function set(value: string | undefined): string | undefined {
  const trimmed = value?.trim();
  return trimmed === '' ? undefined : trimmed;
}

function refused(message: string): RetinueError {
  return new RetinueError('unknown_model', message);
}
