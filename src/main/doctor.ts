// Looks at the ground Retinue stands on. Nothing is changed, and nothing is started but the MCP servers that are configured and a sandbox, which
// are ended again; what cannot be looked at is an answer too.
import type { Check } from '../cli/io.ts';
import type { Settings, SettingsFlags } from '../cli/settings.ts';
import { isRetinueError } from '../contract/error.ts';
import { findSandbox } from '../sandboxes/find-sandbox.ts';
import { getSqliteVersion, probeDatabase } from '../stores/sqlite/probe.ts';
import { directory } from './config/files.ts';
import { database, loadSettings, type Surroundings } from './config.ts';
import { agentPrograms, canMake, hasBundledRipgrep, ollamaHost, ollamaVersion, onPath } from './doctor-looks.ts';
import { lookAtServers } from './doctor-servers.ts';
import { isMadeHere } from './origin.ts';
import { sandboxOptions } from './sandbox.ts';

const oldestNode = 24;
const conventionalKeys: Record<string, string> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  'openai-compatible': 'RETINUE_API_KEY',
};

export async function examine(flags: SettingsFlags, surroundings: Surroundings): Promise<Check[]> {
  const workspace = directory(surroundings.cwd, flags.workspace ?? '.');
  const loaded = attempt(() => loadSettings(flags, surroundings));
  const settings = loaded.ok ? loaded.value : null;
  return [
    node(),
    sqlite(),
    data(database(flags, surroundings, workspace).path, surroundings.env),
    loaded.ok ? configuration(loaded.value) : broken('configuration', loaded.reason, 'put this right; nothing runs before'),
    ...(settings ? [trust(settings), agents(settings), model(settings, surroundings.env)] : [ok('workspace', workspace)]),
    keys(settings, surroundings.env),
    await ollama(settings, surroundings.env),
    ...(settings ? await servers(settings, surroundings.env) : []),
    await sandbox(settings, workspace, surroundings.env),
    ...helpers(surroundings.env),
  ];
}

function node(): Check {
  const { node: version } = process.versions;
  if (Number.parseInt(version, 10) >= oldestNode) return ok('node', version);
  return broken('node', version, `install Node ${oldestNode} or later`);
}

function sqlite(): Check {
  const { version, wanted, tooOld } = getSqliteVersion();
  return tooOld ? broken('sqlite', version, `${wanted} or later is needed; it comes with Node 24.15 or later`) : ok('sqlite', version);
}

function data(path: string, env: Surroundings['env']): Check {
  const sight = probeDatabase(path);
  switch (sight.state) {
    case 'open':
      return isMadeHere(env, path)
        ? ok('database', `${path} opens`)
        : warning(
            'database',
            `${path} opens; it was not made here and may have come with the folder`,
            'its unfinished runs go on only with `retinue resume --adopt`; look at them first',
          );
    case 'absent':
      return canMake(path)
        ? ok('database', `${path} is not there yet; the first run makes it`)
        : broken('database', `${path} is not there and cannot be made`, 'make its directory writable, or name another with --db');
    case 'locked': {
      const who = sight.holders.map(({ pid, command }) => `process ${pid}${command === null ? '' : ` (${command})`}`).join(', ');
      const advice = who === '' ? 'look again: a lock is held only for moments' : 'look again; a process that keeps it is stopped or hangs';
      return warning('database', `${path} is locked for writing by ${who === '' ? 'another process' : who}`, advice);
    }
    case 'broken':
      return broken('database', sight.reason, 'move it away to begin with a new one, or name another with --db');
  }
}

function configuration({ files, notices }: Settings): Check {
  const found = files.filter((file) => file.found).map((file) => file.path);
  const text = found.length === 0 ? 'no file; the built-in values hold' : found.join(', ');
  return notices.length === 0
    ? ok('configuration', text)
    : warning('configuration', [text, ...notices].join('\n'), '`retinue trust` shows what is left out');
}

function trust(settings: Settings): Check {
  const agentFiles = attempt(() => settings.agents().trust);
  const files = [...settings.trust, ...(agentFiles.ok ? agentFiles.value : [])];
  const open = files.filter(({ state }) => state !== 'trusted').map(({ path }) => path);
  if (open.length > 0)
    return warning('workspace', `${settings.workspace}\nnot trusted: ${open.join(', ')}`, '`retinue trust` shows what they ask for');
  return ok('workspace', `${settings.workspace}${files.length === 0 ? '; nothing in it asks for trust' : '; trusted'}`);
}

function agents(settings: Settings): Check {
  const found = attempt(() => settings.agents());
  if (!found.ok) return broken('agents', found.reason, 'put this right; nothing runs before');
  const { list, refused, warnings } = found.value;
  const own = list.filter(({ source }) => source !== 'built-in').length;
  const text = `${list.length - own} built in, ${own} from files`;
  const complaints = [...refused.flatMap(({ problems }) => problems), ...warnings.map(({ source, message }) => `${source}: ${message}`)];
  return complaints.length === 0
    ? ok('agents', text)
    : warning('agents', [text, ...complaints].join('\n'), '`retinue agents explain NAME` shows what counts');
}

