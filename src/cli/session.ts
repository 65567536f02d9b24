import type { Api } from '../api/api.ts';
import { type Settings, type SettingsFlags, sandboxModes } from '../config/settings.ts';
import { RetinueError } from '../contract/error.ts';
import { LimitsGiven } from '../contract/limits.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { agentNotices } from './agent-notices.ts';
import { cleanLine } from './clean.ts';
import { Unopened } from './errors.ts';
import type { Args } from './flags.ts';
import type { Io, OpenOptions } from './io.ts';
import { durationFlag, usdFlag, wholeFlag } from './values.ts';

/** What a command stands on. `agents`: it may start runs, so what is wrong with agents ends it before anything is opened. */
export interface SessionGround {
  flags: SettingsFlags;
  drive: boolean;
  startsRuns?: OpenOptions['startsRuns'];
  /** Its name, or what finds it out from what is there. */
  dialect?: string | undefined | ((api: Api) => Promise<string | undefined>);
  host?: OpenOptions['host'];
  agents?: { chosen: string | undefined };
  askMs?: OpenOptions['askMs'];
  adopted?: OpenOptions['adopted'];
}

/** Settings, then the API, then the work; the API is closed whatever happens. */
export async function withApi<T>(io: Io, ground: SessionGround, work: (api: Api, settings: Settings) => Promise<T>): Promise<T> {
  const settings = await settle(io, ground);
  const { drive, startsRuns, host, askMs, adopted, dialect: named } = ground;
  const dialect = typeof named === 'function' ? await closing(await open(io, settings, { drive: false }), named) : named;
  return closing(await open(io, settings, { drive, startsRuns, dialect, host, askMs, adopted }), (api) => work(api, settings));
}

async function closing<T>(api: Api, work: (api: Api) => Promise<T>): Promise<T> {
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

/** The dialect that a run was created under: what goes on with it goes on under the same. */
export async function dialectOfRun(api: Api, id: string): Promise<string | undefined> {
  for await (const fact of api.follow(await api.find(id), { signal: new AbortController().signal }))
    return fact.type === 'run.created' ? fact.data.dialect : undefined;
  return undefined;
}

/** The settings; what is left out of them is said once. */
export async function settle(io: Io, { flags, agents }: Pick<SessionGround, 'flags' | 'agents'>): Promise<Settings> {
  const settings = await io.settings(flags);
  const notices = [...settings.notices, ...(agents ? [...agentNotices(settings.agents(), agents.chosen), ...unconfined(settings)] : [])];
  for (const notice of notices) io.err(`retinue: ${cleanLine(notice)}\n`);
  return settings;
}

/** Whoever switches the sandbox off hears of it each time. */
function unconfined({ sandbox }: Settings): string[] {
  if (sandbox.value !== 'off') return [];
  return [`the sandbox is off (${sandbox.from}): shell commands that are allowed can read and change everything that you can`];
}

async function open(io: Io, settings: Settings, options: OpenOptions): Promise<Api> {
  try {
    return await io.open(settings, options);
  } catch (error) {
    throw new Unopened(error);
  }
}

/** What every command can say about the ground it stands on. */
export function groundFlags(args: Args): SettingsFlags {
  return { workspace: args.value('workspace'), config: args.value('config'), db: args.value('db'), limits: {}, rules: [] };
}

/** The same, with what `run` can say about model, rights and limits. */
export function runFlags(args: Args): SettingsFlags {
  const rules = args.given.filter(({ name }) => name === 'allow' || name === 'deny').map(({ name, value }) => `${name} ${value}`);
  return { ...groundFlags(args), ...sandboxFlag(args), model: args.value('model'), limits: limitsOf(args), rules };
}

export function sandboxFlag(args: Args): Pick<SettingsFlags, 'sandbox'> {
  const given = args.value('sandbox');
  const mode = sandboxModes.find((each) => each === given);
  if (given !== undefined && mode === undefined)
    throw new RetinueError('usage', `--sandbox: ${unknownNameMessage('mode', given, sandboxModes)}`);
  return mode === undefined ? {} : { sandbox: mode };
}

function limitsOf(args: Args): LimitsGiven {
  const turns = args.value('max-turns');
  const timeout = args.value('timeout');
  const usd = args.value('budget-usd');
  const tokens = args.value('budget-tokens');
  const concurrent = args.value('max-concurrent');
  const depth = args.value('max-depth');
  return LimitsGiven.parse({
    ...(turns === undefined ? {} : { maxTurns: wholeFlag('--max-turns', turns, { min: 1, max: 500 }) }),
    ...(timeout === undefined ? {} : { timeoutMs: durationFlag('--timeout', timeout) }),
    ...(usd === undefined ? {} : { maxCostUsd: usdFlag('--budget-usd', usd) }),
    ...(tokens === undefined ? {} : { maxTokens: wholeFlag('--budget-tokens', tokens, { min: 1, max: 1_000_000_000 }) }),
    ...(concurrent === undefined ? {} : { maxConcurrent: wholeFlag('--max-concurrent', concurrent, { min: 1, max: 10_000 }) }),
    ...(depth === undefined ? {} : { maxDepth: wholeFlag('--max-depth', depth, { min: 0, max: 16 }) }),
  });
}

/** How long a question waits for somebody who sits there and has not said. */
export const questionMs = 600_000;

/** Who sits at a terminal is asked; elsewhere only where --ask says how long to wait for `retinue approve`. */
export function askOf(args: Args, io: Pick<Io, 'interactive'>): number | undefined {
  const given = args.value('ask');
  if (given !== undefined) return durationFlag('--ask', given);
  return io.interactive && !args.has('detach') ? questionMs : undefined;
}

export function hostOf(args: Args): OpenOptions['host'] {
  const given = args.value('host');
  if (given === undefined || given === 'inline' || given === 'process') return given;
  throw new RetinueError('usage', `--host: there is no place \`${given}\`; there are: inline, process`);
}
