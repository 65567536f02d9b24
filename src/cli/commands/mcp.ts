import { type McpClient, mcpClients } from '../../config/mcp-install/clients.ts';
import type { McpInstallation } from '../../config/mcp-install/install.ts';
import { RetinueError } from '../../contract/error.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import { sanitizeText } from '../../text/terminal.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import { defaultQuestionMs, parseHost, runSettings } from '../args/settings-flags.ts';
import { addDirFlag, budgetFlag, type Command, jsonFlag, ruleFlags, sandboxFlag, writingFlags, yesFlag } from '../command.ts';
import type { Io, RunningServer, ServeRequest } from '../io.ts';
import { installEntry, listInstalledFlags } from '../session/install-entry.ts';
import { loadSettings, warnAboutDatabase, withLocalApi } from '../session/open-api.ts';
import { mcpQueueFlag, parseMcpQueue } from '../session/queues.ts';
import { serveUntilClosed, withoutRepeatedMessages } from '../session/serve-streams.ts';
import { localRequest, parsePort, portFlag, serveUntilStopped, tokenFileFlag } from './serve.ts';

const serverFlags: Flag[] = [
  { name: 'dialect', value: 'NAME', help: 'the set of delegation tools to offer (default: native; see `retinue dialects`)' },
  { name: 'model', value: 'NAME', help: 'the model of delegated runs, as `provider/model`' },
  ...ruleFlags,
  sandboxFlag,
  addDirFlag,
  { name: 'timeout', value: 'TIME', help: 'time limit of each delegated run: `90s`, `10m`; a bare number is seconds' },
  { name: 'max-turns', value: 'N', help: 'limit of model calls of each delegated run, 1 to 500' },
  { name: 'max-concurrent', value: 'N', help: 'how many delegated runs may run at the same time' },
  { name: 'max-depth', value: 'N', help: 'levels of delegation; 1: delegated runs cannot delegate' },
  { name: 'budget-usd', value: 'USD', help: 'spending limit of the whole connection' },
  { name: 'budget-tokens', value: 'N', help: 'token limit of the whole connection' },
  budgetFlag,
  { name: 'host', value: 'HOST', help: 'where file tools execute: `inline` or `process` (default: depends on the dialect)' },
  mcpQueueFlag,
  { name: 'share', help: 'let the client see the runs of other clients too (default: its own, and those of its earlier connections)' },
];

/** Flags of `--http`. */
const httpFlags: Flag[] = [
  { name: 'http', help: 'serve over HTTP instead of standard input and output: the server of `retinue serve`, on this machine only' },
  { ...portFlag, help: `--http: ${portFlag.help}` },
  { ...tokenFileFlag, help: `--http: ${tokenFileFlag.help}` },
  { ...jsonFlag, help: '--http: print `{"url", "token", "link"}` as the first line on standard output' },
];

/** Flags of `install`; its other flags become flags of the server. */
const installFlags: Flag[] = [
  { name: 'print', help: 'install: print the entry without writing it' },
  { name: 'project', help: 'install: write to the file of the project instead of the user’s' },
  { ...yesFlag, help: 'install: do not ask for confirmation' },
];

export const mcpCommand: Command = {
  name: 'mcp',
  group: 'integrate',
  usage: '[flags] | --http [--port N] [flags] | install CLIENT [--print] [--project] [--yes] [flags]',
  summary: 'offer the delegation tools to an MCP client, such as an editor or a coding agent',
  about:
    'The client starts this command and talks to it over standard input and output. When the client exits, runs of the native dialect are paused and can be resumed; runs of other dialects end. The workspace is -C, otherwise the first existing root of the client, otherwise the git repository around the current folder, otherwise the current folder.\n\n' +
    '`--http` starts the server of `retinue serve` on a loopback address, with the limits and the dialect given here: clients connect to /mcp with a token, and other dialects are at /mcp/NAME. The workspace is that of this command. Use `retinue serve` for TLS and other interfaces.\n\n' +
    '`install` adds the server to the configuration of claude-code, codex, cursor, vscode, zed or opencode. It shows the change, asks before writing, and then starts the server once to test it. Further flags of `install` become flags of the server.',
  flags: [...serverFlags, ...httpFlags, ...installFlags, ...writingFlags],
  positionals: { min: 0, max: 2 },
  examples: [
    ['retinue mcp install claude-code', 'shows the change and asks before writing'],
    ['retinue mcp install codex --model anthropic/claude-sonnet-5 --budget-usd 2', 'with a model and a spending limit'],
    ['retinue mcp --dialect native --timeout 10m', 'what a client runs'],
    ['retinue mcp --http --port 7717 --budget-usd 2', 'for clients that connect to an address'],
  ],
  exitCodes: 'command',
  changes: (args) => args.positionals[0] === 'install' && !args.has('print'),
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [verb, client] = args.positionals;
  if (verb === undefined) return args.has('http') ? serveHttp(args, io) : serve(args, io);
  if (verb !== 'install')
    throw new RetinueError('usage', `${unknownNameMessage('argument', verb, ['install'])}; usage: retinue mcp install CLIENT`);
  if (client === undefined) throw new RetinueError('usage', `the client is missing; usage: retinue mcp install ${mcpClients.join('|')}`);
  if (!isMcpClient(client)) throw new RetinueError('usage', unknownNameMessage('client', client, mcpClients));
  const misplaced = httpFlags.find(({ name }) => args.has(name) || args.value(name) !== undefined);
  if (misplaced)
    throw new RetinueError('usage', `--${misplaced.name} cannot be installed: a client that starts the server talks to it without HTTP`);
  return install(client, args, io);
}

