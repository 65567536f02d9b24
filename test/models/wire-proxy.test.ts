// Node's proxy settings, for the source and for the bundle, which has only parts of undici.
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestWorkspace } from '../support/workspace.ts';
import { ground } from './providers-support.ts';

const root = resolve(import.meta.dirname, '../..');
const script = `
  const { createProviders } = await import(${JSON.stringify(join(root, 'src/models/providers.ts'))});
  const handle = await createProviders({ env: process.env })['openai-compatible']('x', {});
  const { stream } = await handle.model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] });
  for await (const part of stream) if (part.type === 'text-delta') process.stdout.write(part.delta);
`;

const programs = [
  { program: 'the source', args: ['--input-type=module', '-e', script] },
  { program: 'the bundle', args: [join(root, 'bin/retinue.js'), 'run', '--model', 'openai-compatible/x', 'go'] },
];

function run(args: string[], env: Record<string, string>): Promise<string> {
  const place = createTestWorkspace();
  onTestFinished(() => place[Symbol.dispose]());
  const all = { ...place.env, PATH: process.env.PATH ?? '', ...env };
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: place.workspace, env: all }, (error, out, errors) =>
      done(error ? `failed: ${errors}` : out.trim()),
    );
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends a request on to the provider. */
function forwardTo(target: string) {
  return (incoming: IncomingMessage, response: ServerResponse): void => {
    const path = URL.parse(incoming.url ?? '')?.pathname ?? incoming.url;
    const forward = request(`${target}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' } });
    forward.on('response', (back) => back.pipe(response.writeHead(back.statusCode ?? 0, back.headers)));
    incoming.pipe(forward);
  };
}

/** The provider with TLS, under the name `provider.test`. */
async function startSecureServer(target: string): Promise<{ port: number; cert: string }> {
  const place = createTestWorkspace();
  onTestFinished(() => place[Symbol.dispose]());
  const [cert, key] = [join(place.folder, 'cert.pem'), join(place.folder, 'key.pem')];
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=provider.test', '-addext', 'subjectAltName=DNS:provider.test', '-keyout', key, '-out', cert],
  ]);
  const secure = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, forwardTo(target));
  return { port: await listen(secure), cert };
}

/** A proxy for http and https. Every host of a tunnel is the server at `port`. */
async function startProxy(target: string, port = 0): Promise<{ url: string; passed: string[] }> {
  const passed: string[] = [];
  const forward = forwardTo(target);
  const proxy = createServer((incoming, response) => {
    passed.push(incoming.url ?? '');
    forward(incoming, response);
  });
  proxy.on('connect', (incoming, socket) => {
    passed.push(`tunnel to ${incoming.url}`);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) end.on('error', () => {});
  });
  return { url: `http://127.0.0.1:${await listen(proxy)}`, passed };
}

test.each(programs)('$program uses the proxy for http if Node is told to', async ({ args }) => {
  const { server } = await ground(() => ({ text: 'through' }));
  const { url, passed } = await startProxy(server.url);
  const env = { RETINUE_BASE_URL: 'http://provider.test', HTTP_PROXY: url };
  expect(await run(args, { ...env, NODE_USE_ENV_PROXY: '1' })).toBe('through');
  expect(passed).toEqual(['http://provider.test/v1/chat/completions']);
  expect(await run(args, { ...env, NODE_OPTIONS: '--use-env-proxy' })).toBe('through');
  expect(passed).toHaveLength(2);
  const direct = { ...env, RETINUE_BASE_URL: server.url, NODE_USE_ENV_PROXY: '1', NO_PROXY: '127.0.0.1' };
  expect(await run(args, direct)).toBe('through');
  expect(passed).toHaveLength(2);
});

test.each(programs)('$program uses a tunnel for https, and trusts the certificates that Node trusts', async ({ args }) => {
  const { server } = await ground(() => ({ text: 'through' }));
  const { port, cert } = await startSecureServer(server.url);
  const { url, passed } = await startProxy(server.url, port);
  const env = { RETINUE_BASE_URL: 'https://provider.test', HTTPS_PROXY: url, NODE_USE_ENV_PROXY: '1' };
  expect(await run(args, { ...env, NODE_EXTRA_CA_CERTS: cert })).toBe('through');
  expect(passed).toEqual(['tunnel to provider.test:443']);
  expect(await run(args, { ...env, NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toBe('through');
});

test('without being told to, Node uses no proxy, and trusts no unknown certificate', async () => {
  const { server } = await ground(() => ({ text: 'through' }));
  const { url, passed } = await startProxy(server.url);
  const source = programs[0]?.args ?? [];
  expect(await run(source, { RETINUE_BASE_URL: 'http://provider.test', HTTP_PROXY: url })).toContain('ENOTFOUND');
  expect(passed).toEqual([]);
  const { port } = await startSecureServer(server.url);
  expect(await run(source, { RETINUE_BASE_URL: `https://127.0.0.1:${port}` })).toMatch(/self.signed certificate/);
});
