import type { Api } from '../api/api.ts';
import { LimitsGiven } from '../contract/limits.ts';
import { agentNotices } from './agent-notices.ts';
import { cleanLine } from './clean.ts';
import { Unopened } from './errors.ts';
import type { Args } from './flags.ts';
import type { Io, OpenOptions } from './io.ts';
import type { Settings, SettingsFlags } from './settings.ts';
import { durationFlag, usdFlag, wholeFlag } from './values.ts';

/** What a command stands on. `agents`: it may start runs, so what is wrong with agents ends it before anything is opened. */
export interface SessionGround {
  flags: SettingsFlags;
  drive: boolean;
  dialect?: string | undefined;
  agents?: { chosen: string | undefined };
}

/** Settings, then the API, then the work; the API is closed whatever happens. */
export async function withApi<T>(io: Io, ground: SessionGround, work: (api: Api, settings: Settings) => Promise<T>): Promise<T> {
  const settings = await settle(io, ground);
  const api = await open(io, settings, { drive: ground.drive, dialect: ground.dialect });
  try {
    return await work(api, settings);
  } finally {
    await api.close();
  }
}

/** The settings; what is left out of them is said once. */
export async function settle(io: Io, { flags, agents }: Pick<SessionGround, 'flags' | 'agents'>): Promise<Settings> {
  const settings = await io.settings(flags);
  const notices = [...settings.notices, ...(agents ? agentNotices(settings.agents(), agents.chosen) : [])];
  for (const notice of notices) io.err(`retinue: ${cleanLine(notice)}\n`);
  return settings;
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
  return { ...groundFlags(args), model: args.value('model'), limits: limitsOf(args), rules };
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