/** The server of `retinue serve` on loopback, with the limits and the dialect of this command. */
async function serveHttp(args: Args, io: Io): Promise<number> {
  assertNotInstalling(args);
  const flags = { ...runSettings(args), budgets: args.values('budget') };
  const mcp = {
    ...{ dialect: args.value('dialect'), share: args.has('share'), limits: flags.limits, host: parseHost(args) },
    queue: await parseMcpQueue(args, io, flags),
    askMs: defaultQuestionMs,
  };
  const request: ServeRequest = {
    ...{ ...localRequest, port: parsePort(args), tokenFile: args.value('token-file'), mcp },
    // Its limits are for one workspace.
    otherWorkspaces: 'never',
  };
  const session = { flags: { ...flags, limits: {} }, drive: true, agents: { chosen: undefined }, askMs: mcp.askMs };
  return withLocalApi(io, session, async (api, settings) => {
    await io.assertRunnable(settings, { database: false });
    return serveUntilStopped(io, { api, settings, request }, (server) =>
      io.out(args.has('json') ? `${JSON.stringify({ url: server.url, token: server.token, link: server.link })}\n` : describeHttp(server)),
    );
  });
}

function describeHttp({ url, token, link }: RunningServer): string {
  const header = token === null ? 'a token of your token file' : token;
  const dashboard = link === null ? url : link;
  return `MCP server:  ${url}/mcp\nHeader:      Authorization: Bearer ${header}\nDashboard:   ${dashboard}\nCtrl-C stops the server.\n`;
}

function assertNotInstalling(args: Args): void {
  const misplaced = installFlags.find(({ name }) => args.has(name));
  if (misplaced) throw new RetinueError('usage', `--${misplaced.name} is a flag of \`retinue mcp install CLIENT\``);
}

/** Standard output carries only the protocol. */
async function serve(args: Args, io: Io): Promise<number> {
  assertNotInstalling(args);
  const needsHttp = httpFlags.find(({ name }) => args.has(name) || args.value(name) !== undefined);
  if (needsHttp) throw new RetinueError('usage', `--${needsHttp.name} is a flag of \`retinue mcp --http\``);
  const flags = { ...runSettings(args), budgets: args.values('budget') };
  const dialectName = args.value('dialect');
  const host = parseHost(args);
  const queue = await parseMcpQueue(args, io, flags);
  const settings = await io.settings(flags);
  // A client may name another folder, with a database of its own.
  await io.assertRunnable(settings, { database: flags.workspace !== undefined || flags.db !== undefined });
  const dialect = await io.dialect(dialectName, settings);
  const quietIo = withoutRepeatedMessages(io);
  return serveUntilClosed(io, (ending) =>
    io.serveMcp({
      ...ending,
      dialect,
      fixed: flags.workspace !== undefined,
      limits: flags.limits,
      share: args.has('share'),
      async open(workspace, { drive, asks }) {
        const settings = await loadSettings(quietIo, {
          flags: workspace === null ? flags : { ...flags, workspace, isClientFolder: true },
          agents: { chosen: undefined },
        });
        const warn = (message: string) => warnAboutDatabase(quietIo, message);
        return io.open(settings, {
          drive,
          warn,
          startsRuns: drive,
          dialect: dialectName,
          host,
          queue,
          askMs: asks ? defaultQuestionMs : undefined,
        });
      },
    }),
  );
}

async function install(client: McpClient, args: Args, io: Io): Promise<number> {
  if (args.has('adopt'))
    throw new RetinueError(
      'usage',
      '--adopt cannot be installed: the server would accept every database that comes with a folder; adopt one with `retinue resume --adopt` there',
    );
  const settings = runSettings(args);
  // An unknown dialect is rejected here, where the user sees it, and not when the client starts the server.
  const loaded = await io.settings({ ...settings, limits: {}, rules: [] });
  await io.dialect(args.value('dialect'), loaded);
  const { names: variables, missing } = await io.mcpInstall.variables(loaded);
  const advice = loaded.model === null ? await io.models.advice() : null;
  const ownFlags = [...installFlags.map(({ name }) => name), 'workspace'];
  const flags = listInstalledFlags(args, { flags: mcpCommand.flags, own: ownFlags });
  const plan = await io.mcpInstall.plan({ client, flags, project: args.has('project'), workspace: settings.workspace, variables });
  const installed = await installEntry(plan, args, io);
  if (installed !== 'present') return installed === 'printed' ? 0 : 1;
  return test(plan, { missing, advice }, io);
}

/** `missing`: a key that the model needs and that is not set. `advice`: how to get a model, if none is configured. */
interface ModelProblems {
  missing: string | null;
  advice: string | null;
}

/** Starts the installed server once, so that a problem shows here and not in the client. */
async function test(plan: McpInstallation, { missing, advice }: ModelProblems, io: Io): Promise<number> {
  const tried = await io.mcpInstall.test(plan);
  if (!tried.ok) {
    io.err(`retinue: tested: the server does not start: ${sanitizeText(tried.reason)}\n`);
    return 1;
  }
  const { length } = tried.tools;
  io.err(`retinue: tested: the server starts and offers ${length} ${length === 1 ? 'tool' : 'tools'}: ${tried.tools.join(', ')}\n`);
  if (missing !== null) io.err(`retinue: ${missing} is not set here; delegated runs need it, so set it where ${plan.client} starts\n`);
  if (advice !== null) io.err(`retinue: delegated runs will be refused unless they name a model: ${sanitizeText(advice)}\n`);
  io.err(`retinue: restart ${plan.client} to use it\n`);
  return 0;
}

function isMcpClient(name: string): name is McpClient {
  return (mcpClients as readonly string[]).includes(name);
}
