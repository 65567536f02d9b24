// `retinue doctor`: checks what Retinue needs on this machine. It changes nothing, and it starts only the configured MCP servers, a sandbox and the
// installed external agents (for their version), which it ends again. For each of these agents it makes one short model call. A check that fails is a
// result, not an error.
//
// `doctor/` holds these checks and the probes that they share with the demos. Printing them belongs to `cli/`.
import { isOwnDatabase } from '../config/database-origin.ts';
import { databaseFile } from '../config/database-setting.ts';
import { loadSettings, type ProcessContext, resolveDatabase } from '../config/load.ts';
import type { Settings, SettingsFlags } from '../config/settings.ts';
import { sandboxOptions } from '../config/shell-access.ts';
import type { Env } from '../config/user-folders.ts';
import { findWorkspace } from '../config/workspace.ts';
import { isRetinueError } from '../contract/error.ts';
import { findSandbox } from '../sandboxes/find-sandbox.ts';
import { getSqliteVersion, probeDatabase } from '../stores/sqlite/probe.ts';
import { describeOldNode } from '../system/node-version.ts';
import { broken, type Check, ok, warning } from './check.ts';
import { checkServer } from './database-server.ts';
import { checkExternalAgents } from './external-agents.ts';
import { checkServers } from './mcp-servers.ts';
import { canCreateFile, findAgentPrograms, findOnPath, hasBundledRipgrep, ollamaHost, probeOllama } from './probes.ts';

const conventionalKeys: Record<string, string> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  'openai-compatible': 'RETINUE_API_KEY',
};
const mustFixAdvice = 'fix this first: agents cannot start until then';

export async function runDoctor(flags: SettingsFlags, context: ProcessContext): Promise<Check[]> {
  const { env } = context;
  const workspace = findWorkspace(flags.workspace, context).path;
  const loaded = attempt(() => loadSettings(flags, context));
  const settings = loaded.ok ? loaded.value : null;
  return [
    checkNode(),
    checkSqlite(),
    ...(await checkDatabase(
      attempt(() => settings?.db ?? resolveDatabase(flags, context, workspace)),
      env,
    )),
    loaded.ok ? checkConfiguration(loaded.value) : broken('configuration', loaded.reason, mustFixAdvice),
    ...(settings ? [checkTrust(settings), checkAgents(settings), checkModel(settings, env)] : [ok('workspace', workspace)]),
    checkKeys(settings, env),
    await checkOllama(settings, env),
    ...(settings ? await checkServers(settings, usableAgents(settings), env) : []),
    await checkSandbox(settings, workspace, env),
    ...(settings ? await checkExternalAgents(settings, usableAgents(settings), env) : []),
    ...(settings ? checkTraces(settings) : []),
    ...checkPrograms(env),
  ];
}

function checkNode(): Check {
  const { node: version } = process.versions;
  const problem = describeOldNode(version);
  return problem === null ? ok('node', version) : broken('node', version, problem);
}

/** Nothing if traces are off. Whether the receiver works is seen only with the first spans. */
function checkTraces({ telemetry }: Settings): Check[] {
  if (telemetry.state === 'off') return [];
  if (telemetry.state === 'unusable') return [warning('traces', 'are not exported', telemetry.problem)];
  const { shownUrl, content, protocol } = telemetry.export;
  return [ok('traces', `${shownUrl} (${protocol}, ${content ? 'with' : 'without'} content; set by ${telemetry.from})`)];
}

function checkSqlite(): Check {
  const { version, wanted, tooOld } = getSqliteVersion();
  return tooOld ? broken('sqlite', version, `${wanted} or later is needed; Node 24.15 and later include it`) : ok('sqlite', version);
}

async function checkDatabase(found: Attempt<Settings['db']>, env: Env): Promise<Check[]> {
  if (!found.ok) return [broken('database', found.reason, 'correct --db or RETINUE_DB')];
  const db = found.value;
  return db.kind === 'file' ? [checkFile(db.path, env)] : checkServer(db, env);
}

function checkFile(path: string, env: Env): Check {
  const isOwn = isOwnDatabase(env, path);
  const sight = probeDatabase(path, isOwn);
  switch (sight.state) {
    case 'open':
      return isOwn
        ? ok('database', `${path} opens`)
        : warning(
            'database',
            `${path} opens, but you did not create it on this machine; it may have come with the folder`,
            'inspect it with `retinue ps --all` and `retinue verify`; commands that write need --adopt once',
          );
    case 'readable':
      return warning(
        'database',
        `${path} can be read but not written\n${sight.reason}`,
        'commands that only read work; others need a writable database',
      );
    case 'absent':
      return canCreateFile(path)
        ? ok('database', `${path} does not exist yet; the first run creates it`)
        : broken(
            'database',
            `${path} does not exist and cannot be created`,
            'make its directory writable, or choose another path with --db',
          );
    case 'locked': {
      const holders = sight.holders.map(({ pid, command }) => `process ${pid}${command === null ? '' : ` (${command})`}`).join(', ');
      const advice =
        holders === ''
          ? 'run this again: a lock normally lasts only moments'
          : 'run this again; a process that still holds the lock is stopped or hangs';
      return warning('database', `${path} is locked for writing by ${holders === '' ? 'another process' : holders}`, advice);
    }
    case 'broken':
      return broken('database', sight.reason, 'move the file away to start with a new one, or choose another path with --db');
  }
}

