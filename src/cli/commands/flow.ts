import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { shortId } from '../../views/format.ts';
import { formatTable } from '../../views/style.ts';
import { effortFlag, parseEffortFlag } from '../args/effort-flag.ts';
import type { Args } from '../args/parse-args.ts';
import { assertActionFlags, assertFollowed } from '../args/refused-flags.ts';
import { outputMode, questionTimeout, runSettings } from '../args/settings-flags.ts';
import {
  addDirFlag,
  askFlag,
  budgetFlag,
  type Command,
  commonFlags,
  jsonFlag,
  plainFlag,
  ruleFlags,
  sandboxFlag,
  serverFlags,
  streamFlag,
  writingFlags,
} from '../command.ts';
import type { FlowRequest, Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { loadSettings, withApi, withLocalApi } from '../session/open-api.ts';
import { reportInterruptedRuns } from '../session/orphan-watch.ts';
import { runToEnd } from '../session/run-to-end.ts';
import { chooseServer } from '../session/server.ts';

const usage = 'run FILE|NAME [--input JSON|@FILE] [flags] | list';

export const flowCommand: Command = {
  name: 'flow',
  group: 'run',
  usage,
  summary: 'run a program that delegates to agents and survives crashes',
  about:
    'A flow is a TypeScript file that delegates to agents, step by step. Every finished step is recorded: after a crash, `retinue resume` continues the flow without repeating one. A NAME is a file in .retinue/flows; these files need your trust (`retinue trust`), because they run with your rights. `list` lists them.\n\n' +
    'The result goes to standard output, progress to standard error. Ctrl-C cancels the flow and everything that it delegated. `ps`, `top`, `show` and `logs` show a flow and its children as one tree.\n\n' +
    'With --server the flow of that name in the workspace of the server runs there, if it is trusted there.',
  flags: [
    { name: 'input', value: 'JSON|@FILE', help: 'the input of the flow, as JSON or as a file with JSON (default: null)' },
    { name: 'model', value: 'NAME', help: 'the model of agents that name none, as `provider/model`' },
    { ...effortFlag, help: `${effortFlag.help}; for agents that name none` },
    { name: 'label', value: 'TEXT', help: 'a short name for the run in lists (default: the name of the flow)' },
    ...ruleFlags,
    sandboxFlag,
    addDirFlag,
    {
      name: 'timeout',
      value: 'TIME',
      help: 'time limit of the flow and of each run that it delegates: `90s`, `10m`, `1h` (default: none)',
    },
    { name: 'budget-usd', value: 'USD', help: 'spending limit for everything that the flow delegates' },
    { name: 'budget-tokens', value: 'N', help: 'token limit for everything that the flow delegates' },
    { name: 'max-concurrent', value: 'N', help: 'how many delegated runs may work at the same time' },
    budgetFlag,
    askFlag,
    { name: 'detach', short: 'd', help: 'run in the background: print the id and return' },
    streamFlag,
    jsonFlag,
    plainFlag,
    ...writingFlags,
    ...serverFlags,
  ],
  positionals: { min: 1, max: 2 },
  examples: [
    ['retinue flow run review --input \'{"base":"main"}\'', 'the flow .retinue/flows/review.ts'],
    ['retinue flow run ./migrate.ts --input @files.json --detach', 'in the background; its input is in a file'],
    ['retinue flow list', 'the flows of the workspace, and whether they are trusted'],
  ],
  exitCodes: 'outcome',
  changes: (args) => args.positionals[0] !== 'list',
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [action, given] = args.positionals;
  if (action === 'list' && given === undefined) return list(args, io);
  if (action === 'list') throw new RetinueError('usage', `unexpected argument \`${given}\`; usage: retinue flow ${usage}`);
  if (action !== 'run')
    throw new RetinueError('usage', `${unknownNameMessage('action', String(action), ['run', 'list'])}; usage: retinue flow ${usage}`);
  if (given === undefined) throw new RetinueError('usage', `name a file or a flow of .retinue/flows; usage: retinue flow ${usage}`);
  return start(given, args, io);
}

async function start(given: string, args: Args, io: Io): Promise<number> {
  assertFollowed(args, 'detach', 'flow');
  const mode = outputMode(args);
  const flags = runSettings(args);
  if (chooseServer(io, flags) !== null) return startOnServer(given, args, io);
  const askMs = questionTimeout(args, io);
  const open = askMs === undefined ? {} : { askMs };
  const session = { flags, agents: { chosen: undefined } };
  const effort = parseEffortFlag(args);
  const input = await readInput(args.value('input'), io);
  const createRequest = async (settings: Settings): Promise<FlowRequest> => ({
    file: await io.flows.find(settings, given),
    input,
    options: {
      limits: flags.limits,
      trace: io.trace,
      ...(effort !== undefined && { effort }),
      ...(args.has('label') && { label: String(args.value('label')) }),
      ...(args.values('budget').length > 0 && { budgets: args.values('budget') }),
    },
  });
  if (args.has('detach')) {
    const settings = await loadSettings(io, session);
    const request = { flags: { ...flags, workspace: settings.workspace }, brief: null, flow: await createRequest(settings), open };
    const { runId, log } = await io.detach(request, settings);
    if (mode.json) printJson(io, { runId });
    else io.out(`${runId}\n`);
    const id = shortId(runId);
    io.err(`retinue: running in the background: retinue logs ${id} -f · retinue wait ${id} · retinue cancel ${id}\n`);
    io.err(`retinue: its output is written to ${sanitizeLine(log)}\n`);
    return 0;
  }
  // A wrong name creates no database.
  await io.flows.find(await io.settings(flags), given);
  return withLocalApi(io, { ...session, ...open, drive: true, startsRuns: true }, async (api, settings) => {
    const request = await createRequest(settings);
    const code = (await runToEnd(io, api, { ...mode, start: () => io.flows.start(api, settings, request) })) ?? 0;
    await reportInterruptedRuns(io, api);
    return code;
  });
}

/** The server runs its own file, which is trusted there: no program travels. */
async function startOnServer(name: string, args: Args, io: Io): Promise<number> {
  const mode = outputMode(args);
  const flags = runSettings(args);
  if (args.has('model')) throw new RetinueError('usage', '--model cannot be combined with a server: its own settings decide');
  if (!/^[\w-][\w.-]*$/.test(name) || /\.m?[jt]s$/.test(name))
    throw new RetinueError('usage', `${name} is a file of this machine; a server runs only the flows of its own workspace, by name`);
  const effort = parseEffortFlag(args);
  const request = {
    name,
    ...(effort !== undefined && { effort }),
    input: await readInput(args.value('input'), io),
    ...(args.has('label') && { label: String(args.value('label')) }),
    ...(Object.keys(flags.limits).length > 0 && { limits: flags.limits }),
    ...(args.values('budget').length > 0 && { budgets: args.values('budget') }),
  };
  return withApi(io, { flags, drive: true }, async (api) => {
    const begin = () => api.namedFlow(request, { trace: io.trace });
    if (!args.has('detach')) return (await runToEnd(io, api, { ...mode, start: begin })) ?? 0;
    const { id: runId } = await begin();
    if (mode.json) printJson(io, { runId });
    else io.out(`${runId}\n`);
    const [id, server] = [shortId(runId), `--server ${api.server?.url}`];
    io.err(`retinue: running on the server: retinue logs ${id} -f ${server} · retinue wait ${id} ${server}\n`);
    return 0;
  });
}

async function list(args: Args, io: Io): Promise<number> {
  assertActionFlags(args, 'flow list', [jsonFlag, ...commonFlags]);
  if (io.serverUrl !== null) io.err('retinue: RETINUE_SERVER is not used: these are the flows of this machine\n');
  const settings = await loadSettings(io, { flags: runSettings(args) });
  const flows = await io.flows.list(settings);
  if (args.has('json')) printJson(io, flows);
  else if (flows.length === 0) io.err('no flows; a flow is a file in .retinue/flows, such as .retinue/flows/review.ts\n');
  else {
    const rows = flows.map(({ name, state, file, problem }) => [name, problem ?? state, file].map(sanitizeLine));
    const columns = [{ title: 'NAME' }, { title: 'STATE' }, { title: 'FILE' }];
    io.out(`${formatTable(columns, rows, { columns: 1000, colour: io.colour.out }).join('\n')}\n`);
  }
  return 0;
}

async function readInput(given: string | undefined, io: Io): Promise<Json> {
  if (given === undefined) return null;
  const file = given.startsWith('@') ? given.slice(1) : null;
  if (file === '') throw new RetinueError('usage', '--input: the file is missing after `@`; write --input @input.json');
  const text = file === null ? given : await io.readFile(file);
  try {
    return JSON.parse(text.replace(/^\ufeff/, '')) as Json;
  } catch (error) {
    throw new RetinueError(
      'usage',
      `--input${file === null ? '' : `: ${file}`} is not JSON: ${(error as Error).message}; text is JSON only in quotes, as in --input '"main"'`,
      { cause: error },
    );
  }
}
