// Loads the settings: built-in values < the user's file < the workspace's file (or --config) < variables < flags.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { parseRule } from '../rules/policy.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { loadConfiguredAgents } from './agents.ts';
import { type AnchorOptions, findUnusedPath } from './anchor-rules.ts';
import { assertNoForeignUrl, createFileSetting, createServerSetting, isDatabaseUrl } from './database-setting.ts';
import { dexVariableLayers } from './dex-variables.ts';
import { findNamedPath, missingPathError, readBytes } from './files.ts';
import { flowTrustItems } from './flow-files.ts';
import { maxConfigBytes, parseJsonDocument } from './json-document.ts';
import { findSetting, type Layer, listSources, mergeLayers } from './layers.ts';
import { findModels } from './model-setting.ts';
import { narrowConfig } from './narrow.ts';
import type { NotifySettings } from './notify-settings.ts';
import { resolveReadable } from './readable-folders.ts';
import type { Config } from './schema.ts';
import {
  type ConfiguredAgents,
  type ConfiguredSkills,
  commandLineOwner,
  type OwnedRules,
  type Settings,
  type SettingsFlags,
  type Sourced,
  sandboxModes,
} from './settings.ts';
import { loadSkills } from './skill-files.ts';
import { resolveTelemetry } from './telemetry.ts';
import { hashFile, readTrust, type TrustList } from './trust.ts';
import { type Env, userConfigFolder } from './user-folders.ts';
import { validateConfig } from './validate.ts';
import { type FoundWorkspace, findRepositoryRoot, findWorkspace } from './workspace.ts';

/** The parts of the process that settings depend on. */
export interface ProcessContext {
  cwd: string;
  env: Env;
}

const fileName = 'retinue.config.json';
const databaseFile = join('.retinue', 'retinue.db');

/** Throws `invalid_config`, `invalid_rule` or `usage`, with the position and the correct form. */
export function loadSettings(flags: SettingsFlags, context: ProcessContext): Settings {
  const { env } = context;
  const found = findWorkspace(flags.workspace, context);
  const workspace = found.path;
  const trustList = readTrust(env);
  const { layers, narrowingRules, notices, files, trust } = readConfigFiles(flags, context, { workspace, trustList });
  layers.push(...dexVariableLayers(env));
  const merged = mergeLayers(layers);
  let agents: ConfiguredAgents | null = null;
  let skills: ConfiguredSkills | null = null;
  const ownModel = readFlag('--model', flags.model) ?? readVariable('RETINUE_MODEL', env);
  const ownerRules = collectOwnerRules(layers, flags.rules);
  const notify = findSetting(layers, 'notify');
  const settings = {
    workspace,
    workspaceFrom: found.from,
    ...findModels(layers, ownModel && { ...ownModel, value: resolveScript(ownModel.value, context, workspace) }),
    effort: findSetting(layers, 'effort'),
    promptCache: findSetting(layers, 'promptCache') ?? { value: 'auto' as const, from: 'built-in' },
    limits: { config: merged.limits ?? {}, command: flags.limits },
    budgets: [...new Set([...(merged.budgets ?? []), ...(flags.budgets ?? [])])],
    compaction: merged.compaction ?? {},
    ownerRules,
    narrowingRules,
    readable: resolveReadable(flags.addDirs ?? [], { cwd: context.cwd, workspace, env }),
    db: resolveDatabase(flags, context, workspace, findSetting(layers, 'db')),
    sandbox: readSandboxMode(flags, env) ?? findSetting(layers, 'sandbox') ?? { value: 'auto' as const, from: 'built-in' },
    env: merged.env ?? {},
    durability: findSetting(layers, 'durability') ?? { value: 'normal' as const, from: 'built-in' },
    providers: merged.providers ?? {},
    prices: merged.prices ?? {},
    mcpServers: merged.mcpServers ?? {},
    notify,
    telemetry: resolveTelemetry(merged.telemetry, findSetting(layers, 'telemetry')?.from ?? 'built-in', env),
    dialects: (merged.dialects ?? {}) as Settings['dialects'],
    agents() {
      agents ??= loadConfiguredAgents({ workspace, env, limits: merged.limits ?? {}, trustList });
      return agents;
    },
    skills() {
      skills ??= loadSkills(workspace, env);
      return skills;
    },
    trust,
    flowTrust: () => flowTrustItems(workspace, trustList),
    notices: [
      ...unusedFileNotices(found, context),
      ...trustList.notices,
      ...notices,
      ...unsetVariableNotices(merged.env ?? {}, env),
      ...notifyNotices(notify?.value ?? {}, env),
      ...unusedPathNotices([...ownerRules, ...narrowingRules], { workspace, env }),
    ],
    files,
  };
  return { ...settings, sources: listSources(settings, layers) };
}

