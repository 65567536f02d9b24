// The HTTP server of a command: tokens, TLS and addresses as the user gave them.
import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Api } from '../api/api.ts';
import type { RunningServer, ServeRequest } from '../cli/io.ts';
import type { Settings } from '../config/settings.ts';
import { databaseId } from '../config/workspace-registry.ts';
import { RetinueError } from '../contract/error.ts';
import { isLoopback, listen } from '../server/listen.ts';
import type { ServerOptions, WorkspaceSetup } from '../server/options.ts';
import { readTokenFile } from '../server/token-file.ts';
import { createTokenBook } from '../server/tokens.ts';
import { createWorkspaces, type Workspaces } from './workspaces.ts';

export interface ServeDeps extends Pick<ServerOptions, 'version' | 'findToolProcess' | 'log' | 'mounts'> {
  api: Api;
  settings: Settings;
  /** Folder of this package. */
  root: string;
  cwd: string;
  setup(settings: Settings): WorkspaceSetup;
}

/** Rejects with `usage`. */
export async function startServer(request: ServeRequest, deps: ServeDeps): Promise<RunningServer> {
  const { host, port, publicMetrics, behindProxy } = request;
  const publicUrl = parsePublicUrl(request);
  assertProtected(request, publicUrl);
  const { settings, root, cwd, api, setup } = deps;
  const tls = await loadTls(request, cwd);
  const token = request.tokenFile === undefined ? randomBytes(32).toString('base64url') : null;
  const tokens =
    token === null
      ? await readTokenFile(resolve(cwd, request.tokenFile as string))
      : [{ value: token, role: 'start' as const, name: 'the user' }];
  const workspace = databaseId(locateDatabase(settings.db));
  // A token that the user gave away is for this workspace alone.
  const others = token !== null || request.everywhere ? createWorkspaces({ env: process.env, warn: deps.log, askMs: request.askMs }) : null;
  const server = await listen({
    ...{ host, port, tls, publicUrl, behindProxy, publicMetrics, api, workspace },
    version: deps.version,
    workspaces: combineWorkspaces(workspace, deps, others),
    setup: async (id) => setup(id === workspace ? settings : await (others?.settings(id) ?? rejectWorkspace(id))),
    findToolProcess: deps.findToolProcess,
    tokens: createTokenBook(tokens),
    web: join(root, 'dist', 'web'),
    now: Date.now,
    log: deps.log,
    mounts: deps.mounts ?? [],
  });
  const close = async () => {
    await server.close();
    await others?.close();
  };
  return { url: server.url, token, link: token === null ? null : `${server.url}/?token=${token}`, close };
}

/** The same for all ways to name a database. */
function locateDatabase(db: Settings['db']): string {
  return db.kind === 'file' && existsSync(db.path) ? realpathSync(db.path) : db.shown;
}

/** The workspace of the server first. */
function combineWorkspaces(
  id: string,
  { api, settings }: Pick<ServeDeps, 'api' | 'settings'>,
  others: Workspaces | null,
): ServerOptions['workspaces'] {
  return {
    async list() {
      const known = (await others?.list()) ?? [];
      const usedAt = known.find((each) => each.id === id)?.usedAt ?? null;
      const { length: live } = await api.ps({ all: false });
      const { length: questions } = await api.questions();
      const own = { id, path: settings.workspace, db: settings.db.shown, live, questions, usedAt };
      return [own, ...known.filter((each) => each.id !== id)];
    },
    open: async (other) => (other === id ? api : (others?.open(other) ?? rejectWorkspace(other))),
  };
}

function rejectWorkspace(id: string): never {
  throw new RetinueError('usage', `this server knows no workspace \`${id}\`; GET /api/workspaces lists them`);
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
