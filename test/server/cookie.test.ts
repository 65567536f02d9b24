import { expect, it } from 'vitest';
import { createTokenBook, sessionMs } from '../../src/server/tokens.ts';
import { createTestServer, tokenOf } from './support.ts';

it('exchanges the token of the link for a cookie that is not the token', async () => {
  await using server = await createTestServer();
  const { status, headers } = await server.ask(`/?token=${tokenOf('steer')}`, { token: null });
  expect([status, headers.location]).toEqual([303, '/']);
  const [cookie] = headers['set-cookie'] as [string];
  expect(cookie).toMatch(new RegExp(`^retinue_${server.server.port}=[^;]+; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict$`));
  expect(cookie).not.toContain(tokenOf('steer'));
  const session = cookie.split(';', 1)[0] as string;
  const { status: read, text } = await server.ask('/api/server', { token: null, headers: { cookie: session } });
  expect([read, JSON.parse(text).role]).toEqual([200, 'steer']);
  expect((await server.ask('/api/runs', { token: null, headers: { cookie: `${session}x` } })).status).toBe(401);
});

it('accepts requests with the cookie only from its own pages', async () => {
  await using server = await createTestServer();
  const { headers } = await server.ask(`/?token=${tokenOf('start')}`, { token: null });
  const cookie = (headers['set-cookie']?.[0] ?? '').split(';', 1)[0] as string;
  const start = (more: Record<string, string>) =>
    server.ask('/api/runs', { token: null, body: { task: 'work' }, headers: { cookie, ...more } });
  expect((await start({})).status).toBe(403);
  expect((await start({ 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await start({ 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:1' })).status).toBe(403);
  expect(await server.world.store.runs({})).toEqual([]);
  const read = async (site: string) => (await server.ask('/api/runs', { token: null, headers: { cookie, 'sec-fetch-site': site } })).status;
  expect([await read('same-origin'), await read('none'), await read('same-site'), await read('cross-site')]).toEqual([200, 200, 403, 403]);
  expect((await start({ 'sec-fetch-site': 'same-origin' })).status).toBe(201);
  expect((await start({ origin: server.server.url })).status).toBe(201);
});

it('refuses a wrong link without a cookie', async () => {
  await using server = await createTestServer();
  const { status, headers } = await server.ask('/?token=wrong', { token: null });
  expect([status, headers['set-cookie']]).toEqual([401, undefined]);
});

it('marks the cookie as secure behind a proxy with TLS, and answers for its name', async () => {
  const publicUrl = new URL('https://retinue.example.org');
  await using server = await createTestServer({ listen: { publicUrl, behindProxy: true } });
  expect(server.server.url).toBe('https://retinue.example.org');
  const url = `http://127.0.0.1:${server.server.port}`;
  const answer = await fetch(`${url}/?token=${tokenOf('read')}`, { redirect: 'manual' });
  expect(answer.headers.get('set-cookie')).toContain('; Secure');
});

it('ends sessions after their time, with their token, and on any change', () => {
  const token = { value: tokenOf('read'), role: 'read' as const, name: 'reader' };
  const book = createTokenBook([token]);
  const session = book.openSession(token.value, 1_000) as string;
  expect(book.findSession(session, 1_000 + sessionMs - 1)).toMatchObject({ role: 'read', name: 'reader' });
  expect(book.findSession(session, 1_000 + sessionMs)).toBeNull();
  // The same token after a restart.
  expect(createTokenBook([token]).findSession(session, 2_000)).not.toBeNull();
  expect(createTokenBook([{ ...token, value: tokenOf('start') }]).findSession(session, 2_000)).toBeNull();
  for (let i = 0; i < session.length; i++) {
    const changed = `${session.slice(0, i)}${session[i] === 'a' ? 'b' : 'a'}${session.slice(i + 1)}`;
    expect(book.findSession(changed, 2_000), changed).toBeNull();
  }
  expect(book.openSession('wrong', 0)).toBeNull();
});