interface ReadResult extends Pick<Settings, 'narrowingRules' | 'notices' | 'files' | 'trust'> {
  layers: Layer[];
}

function readConfigFiles(
  flags: SettingsFlags,
  { cwd, env }: ProcessContext,
  { workspace, trustList }: { workspace: string; trustList: TrustList },
): ReadResult {
  const result: ReadResult = { layers: [], narrowingRules: [], notices: [], files: [], trust: [] };
  const userFile = join(userConfigFolder(env), 'config.json');
  const user = loadFile(userFile);
  result.files.push({ path: userFile, role: 'user', found: user !== null });
  if (user) result.layers.push({ from: userFile, config: user.config });
  // A file given with --config needs no trust, wherever it is: the user named it.
  if (flags.config !== undefined) {
    const path = resolve(cwd, flags.config);
    const given = loadFile(path);
    if (given === null) throw missingPathError('file', flags.config, path);
    result.files.push({ path, role: 'given', found: true });
    result.layers.push({ from: path, config: given.config });
    return result;
  }
  const path = join(workspace, fileName);
  const file = loadFile(path);
  result.files.push({ path, role: 'workspace', found: file !== null });
  if (file) addWorkspaceFile(result, { path, ...file }, trustList);
  return result;
}

/** A trusted file is one more owner's layer. Without trust, widening settings are ignored and its rules can only narrow. */
function addWorkspaceFile(result: ReadResult, file: LoadedFile & { path: string }, trustList: TrustList): void {
  const { path, bytes } = file;
  // Not even a trusted one: it would get the results of this workspace's runs.
  const { notify, telemetry, ...config } = file.config;
  if (notify !== undefined) result.notices.push(`\`notify\` in ${path} is ignored: only your own configuration decides who is notified`);
  if (telemetry !== undefined)
    result.notices.push(`\`telemetry\` in ${path} is ignored: only your own configuration decides who gets traces`);
  const hash = hashFile(path, bytes);
  const state = trustList.state(path, hash);
  const narrowed = narrowConfig(config, mergeLayers(result.layers));
  const { rules, ...rest } = narrowed.config;
  const needsTrust = narrowed.needsTrust.length > 0;
  if (needsTrust) result.trust.push({ path, hash, state, gives: narrowed.needsTrust });
  if (state === 'trusted') {
    result.layers.push({ from: path, config: startServersInWorkspace(config) });
    return;
  }
  if (state === 'changed' && needsTrust)
    result.notices.push(`not trusted: ${path} has changed since you trusted it; \`retinue trust\` shows what it asks for`);
  result.notices.push(...narrowed.ignored.map(({ key, why }) => `not trusted: \`${key}\` in ${path} is ignored (${why})`));
  if (rules && rules.length > 0) result.narrowingRules.push({ owner: `workspace ${fileName}`, rules });
  result.layers.push({ from: path, config: rest });
}

/** MCP servers of a trusted workspace start in the workspace; those of the user start in the user's home. */
function startServersInWorkspace(config: Config): Config {
  if (config.mcpServers === undefined) return config;
  const servers = Object.entries(config.mcpServers).map(([name, server]) => [
    name,
    server.command === undefined ? server : { cwd: '.', ...server },
  ]);
  return { ...config, mcpServers: Object.fromEntries(servers) };
}

interface LoadedFile {
  config: Config;
  bytes: Uint8Array;
}

function loadFile(path: string): LoadedFile | null {
  const bytes = readBytes(path, maxConfigBytes);
  return bytes === null ? null : { bytes, config: validateConfig(parseJsonDocument(path, bytes)) };
}

