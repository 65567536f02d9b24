import type { Api } from '../../api/api.ts';
import type { Settings } from '../../config/settings.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { parseDurationFlag, parseIntegerFlag } from '../args/flag-values.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import { defaultQuestionMs, runSettings } from '../args/settings-flags.ts';
import { addDirFlag, askFlag, type Command, jsonFlag, sandboxFlag, writingFlags } from '../command.ts';
import type { Io, RunningServer, ServeRequest } from '../io.ts';
import { withLocalApi } from '../session/open-api.ts';
import { mcpQueueFlag, parseMcpQueue } from '../session/queues.ts';
import { keepResuming } from '../session/resume-interrupted.ts';
import { stopReasons } from '../session/stop-signals.ts';
import { waitForStop } from '../session/wait-for-stop.ts';

export const portFlag: Flag = { name: 'port', value: 'N', help: 'the port (default: 0, a free one)' };
export const tokenFileFlag: Flag = {
  name: 'token-file',
  value: 'FILE',
  help: 'tokens, one per line: `TOKEN [read|steer|start|mcp [NAME]]` (default: one random token)',
};

const serverFlags: Flag[] = [
  portFlag,
  { name: 'host', value: 'ADDRESS', help: 'the interface (default: 127.0.0.1); another one than loopback needs --token-file and TLS' },
  tokenFileFlag,
  { name: 'tls-cert', value: 'FILE', help: 'serve https with this certificate (PEM)' },
  { name: 'tls-key', value: 'FILE', help: 'the private key of the certificate (PEM)' },
  { name: 'behind-proxy', help: 'a proxy in front of the server does TLS; needs --public-url' },
  { name: 'public-url', value: 'URL', help: 'the https address that browsers use' },
  { name: 'everywhere', short: 'e', help: 'let every token use your other workspaces too (default: only browsers that opened the link)' },
  { name: 'public-metrics', help: 'answer /metrics without a token' },
];

/** Flags of MCP over HTTP. */
const mcpFlags: Flag[] = [
  { name: 'dialect', value: 'NAME', help: 'the delegation tools that MCP clients get at /mcp (default: native); others are at /mcp/NAME' },
  mcpQueueFlag,
  { name: 'share', help: 'let MCP clients see the runs of all clients (default: those of their own token)' },
];

export const serveCommand: Command = {
  name: 'serve',
  group: 'watch',
  usage: '[--port N] [--token-file FILE] [flags]',
  summary: 'serve the dashboard, the HTTP API and MCP for this workspace',
  about:
    'Prints a link that opens the dashboard in a browser. The API is described at /openapi.json. MCP clients connect to /mcp with the token. Runs that are started here belong to this process; interrupted runs of the workspace are continued. Calls that need approval wait for an answer. In the browser, your other workspaces can be watched and steered too, each with its own settings.\n\n' +
    'Only programs on this machine that know the token can use the server. Tokens of a file have a role: `read` sees everything, `steer` also cancels, pauses, messages and approves, `start` (the default) also starts runs, `mcp` opens nothing but MCP. Ctrl-C pauses what runs here, and the next `retinue serve` continues it.',
  flags: [
    ...serverFlags,
    { name: 'model', value: 'NAME', help: 'the default model of runs started here, as `provider/model`' },
    { name: 'allow', value: 'RULE', repeatable: true, help: 'allow tool calls of runs started here, as `tool` or `tool:pattern`' },
    { name: 'deny', value: 'RULE', repeatable: true, help: 'deny tool calls; the last matching --allow or --deny decides' },
    { ...askFlag, help: 'how long a call that needs approval waits for an answer (default: 10m)' },
    sandboxFlag,
    addDirFlag,
    ...mcpFlags,
    { ...jsonFlag, help: 'print `{"url", "token", "link"}` as the first line on standard output' },
    ...writingFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue serve', 'prints a link to the dashboard'],
    ['retinue serve --port 7717 --token-file ~/.retinue-tokens', 'a fixed address with your own tokens'],
    ['retinue serve --host 0.0.0.0 --token-file tokens --tls-cert cert.pem --tls-key key.pem', 'for other machines, with TLS'],
  ],
  exitCodes: 'watch',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const ask = args.value('ask');
  const askMs = ask === undefined ? defaultQuestionMs : parseDurationFlag('--ask', ask);
  const request = { ...parseRequest(args), askMs };
  const session = { flags: runSettings(args), drive: true, agents: { chosen: undefined }, askMs, warnAtEnd: undefined };
  const mcp = {
    dialect: args.value('dialect'),
    share: args.has('share'),
    limits: session.flags.limits,
    askMs,
    host: undefined,
    queue: await parseMcpQueue(args, io, session.flags),
  };
  return withLocalApi(io, session, async (api, settings) => {
    await io.assertRunnable(settings, { database: false });
    return serveUntilStopped(io, { api, settings, request: { ...request, mcp } }, (server) => {
      if (args.has('json')) io.out(`${JSON.stringify({ url: server.url, token: server.token, link: server.link })}\n`);
      else io.out(describeServer(server, settings));
    });
  });
}

export function parsePort(args: Args): number {
  return parseIntegerFlag('--port', args.value('port') ?? '0', { min: 0, max: 65_535 });
}

function parseRequest(args: Args): Omit<ServeRequest, 'askMs' | 'mcp'> {
  return {
    host: args.value('host') ?? '127.0.0.1',
    port: parsePort(args),
    tokenFile: args.value('token-file'),
    tlsCert: args.value('tls-cert'),
    tlsKey: args.value('tls-key'),
    behindProxy: args.has('behind-proxy'),
    publicUrl: args.value('public-url'),
    publicMetrics: args.has('public-metrics'),
    otherWorkspaces: args.has('everywhere') ? 'always' : 'link',
  };
}

export const localRequest: ServeRequest = {
  ...{ host: '127.0.0.1', port: 0, tokenFile: undefined, tlsCert: undefined, tlsKey: undefined },
  ...{ behindProxy: false, publicUrl: undefined, publicMetrics: false },
  ...{ otherWorkspaces: 'link', askMs: defaultQuestionMs },
  mcp: { dialect: undefined, share: false, limits: {}, askMs: defaultQuestionMs, host: undefined, queue: undefined },
};

export function describeServer({ url, link }: Pick<RunningServer, 'url' | 'link'>, { workspace }: Pick<Settings, 'workspace'>): string {
  const open = link === null ? `  ${url}   (with a token of your token file)` : `  ${link}`;
  return `Open in a browser:\n${open}\nMCP clients connect to ${url}/mcp\nRuns of ${sanitizeLine(workspace)}. Ctrl-C stops the server; what runs is continued by the next one.\n`;
}

/**
 * Serves until a signal arrives, then stops accepting requests and leaves what runs for a later process. `onReady` is called when requests are
 * answered.
 */
export async function serveUntilStopped(
  io: Io,
  { api, settings, request }: { api: Api; settings: Settings; request: ServeRequest },
  onReady: (server: RunningServer) => void | Promise<void>,
): Promise<number> {
  const server = await io.serve(request, api, settings);
  const resuming = keepResuming(io, api);
  const stop = waitForStop(io, 'stopping; press Ctrl-C again to exit at once');
  try {
    await onReady(server);
    await stop.requested;
  } finally {
    await resuming.end();
    await server.close();
    await api.drain(stopReasons.terminate);
    stop.end();
  }
  return 0;
}
