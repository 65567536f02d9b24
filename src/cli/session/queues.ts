// What the commands for queues share.
import type { Settings, SettingsFlags } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { msToIso } from '../../text/instant.ts';
import { parseDurationFlag } from '../args/flag-values.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import type { Io } from '../io.ts';

export const defaultQueue = 'default';

/** How a run waits for a worker. */
export const jobFlags: Flag[] = [
  {
    name: 'idempotency-key',
    value: 'KEY',
    help: 'with --queue: if a run with this key exists, show that one instead of queueing another',
  },
  { name: 'priority', value: 'N', help: 'with --queue: higher first, -1000 to 1000 (default: 0)' },
  { name: 'group', value: 'KEY', help: 'with --queue: runs of one group share the limit `--per-group` of the workers' },
  {
    name: 'start-after',
    value: 'TIME',
    help: 'with --queue: no worker takes it before `10m`, `2h`, … from now, or a moment such as 2026-12-24T18:00Z',
  },
];

export const mcpQueueFlag: Flag = {
  name: 'queue',
  value: 'NAME',
  help: 'leave what clients delegate to workers that take runs from this queue of a PostgreSQL database; it continues when the client exits',
};

/** The queue of an MCP server. Rejects with `usage` if the database is a file, and for a limit that only one process can keep. */
export async function parseMcpQueue(args: Args, io: Pick<Io, 'settings'>, flags: SettingsFlags): Promise<string | undefined> {
  const queue = args.value('queue');
  if (queue === undefined) return undefined;
  const { maxCostUsd, maxTokens } = flags.limits;
  if (maxCostUsd !== undefined || maxTokens !== undefined)
    throw new RetinueError(
      'usage',
      '--budget-usd and --budget-tokens limit one connection and cannot be combined with --queue; remove them',
    );
  requireServer(await io.settings(flags), '--queue needs');
  return queue;
}

export interface JobFlags {
  queue: string;
  priority?: number;
  group?: string;
  startAfter?: string;
}

/** Throws `usage` if the database is a file. `why`: the beginning of the sentence. */
export function requireServer({ db }: Pick<Settings, 'db'>, why: string): void {
  if (db.kind === 'file')
    throw new RetinueError(
      'usage',
      `${why} a PostgreSQL database, but the database is the file ${db.shown}; name one with --db postgres://… or RETINUE_DB`,
    );
}

/** Null without --queue. Throws `usage`. */
export function parseJob(args: Args, now: number): JobFlags | null {
  if (!args.has('queue')) {
    const flag = jobFlags.find(({ name }) => args.has(name));
    if (flag) throw new RetinueError('usage', `--${flag.name} is for runs in a queue; add --queue`);
    return null;
  }
  const [priority, group, startAfter] = [args.value('priority'), args.value('group'), args.value('start-after')];
  return {
    queue: args.value('queue') || defaultQueue,
    ...(priority !== undefined && { priority: parsePriority(priority) }),
    ...(group !== undefined && { group: parseGroup(group) }),
    ...(startAfter !== undefined && { startAfter: parseStart(startAfter, now) }),
  };
}

export function parsePriority(text: string): number {
  const value = /^-?\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(Math.abs(value) <= 1_000)) throw new RetinueError('usage', `--priority: \`${text}\` is not a whole number from -1000 to 1000`);
  return value;
}

export function parseGroup(text: string): string {
  if (!/^[\w.\-/]{1,100}$/.test(text))
    throw new RetinueError(
      'usage',
      `--group: \`${text}\` cannot be a key; use letters, digits, \`-\`, \`_\`, \`.\` and \`/\`, at most 100 characters`,
    );
  return text;
}

function parseStart(text: string, now: number): string {
  if (/^\d{4}-\d{2}-\d{2}T/.test(text)) {
    const at = Date.parse(/(Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);
    if (Number.isNaN(at)) throw new RetinueError('usage', `--start-after: \`${text}\` is not a moment; write 2026-12-24T18:00Z`);
    return msToIso(at);
  }
  return msToIso(now + parseDurationFlag('--start-after', text));
}
