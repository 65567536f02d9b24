// Dex's own variables: each beats the files. An empty one is an unset one.
import { RetinueError } from '../../contract/error.ts';
import { DexConfig } from '../../dialects/settings.ts';
import type { Layer } from './layers.ts';
import type { Env } from './places.ts';

const words: Record<string, boolean> = { true: true, t: true, 1: true, false: false, f: false, 0: false };

const variables: Record<string, { key: keyof typeof DexConfig.shape; read(text: string): unknown; wanted: string }> = {
  DEX_SUBAGENT_ENABLED: { key: 'enabled', read: (text) => words[text.toLowerCase()], wanted: 'true or false' },
  DEX_SUBAGENT_MAX_CONCURRENT: { key: 'max_concurrent', read: whole, wanted: 'a whole number from 1 to 10000' },
  DEX_SUBAGENT_DEFAULT_MAX_TURNS: { key: 'default_max_turns', read: whole, wanted: 'a whole number from 1 to 500' },
  DEX_SUBAGENT_DEFAULT_TIMEOUT: { key: 'default_timeout', read: (text) => text, wanted: 'whole seconds or a time like 10m' },
};

/** A layer for each variable that is set. Throws `invalid_config` that names the variable. */
export function variableLayers(env: Env): Layer[] {
  return Object.entries(variables).flatMap(([name, { key, read, wanted }]) => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return [];
    const value = read(text);
    const parsed = DexConfig.safeParse({ [key]: value });
    if (value === undefined || !parsed.success)
      throw new RetinueError('invalid_config', `${name} must be ${wanted}; it is ${JSON.stringify(text.slice(0, 100))}`);
    return [{ from: name, config: { dialects: { dex: parsed.data } } } as Layer];
  });
}

function whole(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}
