// Flags of a command as the settings that they override.

import { type SettingsFlags, sandboxModes } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { LimitsGiven } from '../../contract/limits.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import type { Io, OpenOptions } from '../io.ts';
import { parseDurationFlag, parseIntegerFlag, parseUsdFlag } from './flag-values.ts';
import type { Args } from './parse-args.ts';

/** The flags that choose a server, for `chooseServer`. */
export interface ServerSettings {
  url: string | undefined;
  tokenFile: string | undefined;
  insecureHttp: boolean;
  /** A workspace of the server, by its id or path. */
  workspace: string | undefined;
  /** Given flags that only concern this machine. */
  localFlags: string[];
}

export interface CommandSettings extends SettingsFlags {
  /** Absent: the command works on this machine. */
  server?: ServerSettings;
}

/** Settings of this machine that a server does not take from a command. */
const localFlags = ['db', 'config', 'adopt', 'sandbox', 'add-dir', 'allow', 'ask', 'dialect', 'host'];

/** Workspace, configuration, database and server: the flags of every command. */
export function commonSettings(args: Args): CommandSettings {
  const [workspace, config, db] = [args.value('workspace'), args.value('config'), args.value('db')];
  return { workspace, config, db, adopt: args.has('adopt'), limits: {}, rules: [], server: serverSettings(args) };
}

function serverSettings(args: Args): ServerSettings {
  return {
    url: args.value('server'),
    tokenFile: args.value('token-file'),
    insecureHttp: args.has('insecure-http'),
    workspace: args.value('workspace'),
    localFlags: localFlags.filter((name) => args.has(name)),
  };
}

/** The same with model, rules, sandbox and limits, for commands that start runs. */
export function runSettings(args: Args): CommandSettings {
  const rules = args.given.filter(({ name }) => name === 'allow' || name === 'deny').map(({ name, value }) => `${name} ${value}`);
  return {
    ...commonSettings(args),
    ...sandboxSetting(args),
    ...addDirSetting(args),
    model: args.value('model'),
    limits: limitSettings(args),
    rules,
  };
}

export function addDirSetting(args: Args): Pick<SettingsFlags, 'addDirs'> {
  const addDirs = args.given.flatMap(({ name, value }) => (name === 'add-dir' ? [String(value)] : []));
  return addDirs.length === 0 ? {} : { addDirs };
}

export function sandboxSetting(args: Args): Pick<SettingsFlags, 'sandbox'> {
  const given = args.value('sandbox');
  const mode = sandboxModes.find((each) => each === given);
  if (given !== undefined && mode === undefined)
    throw new RetinueError('usage', `--sandbox: ${unknownNameMessage('mode', given, sandboxModes)}`);
  return mode === undefined ? {} : { sandbox: mode };
}

function limitSettings(args: Args): LimitsGiven {
  const limit = <K extends keyof LimitsGiven>(key: K, name: string, parse: (flag: string, text: string) => number) => {
    const given = args.value(name);
    return given === undefined ? {} : { [key]: parse(`--${name}`, given) };
  };
  const integer = (min: number, max: number) => (flag: string, text: string) => parseIntegerFlag(flag, text, { min, max });
  const given = {
    ...limit('maxTurns', 'max-turns', integer(1, 500)),
    ...limit('timeoutMs', 'timeout', parseDurationFlag),
    ...limit('maxCostUsd', 'budget-usd', parseUsdFlag),
    ...limit('maxTokens', 'budget-tokens', integer(1, 1_000_000_000)),
    ...limit('maxConcurrent', 'max-concurrent', integer(1, 10_000)),
    ...limit('maxDepth', 'max-depth', integer(0, 16)),
  };
  return Object.keys(given).length === 0 ? {} : LimitsGiven.parse(given);
}

/** How long a question waits for a person at a terminal, in milliseconds. */
export const defaultQuestionMs = 600_000;

/** Undefined if calls that need approval are denied at once: without a terminal, only --ask makes them wait for `retinue approve`. */
export function questionTimeout(args: Args, io: Pick<Io, 'interactive'>): number | undefined {
  const given = args.value('ask');
  if (given !== undefined) return parseDurationFlag('--ask', given);
  return io.interactive && !args.has('detach') ? defaultQuestionMs : undefined;
}

export function parseHost(args: Args): OpenOptions['host'] {
  const given = args.value('host');
  if (given === undefined || given === 'inline' || given === 'process') return given;
  throw new RetinueError('usage', `--host: ${unknownNameMessage('host', given, ['inline', 'process'])}`);
}

/** How a command shows a run: live or plain progress, then text, one JSON value or a stream of events. */
export interface OutputMode {
  json: boolean;
  stream: boolean;
  plain: boolean;
}

export function outputMode(args: Args): OutputMode {
  const [json, stream] = [args.has('json'), args.has('stream-json')];
  if (json && stream)
    throw new RetinueError(
      'usage',
      '--json and --stream-json cannot be combined; --json prints one value at the end, --stream-json one line per event',
    );
  return { json, stream, plain: args.has('plain') };
}
