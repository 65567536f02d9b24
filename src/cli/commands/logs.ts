import type { Api } from '../../api/api.ts';
import type { ErasedFact, Fact } from '../../contract/fact.ts';
import { createSubSessionMapper, type SubSessionEvent } from '../../dialects/openfork/events.ts';
import type { Activity } from '../../ports/dialect.ts';
import { sanitizeLine, stringifySafely } from '../../text/terminal.ts';
import { createFactDescriber } from '../../views/describe-fact.ts';
import { shortId } from '../../views/format.ts';
import { factToJson, factToJsonLine } from '../../views/json.ts';
import { paint } from '../../views/style.ts';
import { cutToWidth, padToWidth } from '../../views/width.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io, Stop } from '../io.ts';
import { createActivityLog, describeActivity } from '../output/activity-log.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';
import { orphanMessage, watchForOrphans } from '../session/orphan-watch.ts';
import { reportConnection } from '../session/server.ts';

export const logsCommand: Command = {
  name: 'logs',
  group: 'watch',
  usage: 'ID [-f] [--tree] [flags]',
  summary: 'print every recorded event of a run',
  about:
    'ID is an id, its unique beginning, or `last` for the newest run. --json prints an array of events; with -f it prints one event per line as they happen. Dialects with an activity log add their entries below the events that they belong to.',
  flags: [
    { name: 'follow', short: 'f', help: 'print new events until the run has ended' },
    { name: 'tree', help: 'include the events of its descendants' },
    { name: 'events', help: 'print the sub-session events of OpenFork instead, of all its descendants' },
    jsonFlag,
    ...commonFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: 1 },
  examples: [
    ['retinue logs last -f --tree', 'watch a run from a second terminal'],
    ['retinue logs last --json | jq ".[].type"', 'the types of all events, in order'],
    ['retinue logs last -f --json --events', 'SubSessionCreated, SubSessionProgress, … as they happen, one per line'],
  ],
  exitCodes: 'watch',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [given] = args.positionals as [string];
  const [json, tree] = [args.has('json'), args.has('tree')];
  if (args.has('events')) return printSubSessions(args, io);
  const formatLine = json ? factToJsonLine : createLineFormatter(io);
  return withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const id = await api.find(given);
    const activityOf = createActivityLog(api);
    if (args.has('follow')) return followRun(io, api, { id, tree, formatLine: async (fact) => formatLine(fact, await activityOf(fact)) });
    const entries: [fact: Fact | ErasedFact, activity: Activity | null][] = [];
    for (const fact of await api.logs(id, { tree })) entries.push([fact, 'erased' in fact ? null : await activityOf(fact)]);
    if (json)
      printJson(
        io,
        entries.map((entry) => factToJson(...entry)),
      );
    else io.out(entries.map((entry) => formatLine(...entry)).join(''));
    return 0;
  });
}

/** The events of OpenFork. Its mapper needs the whole tree: a subagent is known by its first fact. */
async function printSubSessions(args: Args, io: Io): Promise<number> {
  const [given] = args.positionals as [string];
  const json = args.has('json');
  return withApi(io, { flags: commonSettings(args), drive: false }, async (api) => {
    const id = await api.find(given);
    const map = createSubSessionMapper();
    const format = (event: SubSessionEvent) => (json ? `${stringifySafely(event)}\n` : `${describeSubSession(event)}\n`);
    if (args.has('follow')) {
      const formatLine = async (fact: Fact) => {
        const event = map(fact);
        return event === null ? '' : format(event);
      };
      return followRun(io, api, { id, tree: true, formatLine });
    }
    const facts = await api.logs(id, { tree: true });
    const events = facts.flatMap((fact) => ('erased' in fact ? [] : (map(fact) ?? [])));
    if (json) printJson(io, events);
    else io.out(events.map(format).join(''));
    return 0;
  });
}

function describeSubSession({ type, ...fields }: SubSessionEvent): string {
  return sanitizeLine([type, ...Object.entries(fields).map(([key, value]) => `${key}=${value}`)].join(' · '));
}

interface FollowOptions {
  id: string;
  tree: boolean;
  formatLine(fact: Fact): Promise<string>;
}

async function followRun(io: Io, api: Api, { id, tree, formatLine }: FollowOptions): Promise<number> {
  const stop = new AbortController();
  let stopped: Stop | 'orphaned' | null = null;
  let after: string | undefined;
  const end = (why: typeof stopped) => {
    stopped ??= why;
    stop.abort();
  };
  const stopWatch = watchForOrphans(io, api, { ids: [id], any: false, onOrphan: () => end('orphaned') });
  const endReports = reportConnection(api.server, io.err);
  const release = io.onInterrupt((why) => (stop.signal.aborted ? io.exitNow(130) : end(why)));
  const print = async (fact: Fact & { position: string }) => {
    io.out(await formatLine(fact));
    after = fact.position;
  };
  try {
    for await (const fact of api.follow(id, { tree, signal: stop.signal })) await print(fact);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    stopWatch();
    endReports();
    release();
  }
  if (stopped !== 'orphaned') return stopped === null || stopped === 'closed' ? 0 : 130;
  const rest = await api.logs(id, { tree, ...(after === undefined ? {} : { after }) });
  for (const fact of rest) if (!('erased' in fact)) await print(fact);
  io.err(`retinue: ${shortId(id)} ${orphanMessage}\n`);
  return 0;
}

/** Time, run, type and description. Cut to the width of a terminal, complete in a pipe. */
function createLineFormatter(io: Io): (fact: Fact | ErasedFact, activity: Activity | null) => string {
  const describe = createFactDescriber();
  return (fact, activity) => {
    if ('erased' in fact) return formatLine(fact, fact.type, 'erased');
    const debug = activity?.debug === undefined ? '' : formatLine(fact, 'debug', sanitizeLine(activity.debug));
    const entry = activity === null ? '' : formatLine(fact, 'activity', describeActivity(activity));
    return formatLine(fact, fact.type, describe(fact)) + entry + debug;
  };

  function formatLine(fact: Fact | ErasedFact, name: string, description: string): string {
    const head = `${fact.at.slice(11, 23)} ${shortId(fact.runId)} `;
    const type = padToWidth(name, 17);
    const room = io.outTTY ? io.columns() - head.length - type.length - 1 : 2000;
    const text = cutToWidth(description, Math.max(10, room));
    return `${paint(io.colour.out, 'dim', head)}${paint(io.colour.out, 'cyan', type)} ${text}`.trimEnd().concat('\n');
  }
}
