// Commands with `--server URL`: which server a command is for, and the API over it.
import type { Api, RemoteServer } from '../../api/api.ts';
import { RetinueError } from '../../contract/error.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { CommandSettings } from '../args/settings-flags.ts';
import type { Io, ServerChoice } from '../io.ts';

/**
 * The server that the command is for; null: this machine. Flags are stronger than RETINUE_SERVER, so --db and --config choose this machine. Throws
 * `usage` if a flag has no meaning for a server.
 */
export function chooseServer(io: Pick<Io, 'serverUrl'>, { server, db, config }: CommandSettings): ServerChoice | null {
  if (server === undefined) return null;
  const { tokenFile, insecureHttp, workspace, localFlags } = server;
  const isLocal = db !== undefined || config !== undefined;
  const url = server.url ?? (isLocal ? null : io.serverUrl);
  if (url === null) {
    const [given] = [...(tokenFile === undefined ? [] : ['--token-file']), ...(insecureHttp ? ['--insecure-http'] : [])];
    if (given !== undefined) throw new RetinueError('usage', `${given} needs --server URL`);
    return null;
  }
  if (localFlags.length > 0)
    throw new RetinueError('usage', `--${localFlags[0]} cannot be combined with a server (${url}): its own settings decide`);
  return { url, tokenFile, insecureHttp, workspace };
}

/** The part of the API that watches and steers, over HTTP. */
export async function openRemoteApi(io: Io, server: ServerChoice): Promise<Api> {
  const client = await io.connect(server, (message) => io.err(`retinue: ${sanitizeLine(message)}\n`));
  const [agents, { createRemoteApi }] = await Promise.all([client.agents(), import('../../client/remote-api.ts')]);
  return createRemoteApi(client, { agents });
}

/** Tells the user while the connection to a server is lost. Returns a function that stops it. */
export function reportConnection(server: RemoteServer | undefined, print: (text: string) => void): () => void {
  if (server === undefined) return () => {};
  return server.watchConnection(({ isConnected, reason }) => {
    if (isConnected) print('retinue: connected to the server again\n');
    else print(`retinue: the connection to the server was lost (${sanitizeLine(reason)}); trying again\n`);
  });
}
