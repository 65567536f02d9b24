// Encrypted connections, on a server of its own.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/stores/postgres/create.ts';
import { startPostgresServer } from '../support/postgres/server.ts';

const nobody = 65_534;

/** A certificate for 127.0.0.1, readable by the server. */
function createCertificate(): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const [cert, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-sha256', '-days', '2', '-keyout', key, '-out', cert, ...subject],
    {
      stdio: 'ignore',
    },
  );
  chmodSync(key, 0o600);
  if (process.getuid?.() === 0) chownSync(key, nobody, nobody);
  return { cert, key };
}

it('connects with TLS, verifies the certificate, and has channel binding if the address requires it', { timeout: 120_000 }, async () => {
  const { cert, key } = createCertificate();
  const server = await startPostgresServer({ settings: ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`] });
  onTestFinished(() => server.remove());
  const verified = `sslmode=verify-full&sslrootcert=${cert}`;
  for (const parameters of [
    'sslmode=require',
    verified,
    `${verified}&channel_binding=require&connect_timeout=30`,
    'channel_binding=prefer',
  ])
    await (await openPostgresStore({ url: `${server.url()}?${parameters}` })).close();

  await expect(openPostgresStore({ url: `${server.url()}?sslmode=verify-full` })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('certificate'),
  });
});

it('does not give a password to a server without channel binding if the address requires it', async () => {
  const { cert, key } = createCertificate();
  const received: string[] = [];
  // It answers as a server would that asks for the password as it is.
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, cert: readFileSync(cert), key: readFileSync(key) });
      secure.on('error', () => {});
      secure.on('data', (data) => {
        received.push(data.toString('latin1'));
        if (received.length === 1) secure.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
      });
    });
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const url = `postgres://me:hunter22@127.0.0.1:${port}/x?sslmode=verify-full&sslrootcert=${cert}&channel_binding=require`;
  await expect(openPostgresStore({ url })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/does not offer channel binding/),
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(received).toHaveLength(1);
  expect(received.join()).not.toContain('hunter22');
});
