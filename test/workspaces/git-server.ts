// A real git server over HTTP on loopback: git's own backend behind a small CGI server. It can ask for a password.
import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface GitServer {
  url: string;
  /** Requests so far, with whether they carried the right password. */
  requests: { path: string; isAuthorized: boolean }[];
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startGitServer(folder: string, password?: string): Promise<GitServer> {
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const requests: GitServer['requests'] = [];
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://x');
    const wanted = `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
    const isAuthorized = request.headers.authorization === wanted;
    requests.push({ path: pathname, isAuthorized });
    if (password !== undefined && !isAuthorized) return void response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    serve(backend, folder, { pathname, query: search.slice(1) }, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function serve(
  backend: string,
  root: string,
  { pathname, query }: { pathname: string; query: string },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const env = {
    PATH: process.env.PATH,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_NOSYSTEM: '1',
    HOME: root,
    PATH_INFO: pathname,
    QUERY_STRING: query,
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    GIT_PROTOCOL: request.headers['git-protocol'] as string | undefined,
    REMOTE_ADDR: '127.0.0.1',
  };
  const child = spawn(backend, [], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('close', () => {
    const out = Buffer.concat(chunks);
    const end = out.indexOf('\r\n\r\n');
    const headers = Object.fromEntries(
      out
        .toString('latin1', 0, end)
        .split('\r\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    );
    response.writeHead(Number.parseInt(headers.Status ?? '200', 10), headers).end(out.subarray(end + 4));
  });
}
