// Sessions of browsers: the link, the cookie, and the key that only pages of the server's own origin have.
import { describe, expect, it } from 'vitest';
import { createTokenBook, type Session, sessionMs, type Token } from '../../src/server/tokens.ts';
import { createTestServer, openPage, tokenOf } from './support.ts';

describe('the link', () => {
  it('is exchanged for a cookie and a key in the fragment, neither of which is the token', async () => {
    await using server = await createTestServer();
    const { status, headers } = await server.ask(`/?token=${tokenOf('steer')}`, { token: null });
    expect(status).toBe(303);
    expect(headers.location).toMatch(/^\/#retinue-page-key=[\w-]{43}$/);
    const [cookie] = headers['set-cookie'] as [string];
    expect(cookie).toMatch(new RegExp(`^retinue_${server.server.port}=[^;]+; Max-Age=86400; Path=/; HttpOnly; SameSite=Strict$`));
    expect(cookie + headers.location).not.toContain(tokenOf('steer'));
    const page = await openPage(server, tokenOf('steer'));
    const { status: read, text } = await server.ask('/api/server', { token: null, headers: page });
    expect([read, JSON.parse(text).role]).toEqual([200, 'steer']);
  });

  it('can be opened again, for a session of its own', async () => {
    await using server = await createTestServer();
    const [first, second] = [await openPage(server), await openPage(server)];
    expect(first.cookie).not.toBe(second.cookie);
    const ask = async (headers: Record<string, string>) => (await server.ask('/api/runs', { token: null, headers })).status;
    expect([await ask(first), await ask(second)]).toEqual([200, 200]);
    expect(await ask({ ...first, 'retinue-page-key': second['retinue-page-key'] })).toBe(401);
  });

  it('is refused without a cookie if it is wrong', async () => {
    await using server = await createTestServer();
    const { status, headers } = await server.ask('/?token=wrong', { token: null });
    expect([status, headers['set-cookie']]).toEqual([401, undefined]);
  });

  it('has a code that is no token, and the token is no code', async () => {
    const code = 'code-'.padEnd(32, 'x');
    const user = { role: 'start', name: 'the user' } as const;
    const tokens = createTokenBook([
      { value: tokenOf('start'), ...user, use: 'bearer' },
      { value: code, ...user, use: 'link' },
    ]);
    await using server = await createTestServer({ listen: { tokens } });
    expect((await server.ask('/api/runs', { token: code })).status).toBe(401);
    expect((await server.ask(`/?token=${tokenOf('start')}`, { token: null })).status).toBe(401);
    expect((await server.ask('/api/runs', { token: null, headers: await openPage(server, code) })).status).toBe(200);
  });
});

describe('requests with a cookie', () => {
  it('need the key of the page, which another server of this machine does not get', async () => {
    await using server = await createTestServer();
    const { cookie } = await openPage(server);
    const own = { 'sec-fetch-site': 'same-origin', origin: server.server.url };
    const ask = (headers: Record<string, string>) => server.ask('/api/runs', { token: null, body: { task: 'x' }, headers });
    const without = await ask({ cookie, ...own });
    expect([without.status, without.text]).toEqual([401, expect.stringContaining('open the link that `retinue serve` printed again')]);
    expect((await ask({ cookie, ...own, 'retinue-page-key': 'x'.repeat(43) })).status).toBe(401);
    expect((await server.ask('/api/events', { token: null, headers: { cookie } })).status).toBe(401);
    expect((await server.ask('/metrics', { token: null, headers: { cookie } })).status).toBe(401);
    expect(await server.world.store.runs({})).toEqual([]);
  });

  it('accepts requests with the cookie only from its own pages', async () => {
    await using server = await createTestServer();
    const page = await openPage(server);
    const start = (more: Record<string, string>) =>
      server.ask('/api/runs', { token: null, body: { task: 'work' }, headers: { ...page, ...more } });
    expect((await start({})).status).toBe(403);
    expect((await start({ 'sec-fetch-site': 'same-site' })).status).toBe(403);
    expect((await start({ 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:1' })).status).toBe(403);
    expect(await server.world.store.runs({})).toEqual([]);
    const read = async (site: string) =>
      (await server.ask('/api/runs', { token: null, headers: { ...page, 'sec-fetch-site': site } })).status;
    expect([await read('same-origin'), await read('none'), await read('same-site'), await read('cross-site')]).toEqual([
      200, 200, 403, 403,
    ]);
    expect((await start({ 'sec-fetch-site': 'same-origin' })).status).toBe(201);
    expect((await start({ origin: server.server.url })).status).toBe(201);
  });

  it('find theirs among others of the same name, which pages of other ports can set', async () => {
    await using server = await createTestServer();
    const page = await openPage(server);
    const foreign = `retinue_${server.server.port}=planted`;
    for (const cookie of [`${foreign}; ${page.cookie}`, `a=b; ${page.cookie}; ${foreign}`])
      expect((await server.ask('/api/runs', { token: null, headers: { ...page, cookie } })).status).toBe(200);
    expect((await server.ask('/api/runs', { token: null, headers: { ...page, cookie: foreign } })).status).toBe(401);
  });

  it('get a new cookie when half of its time is over, and the key stays valid', async () => {
    let now = 1_000_000;
    await using server = await createTestServer({ listen: { now: () => now } });
    const page = await openPage(server);
    const ask = (headers: Record<string, string>) => server.ask('/api/server', { token: null, headers });
    now += sessionMs / 2 - 1;
    expect((await ask(page)).headers['set-cookie']).toBeUndefined();
    now += 2;
    const renewed = ((await ask(page)).headers['set-cookie'] as [string])[0];
    now += sessionMs / 2 + 1;
    expect((await ask(page)).status).toBe(401);
    expect((await ask({ ...page, cookie: renewed.split(';', 1)[0] as string })).status).toBe(200);
  });

  it('get a secure cookie behind a proxy with TLS', async () => {
    const publicUrl = new URL('https://retinue.example.org');
    await using server = await createTestServer({ listen: { publicUrl, behindProxy: true } });
    expect(server.server.url).toBe('https://retinue.example.org');
    const url = `http://127.0.0.1:${server.server.port}`;
    const answer = await fetch(`${url}/?token=${tokenOf('read')}`, { redirect: 'manual' });
    expect(answer.headers.get('set-cookie')).toContain('; Secure');
  });
});

it('ends sessions after their time, with their token, and on any change', () => {
  const token: Token = { value: tokenOf('read'), role: 'read', name: 'reader' };
  const book = createTokenBook([token]);
  const session = book.openSession(token.value, 1_000) as Session;
  expect(book.findSession(session, 1_000 + sessionMs - 1)?.principal).toMatchObject({ role: 'read', name: 'reader' });
  expect(book.findSession(session, 1_000 + sessionMs)).toBeNull();
  // The same token after a restart.
  expect(createTokenBook([token]).findSession(session, 2_000)).not.toBeNull();
  expect(createTokenBook([{ ...token, value: tokenOf('start') }]).findSession(session, 2_000)).toBeNull();
  for (const part of ['cookie', 'pageKey'] as const) {
    for (let i = 0; i < session[part].length; i++) {
      const changed = `${session[part].slice(0, i)}${session[part][i] === 'a' ? 'b' : 'a'}${session[part].slice(i + 1)}`;
      expect(book.findSession({ ...session, [part]: changed }, 2_000), changed).toBeNull();
    }
  }
  expect(book.openSession('wrong', 0)).toBeNull();
});