function checkConfiguration({ files, notices }: Settings): Check {
  const found = files.filter((file) => file.found).map((file) => file.path);
  const text = found.length === 0 ? 'no file; built-in values apply' : found.join(', ');
  return notices.length === 0
    ? ok('configuration', text)
    : warning('configuration', [text, ...notices].join('\n'), '`retinue trust` shows what is ignored');
}

function checkTrust(settings: Settings): Check {
  const agentFiles = attempt(() => settings.agents().trust);
  const files = [...settings.trust, ...(agentFiles.ok ? agentFiles.value : [])];
  const untrusted = files.filter(({ state }) => state !== 'trusted').map(({ path }) => path);
  if (untrusted.length > 0)
    return warning('workspace', `${settings.workspace}\nnot trusted: ${untrusted.join(', ')}`, '`retinue trust` shows what they ask for');
  return ok('workspace', `${settings.workspace}${files.length === 0 ? '; no file needs trust' : '; trusted'}`);
}

function checkAgents(settings: Settings): Check {
  const found = attempt(() => settings.agents());
  if (!found.ok) return broken('agents', found.reason, mustFixAdvice);
  const { list, refused, warnings } = found.value;
  const fromFiles = list.filter(({ source }) => source !== 'built-in').length;
  const text = `${list.length - fromFiles} built in, ${fromFiles} from files`;
  const complaints = [...refused.flatMap(({ problems }) => problems), ...warnings.map(({ source, message }) => `${source}: ${message}`)];
  return complaints.length === 0
    ? ok('agents', text)
    : warning('agents', [text, ...complaints].join('\n'), '`retinue agents explain NAME` shows what an agent gets');
}

function usableAgents(settings: Settings) {
  const found = attempt(() => settings.agents().list);
  return found.ok ? found.value : [];
}

function checkModel({ model: chosen, providers }: Settings, env: Env): Check {
  if (chosen === null)
    return warning('model', 'none is configured', 'set RETINUE_MODEL or `model` in a configuration file, or use --model');
  const [provider = ''] = chosen.value.split('/');
  const configured = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const key = configured ? configured.apiKeyEnv : conventionalKeys[provider];
  const text = `${chosen.value} (${chosen.from})`;
  if (key === undefined || provider === 'openai-compatible' || env[key]?.trim()) return ok('model', text);
  return warning('model', `${text}, but ${key} is not set`, `set ${key}, or choose another model`);
}

/** Shows names of variables only. */
function checkKeys(settings: Settings | null, env: Env): Check {
  const configured = Object.values(settings?.providers ?? {}).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  const set = [...new Set([...Object.values(conventionalKeys), ...configured])].filter((name) => env[name]?.trim());
  if (set.length > 0) return ok('keys', set.join(', '));
  return warning('keys', 'none in the environment', 'set one, such as ANTHROPIC_API_KEY; local and scripted models need none');
}

async function checkOllama(settings: Settings | null, env: Env): Promise<Check> {
  const host = ollamaHost(env);
  const version = await probeOllama(host);
  if (version !== null) return ok('ollama', `${version} answers at ${host.host}`);
  const isNeeded = settings?.model?.value.startsWith('ollama/') === true;
  const advice = isNeeded ? 'start it with `ollama serve`: the model needs it' : 'only `ollama/…` models need it';
  return warning('ollama', `does not answer at ${host.host}`, advice);
}

/** Tries the sandbox even if it is switched off, so that the user learns what is available. */
async function checkSandbox(settings: Settings | null, workspace: string, env: Env): Promise<Check> {
  const mode = settings?.sandbox.value ?? 'auto';
  const found = await findSandbox(sandboxOptions({ workspace, db: settings === null ? null : databaseFile(settings.db), env }));
  if (found.ok) {
    const { name, limits } = found.sandbox;
    const text = `${name} ${await found.sandbox.version()} works; ${limits}`;
    if (mode !== 'off') return ok('sandbox', text);
    return warning(
      'sandbox',
      `off (${settings?.sandbox.from}), although ${text}`,
      'allowed shell commands are not confined; set `sandbox` to `auto`',
    );
  }
  if (mode === 'required') return broken('sandbox', `required, but ${found.reason}; shell commands are denied`, found.advice);
  const state = mode === 'off' ? `off (${settings?.sandbox.from})` : 'none; shell commands need approval';
  return warning('sandbox', `${state}: ${found.reason}`, found.advice);
}

function checkPrograms(env: Env): Check[] {
  const [rg, git] = [findOnPath('rg', env), findOnPath('git', env)];
  const agents = findAgentPrograms(env);
  return [
    rg !== null || hasBundledRipgrep()
      ? ok('ripgrep', rg ?? 'included in the package')
      : warning('ripgrep', 'not found', 'install it for fast searches'),
    git !== null ? ok('git', git) : warning('git', 'not found', 'install it; the `review` agent uses it to look at changes'),
    ok('other agents', agents.length === 0 ? 'none on PATH' : `${agents.join(', ')} on PATH`),
  ];
}

type Attempt<T> = { ok: true; value: T } | { ok: false; reason: string };

function attempt<T>(act: () => T): Attempt<T> {
  try {
    return { ok: true, value: act() };
  } catch (error) {
    if (!isRetinueError(error)) throw error;
    return { ok: false, reason: error.message };
  }
}
