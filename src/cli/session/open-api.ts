// Opens the API for the duration of one command: of this machine, or of a server.
import type { Api } from '../../api/api.ts';
import type { Settings } from '../../config/settings.ts';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { CommandSettings } from '../args/settings-flags.ts';
import { DatabaseOpenError } from '../errors.ts';
import type { Io, OpenOptions } from '../io.ts';
import { agentNotices } from './agent-notices.ts';
import { chooseServer, openRemoteApi } from './server.ts';

export interface SessionOptions extends Omit<OpenOptions, 'dialect'> {
  flags: CommandSettings;
  /** A name, or a function that finds it with an API that only reads. */
  dialect?: string | undefined | ((api: Api) => Promise<string | undefined>);
  /** Given if the command may start runs: problems with agents then end it before anything is opened. */
  agents?: { chosen: string | undefined };
}

/** Opens the API of this machine or of a server, does the work, and closes the API whatever happens. `settings`: null for a server, which has its own. */
export async function withApi<T>(io: Io, options: SessionOptions, work: (api: Api, settings: Settings | null) => Promise<T>): Promise<T> {
  const server = chooseServer(io, options.flags);
  if (server === null) return withLocalApi(io, options, work);
  return useAndClose(await openRemoteApi(io, server), (api) => work(api, null));
}

/** The same for this machine alone, with its settings. */
export async function withLocalApi<T>(io: Io, options: SessionOptions, work: (api: Api, settings: Settings) => Promise<T>): Promise<T> {
  const settings = await loadSettings(io, options);
  const { flags: _, agents: __, dialect: named, ...open } = options;
  const dialect = typeof named === 'function' ? await useAndClose(await openApi(io, settings, { drive: false }), named) : named;
  return nameLimitFile(settings, async () => useAndClose(await openApi(io, settings, { ...open, dialect }), (api) => work(api, settings)));
}

/** The kernel knows that a cost limit is configured; this adds the file that has it. */
export async function nameLimitFile<T>({ sources, limits }: Settings, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const source = limits.config.maxCostUsd === undefined ? undefined : sources.find(({ key }) => key === 'limits.maxCostUsd');
    if (!isRetinueError(error) || error.code !== 'price_unknown' || !source || source.from === 'command line') throw error;
    throw new RetinueError(error.code, `${error.message} (limits.maxCostUsd is set in ${source.from})`, { cause: error });
  }
}

async function useAndClose<T>(api: Api, work: (api: Api) => Promise<T>): Promise<T> {
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

/** The dialect that a run was created with: a continuation of it needs the same. */
export async function findDialect(api: Api, id: string): Promise<string | undefined> {
  for await (const fact of api.follow(await api.find(id), { signal: new AbortController().signal }))
    return fact.type === 'run.created' ? fact.data.dialect : undefined;
  return undefined;
}

/** Prints a notice for each setting that is ignored. */
export async function loadSettings(io: Io, { flags, agents }: Pick<SessionOptions, 'flags' | 'agents'>): Promise<Settings> {
  const settings = await io.settings(flags);
  const notices = [
    ...settings.notices,
    ...(agents ? [...agentNotices(settings.agents(), agents.chosen, settings), ...sandboxNotices(settings)] : []),
  ];
  for (const notice of notices) io.err(`retinue: ${sanitizeLine(notice)}\n`);
  return settings;
}

function sandboxNotices({ sandbox }: Settings): string[] {
  if (sandbox.value !== 'off') return [];
  return [`the sandbox is off (${sandbox.from}): allowed shell commands can read and change everything that you can`];
}

async function openApi(io: Io, settings: Settings, options: OpenOptions): Promise<Api> {
  try {
    const warn = (message: string) => warnAboutDatabase(io, message);
    return await io.open(settings, { warn, ...(io.errTTY ? { warnAtEnd: warn } : {}), ...options });
  } catch (error) {
    throw new DatabaseOpenError(error);
  }
}

export function warnAboutDatabase(io: Pick<Io, 'err'>, message: string): void {
  io.err(`retinue: ${sanitizeLine(message)}\n`);
}