function collectOwnerRules(layers: Layer[], command: string[]): OwnedRules[] {
  for (const rule of command) parseRule(rule);
  const files = layers.map(({ from, config }) => ({ owner: from, rules: config.rules ?? [] }));
  return [...files, { owner: commandLineOwner, rules: command }].filter(({ rules }) => rules.length > 0);
}

/** Files of the current folder that would count if it were the workspace. */
function unusedFileNotices({ path, from }: FoundWorkspace, { cwd }: ProcessContext): string[] {
  if (from !== 'git') return [];
  return [fileName, databaseFile]
    .filter((file) => existsSync(join(cwd, file)))
    .map((file) => `${join(cwd, file)} is not used: the workspace is ${path}; \`-C .\` uses this folder`);
}

/** A granted variable that is unset would make a command fail without a hint. */
function unusedPathNotices(lists: OwnedRules[], anchor: AnchorOptions): string[] {
  return lists.flatMap(({ owner, rules }) =>
    rules.flatMap((rule) => findUnusedPath(rule, anchor) ?? []).map((problem) => `a rule of ${owner} may protect nothing: ${problem}`),
  );
}

function unsetVariableNotices(granted: Record<string, string[]>, env: Env): string[] {
  return Object.entries(granted).flatMap(([agent, names]) =>
    names.filter((name) => !env[name]).map((name) => `env.${agent}: the variable ${name} is not set`),
  );
}

function notifyNotices({ webhook, webhookSecretEnv }: NotifySettings, env: Env): string[] {
  if (webhookSecretEnv !== undefined && webhook === undefined) return ['notify.webhookSecretEnv has no effect without notify.webhook'];
  if (webhookSecretEnv !== undefined && !env[webhookSecretEnv])
    return [`notify.webhookSecretEnv: the variable ${webhookSecretEnv} is not set, so the webhook is not called`];
  return [];
}

function readSandboxMode(flags: SettingsFlags, env: Env): Settings['sandbox'] | null {
  const given = readFlag('--sandbox', flags.sandbox) ?? readVariable('RETINUE_SANDBOX', env);
  if (given === null) return null;
  const value = sandboxModes.find((mode) => mode === given.value);
  if (value === undefined) throw new RetinueError('usage', `${given.from}: ${unknownNameMessage('mode', given.value, sandboxModes)}`);
  return { value, from: given.from };
}

/** A script that the user names from the current folder, as the model that finds it from the workspace. */
function resolveScript(model: string, { cwd }: ProcessContext, workspace: string): string {
  const script = /^script\/([^/].*)$/.exec(model)?.[1];
  const file = script === undefined ? null : findNamedPath(workspace, cwd, script);
  return file === null || file === join(workspace, script as string) ? model : `script/${file}`;
}

/** The database of a command. `configured`: the address in a configuration file. Throws `usage` for a malformed or foreign address. */
export function resolveDatabase(
  flags: SettingsFlags,
  { cwd, env }: ProcessContext,
  workspace: string,
  configured: Sourced<string> | null = null,
): Settings['db'] {
  const given = readFlag('--db', flags.db) ?? readVariable('RETINUE_DB', env) ?? configured;
  const adopt = flags.adopt ?? false;
  if (given) assertNoForeignUrl(given.value, given.from);
  if (given && isDatabaseUrl(given.value)) return createServerSetting(given.value, { from: given.from, adopt, env });
  if (given) return createFileSetting(resolve(cwd, given.value), { from: given.from, adopt });
  // A client's folder may be a part of a repository; commands in the repository then see the same runs.
  const folder = flags.isClientFolder ? (findRepositoryRoot(workspace, env) ?? workspace) : workspace;
  return createFileSetting(join(folder, databaseFile), { from: 'built-in', adopt });
}

function readFlag(name: string, value: string | undefined): Sourced<string> | null {
  if (value?.trim() === '') throw new RetinueError('usage', `${name} needs a value, and this one is empty`);
  return value === undefined ? null : { value, from: name };
}

/** An empty variable counts as unset. */
function readVariable(name: string, env: Env): Sourced<string> | null {
  const value = env[name];
  return value === undefined || value.trim() === '' ? null : { value, from: name };
}
