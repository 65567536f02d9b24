// Environment variables of the Dex dialect. They override the files; an empty variable counts as unset.
import { RetinueError } from '../contract/error.ts';
import { DexConfig } from '../dialects/settings.ts';
import type { Layer } from './layers.ts';
import type { Env } from './user-folders.ts';

const booleans: Record<string, boolean> = { true: true, t: true, 1: true, false: false, f: false, 0: false };

const variables: Record<string, { key: keyof typeof DexConfig.shape; parse(text: string): unknown; expected: string }> = {
  DEX_SUBAGENT_ENABLED: { key: 'enabled', parse: (text) => booleans[text.toLowerCase()], expected: 'true or false' },
  DEX_SUBAGENT_MAX_CONCURRENT: { key: 'max_concurrent', parse: parseWhole, expected: 'a whole number from 1 to 10000' },
  DEX_SUBAGENT_DEFAULT_MAX_TURNS: { key: 'default_max_turns', parse: parseWhole, expected: 'a whole number from 1 to 500' },
  DEX_SUBAGENT_DEFAULT_TIMEOUT: { key: 'default_timeout', parse: (text) => text, expected: 'whole seconds or a time like 10m' },
};

/** One layer per variable that is set. Throws `invalid_config` naming the variable. */
export function dexVariableLayers(env: Env): Layer[] {
  return Object.entries(variables).flatMap(([name, { key, parse, expected }]) => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return [];
    const value = parse(text);
    const parsed = DexConfig.safeParse({ [key]: value });
    if (value === undefined || !parsed.success)
      throw new RetinueError('invalid_config', `${name} must be ${expected}; it is ${JSON.stringify(text.slice(0, 100))}`);
    return [{ from: name, config: { dialects: { dex: parsed.data } } } as Layer];
  });
}

function parseWhole(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}
