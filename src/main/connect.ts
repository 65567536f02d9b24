// A client for the server that the user names, with a token from the environment or from a file. A token is never an argument: other users of the
// machine see arguments.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ServerChoice } from '../cli/io.ts';
import { createCheckedClient } from '../client/checked-client.ts';
import { type Client, createClient } from '../client/client.ts';
import { readNamedFile } from '../config/files.ts';
import { RetinueError } from '../contract/error.ts';
import { unknownNameMessage } from '../text/suggest.ts';

const maxTokenFileBytes = 65_536;

export interface ConnectContext {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Told about answers that are shown only in part. */
  warn?: ((message: string) => void) | undefined;
}

/** Rejects with `usage`. Only a named workspace causes a request. */
export async function connectToServer({ url, tokenFile, insecureHttp, workspace }: ServerChoice, context: ConnectContext): Promise<Client> {
  const token = tokenFile === undefined ? context.env.RETINUE_TOKEN?.trim() : readToken(tokenFile, context);
  if (!token) throw new RetinueError('usage', `the server at ${url} needs a token: set RETINUE_TOKEN, or name a file with --token-file`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new RetinueError(
      'usage',
      `the token in ${tokenFile ?? 'RETINUE_TOKEN'} is none of a server: it has a space or a character outside ASCII; copy it again`,
    );
  const { warn } = context;
  const client = createCheckedClient(
    nameFlag(() => createClient({ url, token, insecureHttp })),
    warn,
  );
  if (workspace === undefined) return client;
  return createCheckedClient(createClient({ url, token, insecureHttp, workspace: await findWorkspace(client, workspace) }), warn);
}

/** The first token of a file in the format of `retinue serve --token-file`. */
function readToken(path: string, { cwd, warn }: ConnectContext): string {
  const lines = readNamedFile(cwd, path, maxTokenFileBytes).split(/\r?\n/);
  const [token] = lines.flatMap(
    (line) =>
      line
        .replace(/(^|\s)#.*$/, '')
        .trim()
        .split(/\s+/)[0] || [],
  );
  if (token === undefined)
    throw new RetinueError('usage', `the token file ${path} has no token; write into its first line one that the server has`);
  const file = resolve(cwd, path);
  // Only a warning: some systems mount secrets like this.
  if ((statSync(file).mode & 0o077) !== 0) warn?.(`other users can read the token file ${file}; run \`chmod 600 ${file}\``);
  return token;
}

function nameFlag(create: () => Client): Client {
  try {
    return create();
  } catch (error) {
    const { message } = error as Error;
    const hint = /unencrypted/.test(message) ? ', or --insecure-http to send it nevertheless' : '';
    throw new RetinueError('usage', `--server: ${message}${hint}`, { cause: error });
  }
}

async function findWorkspace(client: Client, wanted: string): Promise<string> {
  const workspaces = await client.workspaces();
  const found = workspaces.find(({ id, path }) => id === wanted || path === wanted);
  if (found) return found.id;
  const paths = workspaces.map(({ path }) => path);
  throw new RetinueError('usage', `--workspace: ${unknownNameMessage('workspace of the server', wanted, paths)}`);
}
