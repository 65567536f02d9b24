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
import type { Mount, ServerOptions, WorkspaceSetup } from '../server/options.ts';
import { readTokenFile } from '../server/token-file.ts';
import { createTokenBook, type Token } from '../server/tokens.ts';
import { createWorkspaces, type Workspaces } from './workspaces.ts';

export interface ServeDeps extends Pick<ServerOptions, 'version' | 'findToolProcess' | 'log'> {
  api: Api;
  settings: Settings;
  /** Folder of this package. */
  root: string;
  cwd: string;
  setup(settings: Settings): WorkspaceSetup;
  /** Called with the values of all tokens before anything can start a run. */
  onTokens(values: string[]): void;
  /** Called when everything else is known to be valid. */
  openMounts(): Promise<Mount[]>;
}

/** Rejects with `usage`; then nothing is left open. */
export async function startServer(request: ServeRequest, deps: ServeDeps): Promise<RunningServer> {
  const { host, port, publicMetrics, behindProxy } = request;
  const publicUrl = parsePublicUrl(request);
  assertProtected(request, publicUrl);
  const { settings, root, cwd, api, setup } = deps;
  const tls = await loadTls(request, cwd);
  const { tokens, token, linkCode } = await loadTokens(request, cwd);
  const workspace = databaseId(locateDatabase(settings.db));
  const hasOthers = tokens.some(({ isEverywhere }) => isEverywhere);
  const serverTokens = tokens.map(({ value }) => value);
  deps.onTokens(serverTokens);
  const others = hasOthers ? createWorkspaces({ env: process.env, warn: deps.log, askMs: request.askMs, serverTokens }) : null;
  const mounts = await deps.openMounts();
  const server = await listen({
    ...{ host, port, tls, publicUrl, behindProxy, publicMetrics, api, workspace, mounts },
    version: deps.version,
    workspaces: combineWorkspaces(workspace, deps, others),
    setup: async (id) => setup(id === workspace ? settings : await (others?.settings(id) ?? rejectWorkspace(id))),
    findToolProcess: deps.findToolProcess,
    tokens: createTokenBook(tokens),
    web: join(root, 'dist', 'web'),
    now: Date.now,
    log: deps.log,
  }).catch(async (error: unknown) => {
    await Promise.all(mounts.map((mount) => mount.close()));
    throw error;
  });
  const close = async () => {
    await server.close();
    await others?.close();
  };
  return { url: server.url, token, link: linkCode === null ? null : `${server.url}/?token=${linkCode}`, close };
}

/**
 * Without a file: a token for programs, and a code that the link exchanges for a session. They differ, so that neither the address bar nor the history
 * of a browser has a token, and so that programs with the token stay in the workspace of the server.
 */
async function loadTokens(
  { tokenFile, otherWorkspaces }: ServeRequest,
  cwd: string,
): Promise<{ tokens: Token[]; token: string | null; linkCode: string | null }> {
  const isEverywhere = otherWorkspaces === 'always';
  if (tokenFile !== undefined) {
    const tokens = (await readTokenFile(resolve(cwd, tokenFile))).map((each) => ({ ...each, isEverywhere }));
    return { tokens, token: null, linkCode: null };
  }
  const [token, linkCode] = [createSecret(), createSecret()];
  const user = { role: 'start', name: 'the user' } as const;
  const tokens: Token[] = [
    { value: token, ...user, use: 'bearer', isEverywhere },
    { value: linkCode, ...user, use: 'link', isEverywhere: otherWorkspaces !== 'never' },
  ];
  return { tokens, token, linkCode };
}

function createSecret(): string {
  return randomBytes(32).toString('base64url');
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
    async list({ others: withOthers }) {
      const known = withOthers ? ((await others?.list()) ?? []) : [];
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

/** What other machines can reach needs tokens that the user has made, and TLS. */
function assertProtected({ host, tokenFile, tlsCert, tlsKey, behindProxy }: ServeRequest, publicUrl: URL | null): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new RetinueError('usage', '--tls-cert and --tls-key belong together');
  if (publicUrl !== null && tokenFile === undefined)
    throw new RetinueError('usage', '--public-url is an address for other machines, so it also needs --token-file FILE');
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
    if (!existsSync(full)) throw new RetinueError('usage', `${flag}: ${path} does not exist; name a PEM file`);
    return readFile(full, 'utf8').catch((error: Error) => {
      throw new RetinueError('usage', `${flag}: ${path} cannot be read: ${error.message}`);
    });
  };
  return { cert: await load('--tls-cert', tlsCert), key: await load('--tls-key', tlsKey) };
}
