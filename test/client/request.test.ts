import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { RemoteError } from '../../src/client/error.ts';
import { isRetinueError } from '../../src/contract/error.ts';
import { type Handler, sendJson, serve, type TestServer } from './support.ts';

let server: TestServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function start(handle: Handler): Promise<TestServer> {
  server = await serve(handle);
  return server;
}

/** The error of a call. */
async function errorOf(call: () => Promise<unknown>): Promise<RemoteError> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(RemoteError);
    return error as RemoteError;
  }
  throw new Error('the call succeeded');
}

describe('requests of the client', () => {
  it('send the token, the workspace and the query, below the path of the address', async () => {
    const { url, requests } = await start((_, response) => sendJson(response, 200, []));
    const client = createClient({ url: `${url}/team/retinue`, token: 'secret', workspace: 'w1' });
    await client.runs({ all: true, limit: 5 });
    await client.facts('a/b', { tree: true, after: '7' });
    expect(requests.map((request) => request.url)).toEqual([
      '/team/retinue/api/runs?all=1&limit=5&workspace=w1',
      '/team/retinue/api/runs/a%2Fb/facts?tree=1&after=7&workspace=w1',
    ]);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret', 'Bearer secret']);
  });

  it('send orders as JSON', async () => {
    const bodies: string[] = [];
    const { url, requests } = await start((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        bodies.push(body);
        sendJson(response, 200, { runId: 'x', result: 'asked' });
      });
    });
    const client = createClient({ url });
    await client.cancel('x', { reason: 'why' });
    await client.resume('x');
    expect(bodies).toEqual(['{"reason":"why"}', '{}']);
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual(['application/json', 'application/json']);
    expect(requests[0]?.headers.authorization).toBeUndefined();
  });

  it('reject with the code and message of the server, as errors of Retinue', async () => {
    const { url } = await start((_, response) =>
      sendJson(response, 404, { error: { code: 'unknown_run', message: 'there is no such run' } }),
    );
    const error = await errorOf(() => createClient({ url }).run('abc'));
    expect(error).toMatchObject({ code: 'unknown_run', message: 'there is no such run', status: 404, retryable: false });
    expect(isRetinueError(error)).toBe(true);
  });

  it('say that nothing listens at the address', async () => {
    const { url, close } = await serve(() => {});
    await close();
    const error = await errorOf(() => createClient({ url }).runs());
    expect(error).toMatchObject({ code: 'unreachable', retryable: true });
    expect(error.message).toBe(
      `cannot reach the server at ${url}: the connection was refused; check the address, and that \`retinue serve\` runs there`,
    );
  });

  it.each([
    ['a page', 200, 'text/html', '<p>hello</p>'],
    ['a missing page', 404, 'text/html', '<p>nothing here</p>'],
    ['other JSON', 404, 'application/json', '{"detail":"not found"}'],
  ])('say that %s is not from a Retinue server', async (_, status, type, body) => {
    const { url } = await start((__, response) => response.writeHead(status, { 'content-type': type }).end(body));
    const error = await errorOf(() => createClient({ url }).runs());
    expect(error.code).toBe('not_retinue');
    expect(error.message).toContain(`${url} is not a Retinue server: it answered with status ${status} and ${type}`);
  });

  it('follow no redirect: the token is for this server alone', async () => {
    const { url, requests } = await start((_, response) => response.writeHead(307, { location: '/elsewhere' }).end());
    await errorOf(() => createClient({ url, token: 'secret' }).runs());
    expect(requests).toHaveLength(1);
  });

  it('report an answer that is cut off', async () => {
    const { url } = await start((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('[{"runId":', () => response.destroy());
    });
    expect(await errorOf(() => createClient({ url }).runs())).toMatchObject({ code: 'unreachable', retryable: true });
  });

  it('can be cancelled', async () => {
    const stop = new AbortController();
    const { url } = await start(() => stop.abort(new Error('enough')));
    await expect(createClient({ url }).runs({ signal: stop.signal })).rejects.toThrow('enough');
  });
});

describe('the address of the server', () => {
  it.each([
    ['nonsense', /not an address/],
    ['ftp://127.0.0.1', /begins with http/],
    ['http://user:pass@127.0.0.1', /must not contain a token or password/],
    ['http://127.0.0.1/?token=abc', /must not contain a token/],
    ['http://127.0.0.1/#token=abc', /must not contain a token/],
  ])('%s is refused', (url, message) => {
    expect(() => createClient({ url })).toThrow(message);
  });

  it.each(['http://127.0.0.1:1', 'http://127.8.9.1', 'http://localhost:80', 'http://[::1]:7', 'https://example.com'])(
    '%s may get a token',
    (url) => {
      expect(createClient({ url, token: 'secret' }).url).toBe(new URL(url).href.replace(/\/$/, ''));
    },
  );

  it.each(['http://example.com', 'http://10.0.0.1:7', 'http://127.0.0.1.example.com', 'http://localhost.example.com'])(
    '%s gets no token unless the caller insists',
    (url) => {
      expect(() => createClient({ url, token: 'secret' })).toThrow(/would send the token to .* unencrypted/);
      expect(() => createClient({ url, token: 'secret', insecureHttp: true })).not.toThrow();
      expect(() => createClient({ url })).not.toThrow();
    },
  );
});
