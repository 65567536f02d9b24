// Where the server listens: interfaces, TLS, tokens from a file.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listOwnHosts } from '../../src/server/check-origin.ts';
import { parseTokens, readTokenFile } from '../../src/server/token-file.ts';
import { createTestServer, tokenOf } from './support.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'retinue-listen-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('TLS', () => {
  it('serves https with the given certificate, and secure cookies', async () => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    execFileSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert],
    ]);
    const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    await using server = await createTestServer({ listen: { tls } });
    expect(server.server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const answer = await new Promise<{ status: number | undefined; cookie: string }>((resolve, reject) => {
      get(`${server.server.url}/?token=${tokenOf('read')}`, { ca: tls.cert, agent: false }, (response) => {
        response.resume().on('end', () => resolve({ status: response.statusCode, cookie: response.headers['set-cookie']?.[0] ?? '' }));
      }).on('error', reject);
    });
    expect(answer.status).toBe(303);
    expect(answer.cookie).toContain('; Secure');
  });

  it('refuses a certificate that is none', async () => {
    await expect(createTestServer({ listen: { tls: { cert: 'nonsense', key: 'nonsense' } } })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('the TLS certificate or its key cannot be used'),
    });
  });
});

it('says what to do if the port is in use', async () => {
  await using server = await createTestServer();
  await expect(createTestServer({ listen: { port: server.server.port } })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('is in use; choose another one with --port'),
  });
});

it('leaves the default port out of host names', () => {
  expect([...listOwnHosts(['a.example', '::1'], { port: 443, scheme: 'https' })]).toEqual([
    'a.example',
    'a.example:443',
    '[::1]',
    '[::1]:443',
  ]);
  expect([...listOwnHosts(['a.example'], { port: 443, scheme: 'http' })]).toEqual(['a.example:443']);
});

describe('the token file', () => {
  const write = (text: string, mode = 0o600) => {
    const path = join(folder, 'tokens');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  const token = (name: string) => name.padEnd(32, '0');
  const digestStart = (value: string) => createHash('sha256').update(value).digest('hex').slice(0, 12);

  it('has a token, a role and a name in each line', async () => {
    const path = write(`# tokens\n${token('a')} read  the wall display # on floor 2\n\n${token('b')} steer\r\n${token('c')}\n`);
    expect(await readTokenFile(path)).toEqual([
      { value: token('a'), role: 'read', name: 'the wall display' },
      { value: token('b'), role: 'steer', name: `token ${digestStart(token('b'))}` },
      { value: token('c'), role: 'start', name: `token ${digestStart(token('c'))}` },
    ]);
  });

  it.each([0o644, 0o640, 0o660, 0o604])('must not be open to others: mode %o', async (mode) => {
    await expect(readTokenFile(write(token('a'), mode))).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/other users can read or change the token file .*chmod 600/),
    });
  });

  it('may begin with a byte order mark and end without a newline', async () => {
    expect(await readTokenFile(write(`\ufeff${token('a')}`))).toMatchObject([{ value: token('a') }]);
  });

  it('is a file: a folder and a pipe are refused at once', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', ['-m', '600', pipe]);
    mkdirSync(join(folder, 'dir'), { mode: 0o700 });
    for (const path of [pipe, join(folder, 'dir')])
      await expect(readTokenFile(path)).rejects.toMatchObject({
        code: 'usage',
        message: `the token file ${path} is not a regular file; name the file itself`,
      });
  });

  it.each([
    [`${token('ä')} start`, 'line 1: a token has only letters, digits and signs of ASCII'],
    ['', 'the token file tokens has no token; a line is `TOKEN [read|'],
    ['short', 'line 1: a token has at least 32 characters'],
    [`${token('a')} rule`, 'line 1: unknown role `rule`'],
    ['# nothing\n', 'has no token'],
    [`${token('a')} read one\n${token('a')} start two`, 'the token of `two` is there twice'],
  ])('is refused with %j', (text, message) => {
    expect(() => parseTokens(text, 'tokens')).toThrow(message);
  });

  it('must exist', async () => {
    await expect(readTokenFile(join(folder, 'missing'))).rejects.toMatchObject({ message: expect.stringContaining('it does not exist') });
  });
});
