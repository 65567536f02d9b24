// Configuration layers: each file or variable is one layer, and later layers win.
import type { Json } from '../contract/json.ts';
import { defaultLimits, type LimitName } from '../contract/limits.ts';
import { anyAgent } from '../kernel/admission/model-routes.ts';
import { hideUrlCredentials, serverToPublicJson } from '../text/hide-credentials.ts';
import { describeWebhook } from './notify-settings.ts';
import type { Config } from './schema.ts';
import type { Settings, Sourced } from './settings.ts';
import type { Telemetry } from './telemetry.ts';

/** One source of configuration, after untrusted settings were removed. */
export interface Layer {
  from: string;
  config: Config;
}

/** All layers as one. Rules are not merged: each layer keeps its own list. Models are merged by `findModels`. */
export function mergeLayers(layers: Layer[]): Omit<Config, 'rules' | 'model'> {
  const all: Config = {};
  for (const { config } of layers) {
    const { sandbox, durability } = config;
    Object.assign(all, withoutUndefined({ sandbox, durability }));
    all.limits = { ...all.limits, ...config.limits };
    // A file can only add budgets.
    if (config.budgets !== undefined) all.budgets = [...new Set([...(all.budgets ?? []), ...config.budgets])];
    if (config.compaction !== undefined) all.compaction = mergeCompaction(all.compaction, config.compaction);
    all.providers = { ...all.providers, ...config.providers };
    all.prices = { ...all.prices, ...config.prices };
    all.mcpServers = { ...all.mcpServers, ...config.mcpServers };
    all.env = { ...all.env, ...config.env };
    // As a whole: headers of one file must not go to the endpoint of another.
    if (config.telemetry !== undefined) all.telemetry = config.telemetry;
    const dialects = { ...all.dialects } as Record<string, object>;
    for (const [name, section] of Object.entries(config.dialects ?? {})) dialects[name] = { ...dialects[name], ...section };
    all.dialects = dialects as NonNullable<Config['dialects']>;
  }
  return all;
}

function mergeCompaction(all: Settings['compaction'] = {}, given: Settings['compaction']): Settings['compaction'] {
  const models = { ...all.models };
  for (const [name, values] of Object.entries(given.models ?? {})) models[name] = { ...models[name], ...values };
  return { ...all, ...given, ...(Object.keys(models).length > 0 && { models }) };
}

export function findSetting<K extends 'effort' | 'promptCache' | 'db' | 'sandbox' | 'durability' | 'notify' | 'telemetry'>(
  layers: Layer[],
  key: K,
): Sourced<NonNullable<Config[K]>> | null {
  const layer = layers.findLast(({ config }) => config[key] !== undefined);
  return layer ? { value: layer.config[key] as NonNullable<Config[K]>, from: layer.from } : null;
}

/** Every effective value and its source, in the order of the documentation. */
export function listSources(settings: Omit<Settings, 'sources'>, layers: Layer[]): Settings['sources'] {
  const sourceOf = (get: (config: Config) => unknown) => layers.findLast(({ config }) => get(config) !== undefined)?.from ?? 'built-in';
  const limit = (name: LimitName) => {
    const { command, config } = settings.limits;
    if (command[name] !== undefined) return { key: `limits.${name}`, value: command[name], from: 'command line' };
    return { key: `limits.${name}`, value: config[name] ?? defaultLimits[name], from: sourceOf((c) => c.limits?.[name]) };
  };
  return [
    { key: 'db', value: settings.db.shown, from: settings.db.from },
    { key: 'model', value: settings.model?.value ?? null, from: settings.model?.from ?? 'not set' },
    ...listRoutes(settings),
    ...(settings.effort ? [{ key: 'effort', ...settings.effort }] : []),
    { key: 'promptCache', ...settings.promptCache },
    ...Object.entries(settings.providers).map(([name, { kind, baseURL, apiKeyEnv, rate }]) => ({
      key: `providers.${name}`,
      value: withoutUndefined({ kind, baseURL: baseURL === undefined ? undefined : hideUrlCredentials(baseURL), apiKeyEnv, rate }) as Json,
      from: sourceOf((c) => c.providers?.[name]),
    })),
    ...(Object.keys(defaultLimits) as LimitName[]).map(limit),
    ...listBudgetSources(settings, layers),
    ...Object.entries(settings.compaction).map(([key, value]) => ({
      key: `compaction.${key}`,
      value: value as Json,
      from: sourceOf((c) => c.compaction?.[key as keyof Settings['compaction']]),
    })),
    { key: 'sandbox', ...settings.sandbox },
    { key: 'durability', ...settings.durability },
    ...Object.entries(settings.env).map(([agent, names]) => ({
      key: `env.${agent}`,
      value: names,
      from: sourceOf((c) => c.env?.[agent]),
    })),
    ...Object.entries(settings.prices).map(([name, price]) => ({
      key: `prices.${name}`,
      value: withoutUndefined({ ...price }) as Json,
      from: sourceOf((c) => c.prices?.[name]),
    })),
    ...Object.entries(settings.mcpServers).map(([name, server]) => ({
      key: `mcpServers.${name}`,
      value: serverToPublicJson(server),
      from: sourceOf((c) => c.mcpServers?.[name]),
    })),
    ...listNotifySources(settings.notify),
    ...listTelemetry(settings.telemetry),
    ...Object.entries(settings.dialects).flatMap(([dialect, section]) =>
      Object.entries(section).map(([key, value]) => ({
        key: `dialects.${dialect}.${key}`,
        value,
        from: sourceOf((c) => (c.dialects as Settings['dialects'] | undefined)?.[dialect]?.[key]),
      })),
    ),
  ];
}

/** Without the default itself, which is `model`. */
function listRoutes({ routes }: Pick<Settings, 'routes'>): Settings['sources'] {
  return Object.entries(routes).flatMap(([agent, { value, from }]) =>
    agent === anyAgent && value.length === 1 ? [] : [{ key: `model.${agent}`, value, from }],
  );
}

function listBudgetSources({ budgets }: Pick<Settings, 'budgets'>, layers: Layer[]): Settings['sources'] {
  if (budgets.length === 0) return [];
  const files = layers.filter(({ config }) => config.budgets !== undefined).map(({ from }) => from);
  return [{ key: 'budgets', value: budgets, from: files.length === 0 ? 'command line' : files.join(', ') }];
}

function listNotifySources(notify: Settings['notify']): Settings['sources'] {
  if (notify === null) return [];
  const { webhook, ...others } = notify.value;
  const shown = withoutUndefined({ ...others, webhook: webhook === undefined ? undefined : describeWebhook(webhook) });
  return Object.entries(shown).map(([key, value]) => ({ key: `notify.${key}`, value: value as Json, from: notify.from }));
}

/** Only if traces are exported. Headers appear by name. */
function listTelemetry(telemetry: Telemetry): Settings['sources'] {
  if (telemetry.state !== 'on') return [];
  const { shownUrl, headers, protocol, content } = telemetry.export;
  const value = { endpoint: shownUrl, headers: Object.keys(headers), protocol, content };
  return [{ key: 'telemetry', value, from: telemetry.from }];
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Partial<T>;
}
