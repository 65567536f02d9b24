import { hideUrlCredentials, serverToPublicJson } from '../../cli/output/hide-credentials.ts';
import type { Settings, Sourced } from '../../cli/settings.ts';
import type { Json } from '../../contract/json.ts';
import { defaultLimits, type LimitName } from '../../contract/limits.ts';
import type { Config } from './schema.ts';

/** A file that counts, after what is not trusted was left out of it. Later layers win. */
export interface Layer {
  from: string;
  config: Config;
}

/** All layers as one; rules are not joined. */
export function merged(layers: Layer[]): Omit<Config, 'rules'> {
  const all: Config = {};
  for (const { config } of layers) {
    const { model, sandbox, durability } = config;
    Object.assign(all, defined({ model, sandbox, durability }));
    all.limits = { ...all.limits, ...config.limits };
    all.providers = { ...all.providers, ...config.providers };
    all.prices = { ...all.prices, ...config.prices };
    all.mcpServers = { ...all.mcpServers, ...config.mcpServers };
    all.env = { ...all.env, ...config.env };
    const dialects = { ...all.dialects } as Record<string, object>;
    for (const [name, section] of Object.entries(config.dialects ?? {})) dialects[name] = { ...dialects[name], ...section };
    all.dialects = dialects as NonNullable<Config['dialects']>;
  }
  return all;
}

export function found<K extends 'model' | 'sandbox' | 'durability'>(layers: Layer[], key: K): Sourced<NonNullable<Config[K]>> | null {
  const layer = layers.findLast(({ config }) => config[key] !== undefined);
  return layer ? { value: layer.config[key] as NonNullable<Config[K]>, from: layer.from } : null;
}

/** Every value in force and where it came from, in the order in which the configuration is documented. */
export function sourcesOf(settings: Omit<Settings, 'sources'>, layers: Layer[]): Settings['sources'] {
  const holder = (has: (config: Config) => unknown) => layers.findLast(({ config }) => has(config) !== undefined)?.from ?? 'built-in';
  const limit = (name: LimitName) => {
    const { command, config } = settings.limits;
    if (command[name] !== undefined) return { key: `limits.${name}`, value: command[name], from: 'command line' };
    return { key: `limits.${name}`, value: config[name] ?? defaultLimits[name], from: holder((c) => c.limits?.[name]) };
  };
  return [
    { key: 'db', value: settings.db.path, from: settings.db.from },
    { key: 'model', value: settings.model?.value ?? null, from: settings.model?.from ?? 'not set' },
    ...Object.entries(settings.providers).map(([name, { kind, baseURL, apiKeyEnv }]) => ({
      key: `providers.${name}`,
      value: defined({ kind, baseURL: baseURL === undefined ? undefined : hideUrlCredentials(baseURL), apiKeyEnv }) as Json,
      from: holder((c) => c.providers?.[name]),
    })),
    ...(Object.keys(defaultLimits) as LimitName[]).map(limit),
    { key: 'sandbox', ...settings.sandbox },
    { key: 'durability', ...settings.durability },
    ...Object.entries(settings.env).map(([agent, names]) => ({
      key: `env.${agent}`,
      value: names,
      from: holder((c) => c.env?.[agent]),
    })),
    ...Object.entries(settings.prices).map(([name, price]) => ({
      key: `prices.${name}`,
      value: defined({ ...price }) as Json,
      from: holder((c) => c.prices?.[name]),
    })),
    ...Object.entries(settings.mcpServers).map(([name, server]) => ({
      key: `mcpServers.${name}`,
      value: serverToPublicJson(server),
      from: holder((c) => c.mcpServers?.[name]),
    })),
    ...Object.entries(settings.dialects).flatMap(([dialect, section]) =>
      Object.entries(section).map(([key, value]) => ({
        key: `dialects.${dialect}.${key}`,
        value,
        from: holder((c) => (c.dialects as Settings['dialects'] | undefined)?.[dialect]?.[key]),
      })),
    ),
  ];
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Partial<T>;
}
