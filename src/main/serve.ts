// The HTTP server of a command: tokens, TLS and addresses as the user gave them, and the workspaces that it shows.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Api } from '../api/api.ts';
import type { Io, RunningServer, ServeRequest } from '../cli/io.ts';
import type { ProcessContext } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { RetinueError } from '../contract/error.ts';
import { isLoopback, listen } from '../server/listen.ts';
import { readTokenFile } from '../server/token-file.ts';
import { createTokenBook, type Token } from '../server/tokens.ts';
import { findToolProcess } from '../system/tool-process.ts';
import { sanitizeText } from '../text/terminal.ts';
import { createServedWorkspaces } from './served-workspaces.ts';

export interface ServeDeps extends ProcessContext, Pick<Io, 'version' | 'err'> {
  api: Api;
  settings: Settings;
  /** Folder of this package. */
  root: string;
}

/** Rejects with `usage`. */
export async function startServer(request: ServeRequest, deps: ServeDeps): Promise<RunningServer> {
  const { host, port, publicMetrics, behindProxy } = request;
  const { root, cwd, env, api, version, settings, err } = deps;
  const publicUrl = parsePublicUrl(request);
  assertProtected(request, publicUrl);
  const tls = await loadTls(request, cwd);
  const token = request.tokenFile === undefined ? randomBytes(32).toString('base64url') : null;
  const log = (line: string) => err(`retinue: ${sanitizeText(line)}\n`);
  const served = createServedWorkspaces({ api, settings, env, askMs: request.askMs, warn: log });
  const server = await listen({
    ...{ host, port, tls, publicUrl, behindProxy, publicMetrics, api, version, log },
    findToolProcess: async (runId) => findToolProcess(runId),
    ...{ workspace: served.own, workspaces: served, setup: served.setup },
    tokens: createTokenBook(token === null ? await readTokenFile(resolve(cwd, request.tokenFile as string)) : [ownToken(token)]),
    web: join(root, 'dist', 'web'),
    now: Date.now,
  });
  return {
    url: server.url,
    token,
    link: token === null ? null : `${server.url}/?token=${token}`,
    async close(reason) {
      await server.close();
      await served.close(reason);
    },
  };
}

function ownToken(value: string): Token {
  return { value, role: 'start', name: 'the user' };
}

function parsePublicUrl({ publicUrl, behindProxy }: ServeRequest): URL | null {
  if (publicUrl === undefined) {
    if (behindProxy) throw new RetinueError('usage', '--behind-proxy needs --public-url, the address that browsers use');
    return null;
  }
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : null;
  if (url === null || url.protocol !== 'https:' || url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new RetinueError(
      'usage',
      `--public-url must be an https address without a path, such as https://retinue.example.org; got \`${publicUrl}\``,
    );
  return url;
}

/** Another interface than loopback needs tokens that the user has made, and TLS. */
function assertProtected({ host, tokenFile, tlsCert, tlsKey, behindProxy }: ServeRequest, publicUrl: URL | null): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new RetinueError('usage', '--tls-cert and --tls-key belong together');
  if (isLoopback(host)) return;
  const missing = [
    ...(tokenFile === undefined ? ['--token-file FILE'] : []),
    ...(tlsCert === undefined && !(behindProxy && publicUrl)
      ? ['--tls-cert FILE --tls-key FILE (or --behind-proxy --public-url https://…)']
      : []),
  ];
  if (missing.length > 0)
    throw new RetinueError('usage', `--host ${host} can be reached from other machines, so it also needs ${missing.join(' and ')}`);
}

async function loadTls({ tlsCert, tlsKey }: ServeRequest, cwd: string): Promise<{ cert: string; key: string } | null> {
  if (tlsCert === undefined || tlsKey === undefined) return null;
  const load = (flag: string, path: string) => {
    const full = resolve(cwd, path);
    if (!existsSync(full)) throw new RetinueError('usage', `${flag}: ${path} does not exist`);
    return readFile(full, 'utf8').catch((error: Error) => {
      throw new RetinueError('usage', `${flag}: ${path} cannot be read: ${error.message}`);
    });
  };
  return { cert: await load('--tls-cert', tlsCert), key: await load('--tls-key', tlsKey) };
}
