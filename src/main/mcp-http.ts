// MCP on the HTTP server of a command: the handler with this program's settings, as a part of the server.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Api } from '../api/api.ts';
import type { Io, ServeRequest } from '../cli/io.ts';
import { stopReasons } from '../cli/session/stop-signals.ts';
import { loadDialect } from '../config/dialect.ts';
import type { Settings } from '../config/settings.ts';
import { dialectNames } from '../dialects/index.ts';
import { native } from '../dialects/native.ts';
import { createMcpHandler } from '../mcp/http.ts';
import type { Mount } from '../server/options.ts';

export interface McpMountDeps extends Pick<Io, 'version' | 'repeat' | 'now' | 'open'> {
  api: Api;
  settings: Settings;
  env: NodeJS.ProcessEnv;
  log(line: string): void;
}

/** Rejects with `unknown_dialect` or `invalid_config`, so that a wrong setting shows when the server starts. */
export async function createMcpMount(
  { dialect: named, share, limits, askMs, host, queue }: ServeRequest['mcp'],
  deps: McpMountDeps,
): Promise<Mount> {
  const { api, settings, env, log, version, now } = deps;
  const dialect = (name: string) => loadDialect(name, settings, env);
  if (named !== undefined) await dialect(named);
  const handler = createMcpHandler({
    ...{ version, limits, share, api, now, log, dialect },
    dialects: dialectNames,
    defaultDialect: named ?? native.name,
    every: deps.repeat,
    open: (name) => deps.open(settings, { drive: true, startsRuns: true, dialect: name, askMs, host, queue, warn: log }),
  });
  return {
    path: '/mcp',
    summary: `MCP over Streamable HTTP; the dialect of the server, or one of ${dialectNames.map((name) => `/mcp/${name}`).join(', ')}`,
    async handle(incoming: IncomingMessage, outgoing: ServerResponse, principal) {
      await getRequestListener((request) => handler.handle(request, principal), { overrideGlobalObjects: false })(incoming, outgoing);
    },
    close: () => handler.close(stopReasons.terminate),
  };
}
