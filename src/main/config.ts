// Puts the configuration together: built-in < the user's file < the workspace's (or --config) < variables < flags.
import { join, resolve } from 'node:path';
import { type AgentsFound, type OwnedRules, type Settings, type SettingsFlags, type Sourced, sandboxModes } from '../cli/settings.ts';
import { RetinueError } from '../contract/error.ts';
import { parseRule } from '../rules/policy.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { findAgents } from './agents.ts';
import { checkConfig } from './config/check.ts';
import { maxConfigBytes, readDocument } from './config/document.ts';
import { directory, missing, readBytes } from './config/files.ts';
import { found, type Layer, merged, sourcesOf } from './config/layers.ts';
import { narrow } from './config/narrow.ts';
import { type Env, ownFolder } from './config/places.ts';
import type { Config } from './config/schema.ts';
import { variableLayers } from './config/variables.ts';
import { hashOf, readTrust, type Trust } from './trust.ts';

export type { Settings, SettingsFlags } from '../cli/settings.ts';

/** What of the process the settings depend on. */
export interface Surroundings {
  cwd: string;
  env: Env;
}

const fileName = 'retinue.config.json';

/** Throws `invalid_config`, `invalid_rule` or `usage`, naming the place and what is right. */
export function loadSettings(flags: SettingsFlags, surroundings: Surroundings): Settings {
  const { cwd, env } = surroundings;
  const workspace = directory(cwd, flags.workspace ?? '.');
  const trusted = readTrust(env);
  const { layers, narrowingRules, notices, files, trust } = readFiles(flags, surroundings, { workspace, trusted });
  layers.push(...variableLayers(env));
  const all = merged(layers);
  let agents: AgentsFound | null = null;
  const settings = {
    workspace,
    model: flag('--model', flags.model) ?? variable('RETINUE_MODEL', env) ?? found(layers, 'model'),
    limits: { config: all.limits ?? {}, command: flags.limits },
    ownerRules: ownerRules(layers, flags.rules),
    narrowingRules,
    db: database(flags, surroundings, workspace),
    sandbox: sandboxOf(flags, env) ?? found(layers, 'sandbox') ?? { value: 'auto' as const, from: 'built-in' },
    env: all.env ?? {},
    durability: found(layers, 'durability') ?? { value: 'normal' as const, from: 'built-in' },
    providers: all.providers ?? {},
    prices: all.prices ?? {},
    mcpServers: all.mcpServers ?? {},
    dialects: (all.dialects ?? {}) as Settings['dialects'],
    agents() {
      agents ??= findAgents({ workspace, env, limits: all.limits ?? {}, trust: trusted });
      return agents;
    },
    trust,
    notices: [...trusted.notices, ...notices, ...missingIn(all.env ?? {}, env)],
    files,
  };
  return { ...settings, sources: sourcesOf(settings, layers) };
}

interface Read extends Pick<Settings, 'narrowingRules' | 'notices' | 'files' | 'trust'> {
  layers: Layer[];
}

function readFiles(flags: SettingsFlags, { cwd, env }: Surroundings, ground: { workspace: string; trusted: Trust }): Read {
  const read: Read = { layers: [], narrowingRules: [], notices: [], files: [], trust: [] };
  const userFile = join(ownFolder(env), 'config.json');
  const user = load(userFile);
  read.files.push({ path: userFile, role: 'user', found: user !== null });
  if (user) read.layers.push({ from: userFile, config: user.config });
  // A file named by hand is the user's own word, wherever it lies.
  if (flags.config !== undefined) {
    const path = resolve(cwd, flags.config);
    const given = load(path);
    if (given === null) throw missing('file', flags.config, path);
    read.files.push({ path, role: 'given', found: true });
    read.layers.push({ from: path, config: given.config });
    return read;
  }
  const path = join(ground.workspace, fileName);
  const file = load(path);
  read.files.push({ path, role: 'workspace', found: file !== null });
  if (file) addWorkspace(read, { path, ...file }, ground.trusted);
  return read;
}

/** Trusted as it stands, the file is one more of the owner's; else what widens is left out and its rules can only narrow. */
function addWorkspace(read: Read, { path, config, bytes }: Loaded & { path: string }, trusted: Trust): void {
  const hash = hashOf(path, bytes);
  const state = trusted.state(path, hash);
  const narrowed = narrow(config, merged(read.layers));
  const { rules, ...rest } = narrowed.config;
  if (narrowed.gives.length > 0) read.trust.push({ path, hash, state, gives: narrowed.gives });
  if (state === 'trusted') {
    read.layers.push({ from: path, config: inWorkspace(config) });
    return;
  }
  const again = state === 'changed' && narrowed.gives.length > 0;
  if (again) read.notices.push(`not trusted: ${path} has changed since it was trusted; \`retinue trust\` shows what it asks for`);
  read.notices.push(...narrowed.left.map(({ key, why }) => `not trusted: \`${key}\` of ${path} is left out (${why})`));
  if (rules && rules.length > 0) read.narrowingRules.push({ owner: `workspace ${fileName}`, rules });
  read.layers.push({ from: path, config: rest });
}

/** Servers of a trusted workspace start in it; those of the user start in the user's own folder. */
function inWorkspace(config: Config): Config {
  if (config.mcpServers === undefined) return config;
  const placed = Object.entries(config.mcpServers).map(([name, server]) => [
    name,
    server.command === undefined ? server : { cwd: '.', ...server },
  ]);
  return { ...config, mcpServers: Object.fromEntries(placed) };
}

interface Loaded {
  config: Config;
  bytes: Uint8Array;
}

function load(path: string): Loaded | null {
  const bytes = readBytes(path, maxConfigBytes);
  return bytes === null ? null : { bytes, config: checkConfig(readDocument(path, bytes)) };
}

function ownerRules(layers: Layer[], command: string[]): OwnedRules[] {
  for (const rule of command) parseRule(rule);
  const files = layers.map(({ from, config }) => ({ owner: from, rules: config.rules ?? [] }));
  return [...files, { owner: 'command line', rules: command }].filter(({ rules }) => rules.length > 0);
}

/** Variables that are granted and not there: the command that needs one would fail without a word of why. */
function missingIn(granted: Record<string, string[]>, env: Surroundings['env']): string[] {
  return Object.entries(granted).flatMap(([agent, names]) =>
    names.filter((name) => !env[name]).map((name) => `env.${agent}: the variable ${name} is not set`),
  );
}

function sandboxOf(flags: SettingsFlags, env: Surroundings['env']): Settings['sandbox'] | null {
  const given = flag('--sandbox', flags.sandbox) ?? variable('RETINUE_SANDBOX', env);
  if (given === null) return null;
  const value = sandboxModes.find((mode) => mode === given.value);
  if (value === undefined) throw new RetinueError('usage', `${given.from}: ${unknownNameMessage('mode', given.value, sandboxModes)}`);
  return { value, from: given.from };
}

/** Where the database is; needs no configuration file. */
export function database(flags: SettingsFlags, { cwd, env }: Surroundings, workspace: string): Settings['db'] {
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