function model({ model: chosen, providers }: Settings, env: Surroundings['env']): Check {
  if (chosen === null) return warning('model', 'none is configured', 'set RETINUE_MODEL, or `model` in a configuration, or use --model');
  const [provider = ''] = chosen.value.split('/');
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const key = own ? own.apiKeyEnv : conventionalKeys[provider];
  const text = `${chosen.value} (${chosen.from})`;
  if (key === undefined || provider === 'openai-compatible' || env[key]?.trim()) return ok('model', text);
  return warning('model', `${text}, but ${key} is not set`, `set ${key}, or choose another model`);
}

/** Names only. */
function keys(settings: Settings | null, env: Surroundings['env']): Check {
  const own = Object.values(settings?.providers ?? {}).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  const set = [...new Set([...Object.values(conventionalKeys), ...own])].filter((name) => env[name]?.trim());
  if (set.length > 0) return ok('keys', set.join(', '));
  return warning('keys', 'none in the environment', 'set one, such as ANTHROPIC_API_KEY; local and scripted models need none');
}

async function ollama(settings: Settings | null, env: Surroundings['env']): Promise<Check> {
  const host = ollamaHost(env);
  const version = await ollamaVersion(host);
  if (version !== null) return ok('ollama', `${version} answers at ${host.host}`);
  const needed = settings?.model?.value.startsWith('ollama/') === true;
  const text = `does not answer at ${host.host}`;
  return needed
    ? warning('ollama', text, 'start it with `ollama serve`: the model needs it')
    : warning('ollama', text, 'only `ollama/…` models need it');
}

async function servers(settings: Settings, env: Surroundings['env']): Promise<Check[]> {
  const agentList = attempt(() => settings.agents().list);
  const found = await lookAtServers(settings, agentList.ok ? agentList.value : [], env);
  return found.map(({ name, tools, problems }) => {
    const [text, advice] =
      tools === null
        ? ['cannot be used', 'runs go on without its tools']
        : [`answers; ${tools} tools`, 'runs go on without what is left out'];
    return problems.length === 0 ? ok(`mcp ${name}`, text) : warning(`mcp ${name}`, [text, ...problems].join('\n'), advice);
  });
}

/** Seen to work, whatever the setting is: whoever has switched it off wants to know what there would be. */
async function sandbox(settings: Settings | null, workspace: string, env: Surroundings['env']): Promise<Check> {
  const mode = settings?.sandbox.value ?? 'auto';
  const found = await findSandbox(sandboxOptions({ workspace, db: settings?.db.path ?? null, env }));
  if (found.ok) {
    const { name, limits } = found.sandbox;
    const text = `${name} ${await found.sandbox.version()} works; ${limits}`;
    if (mode !== 'off') return ok('sandbox', text);
    return warning(
      'sandbox',
      `off (${settings?.sandbox.from}), though ${text}`,
      'shell commands that rules allow are not confined; set `sandbox` to `auto`',
    );
  }
  if (mode === 'required') return broken('sandbox', `required, but ${found.reason}; shell commands are denied`, found.advice);
  const held = mode === 'off' ? `off (${settings?.sandbox.from})` : 'none; shell commands are asked about';
  return warning('sandbox', `${held}: ${found.reason}`, found.advice);
}

function helpers(env: Surroundings['env']): Check[] {
  const [rg, git] = [onPath('rg', env), onPath('git', env)];
  const programs = agentPrograms.filter((name) => onPath(name, env) !== null);
  return [
    rg !== null || hasBundledRipgrep()
      ? ok('ripgrep', rg ?? 'the one of the package')
      : warning('ripgrep', 'not found', 'install it, for quick searches'),
    git !== null ? ok('git', git) : warning('git', 'not found', 'install it; `review` looks at changes with it'),
    ok('other agents', programs.length === 0 ? 'none on PATH' : `${programs.join(', ')} on PATH`),
  ];
}

type Attempt<T> = { ok: true; value: T } | { ok: false; reason: string };

function attempt<T>(look: () => T): Attempt<T> {
  try {
    return { ok: true, value: look() };
  } catch (error) {
    if (!isRetinueError(error)) throw error;
    return { ok: false, reason: error.message };
  }
}

function ok(name: string, found: string): Check {
  return { name, state: 'ok', found, advice: null };
}

function warning(name: string, found: string, advice: string): Check {
  return { name, state: 'warning', found, advice };
}

function broken(name: string, found: string, advice: string): Check {
  return { name, state: 'broken', found, advice };
}
