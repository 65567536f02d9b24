// Puts the configuration together: built-in < the user's file < the workspace's (or --config) < variables < flags.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { OwnedRules, Settings, SettingsFlags, Sourced } from '../cli/settings.ts';
import { RetinueError } from '../contract/error.ts';
import { parseRule } from '../kernel/policy.ts';
import { checkConfig } from './config/check.ts';
import { maxConfigBytes, readDocument } from './config/document.ts';
import { directory, missing, readBytes } from './config/files.ts';
import { found, type Layer, merged, sourcesOf } from './config/layers.ts';
import { narrow } from './config/narrow.ts';
import type { Config } from './config/schema.ts';

export type { Settings, SettingsFlags } from '../cli/settings.ts';

/** What of the process the settings depend on. */
export interface Surroundings {
  cwd: string;
  env: Record<string, string | undefined>;
}

const fileName = 'retinue.config.json';

/** Throws `invalid_config`, `invalid_rule` or `usage`, naming the place and what is right. */
export function loadSettings(flags: SettingsFlags, surroundings: Surroundings): Settings {
  const { cwd, env } = surroundings;
  const workspace = directory(cwd, flags.workspace ?? '.');
  const { layers, narrowingRules, notices, files } = readFiles(flags, surroundings, workspace);
  const all = merged(layers);
  const settings = {
    workspace,
    model: flag('--model', flags.model) ?? variable('RETINUE_MODEL', env) ?? found(layers, 'model'),
    limits: { config: all.limits ?? {}, command: flags.limits },
    ownerRules: ownerRules(layers, flags.rules),
    narrowingRules,
    db: database(flags, surroundings, workspace),
    sandbox: found(layers, 'sandbox') ?? { value: 'auto' as const, from: 'built-in' },
    durability: found(layers, 'durability') ?? { value: 'normal' as const, from: 'built-in' },
    providers: all.providers ?? {},
    prices: all.prices ?? {},
    dialects: (all.dialects ?? {}) as Settings['dialects'],
    notices,
    files,
  };
  return { ...settings, sources: sourcesOf(settings, layers) };
}

interface Read extends Pick<Settings, 'narrowingRules' | 'notices' | 'files'> {
  layers: Layer[];
}

function readFiles(flags: SettingsFlags, { cwd, env }: Surroundings, workspace: string): Read {
  const read: Read = { layers: [], narrowingRules: [], notices: [], files: [] };
  const userFile = join(configFolder(env), 'retinue', 'config.json');
  const user = load(userFile);
  read.files.push({ path: userFile, role: 'user', found: user !== null });
  if (user) read.layers.push({ from: userFile, config: user });
  // A file named by hand is the user's own word, wherever it lies.
  if (flags.config !== undefined) {
    const path = resolve(cwd, flags.config);
    const config = load(path);
    if (config === null) throw missing('file', flags.config, path);
    read.files.push({ path, role: 'given', found: true });
    read.layers.push({ from: path, config });
    return read;
  }
  const path = join(workspace, fileName);
  const config = load(path);
  read.files.push({ path, role: 'workspace', found: config !== null });
  if (config) addUntrusted(read, path, config);
  return read;
}

function addUntrusted(read: Read, path: string, file: Config): void {
  const { config, left } = narrow(file, merged(read.layers));
  const { rules, ...rest } = config;
  read.notices.push(...left.map(({ key, why }) => `not trusted: \`${key}\` of ${path} is left out (${why})`));
  if (rules && rules.length > 0) read.narrowingRules.push({ owner: `workspace ${fileName}`, rules });
  read.layers.push({ from: path, config: rest });
}

function load(path: string): Config | null {
  const bytes = readBytes(path, maxConfigBytes);
  return bytes === null ? null : checkConfig(readDocument(path, bytes));
}

function ownerRules(layers: Layer[], command: string[]): OwnedRules[] {
  for (const rule of command) parseRule(rule);
  const files = layers.map(({ from, config }) => ({ owner: from, rules: config.rules ?? [] }));
  return [...files, { owner: 'command line', rules: command }].filter(({ rules }) => rules.length > 0);
}

function database(flags: SettingsFlags, { cwd, env }: Surroundings, workspace: string): Settings['db'] {
  const given = flag('--db', flags.db) ?? variable('RETINUE_DB', env);
  if (given) return { path: resolve(cwd, given.value), from: given.from };
  return { path: join(workspace, '.retinue', 'retinue.db'), from: 'built-in' };
}

function flag(name: string, value: string | undefined): Sourced<string> | null {
  if (value?.trim() === '') throw new RetinueError('usage', `${name} needs a value; it is empty`);
  return value === undefined ? null : { value, from: name };
}

/** An empty variable is an unset one. */
function variable(name: string, env: Surroundings['env']): Sourced<string> | null {
  const value = env[name];
  return value === undefined || value.trim() === '' ? null : { value, from: name };
}

function configFolder(env: Surroundings['env']): string {
  const xdg = env.XDG_CONFIG_HOME;
  return xdg && isAbsolute(xdg) ? xdg : join(env.HOME || homedir(), '.config');
}
