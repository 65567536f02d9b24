// Pages and servers that lead to private addresses or never end.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Subject } from '../../src/ports/subject.ts';
import { decideCall } from '../../src/rules/policy.ts';
import { createWebfetch } from '../../src/tools/webfetch.ts';
import { watchEventLoop } from '../support/cpu-time.ts';
import { ownerRules } from './shell-support.ts';
import { call } from './support.ts';
import { serve } from './web-server.ts';

const real = createWebfetch();
const allowAddress = (address: string) => address === '127.0.0.1';
const tested = createWebfetch({ allowAddress });

describe('addresses that are not public', () => {
  test('are refused in every spelling without any connection', async () => {
    const { port, requests } = await serve((_, response) => void response.end('secret'));
    const hosts = [
      '127.0.0.1',
      'localhost',
      'LOCALHOST',
      'localhost.',
      '127.1',
      '0x7f.1',
      '2130706433',
      '0177.0.0.1',
      '0x7f000001',
      '127.0.0.1.',
      '0',
      '0.0.0.0',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[0:0:0:0:0:ffff:7f00:1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '①②⑦.⓪.⓪.①',
      '127。0。0。1',
      '127｡0｡0｡1',
      '017700000001',
      '0x7f.0x0.0x0.0x1',
      '127.0.1',
      '%31%32%37.0.0.1',
      'a.localhost',
      'localhost.localdomain',
      'ip6-localhost',
      '[::ffff:0:127.0.0.1]',
      '[64:ff9b:1::7f00:1]',
      '[2001:0:7f00:1::]',
      '[::ffff:7f00:0001]',
      '[fe80::1]',
    ];
    for (const host of hosts) {
      const result = await call(real, '/', { url: `http://${host}:${port}/` });
      expect(result, host).toMatchObject({ isError: true, output: expect.stringMatching(/not a public address|was not found/) });
      expect(result.output).not.toContain('secret');
    }
    expect(requests).toEqual([]);
  });

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://169.254.169.254./',
    'http://2852039166/',
    'http://0xA9FEA9FE/',
    'http://0251.0376.0251.0376/',
    'http://[::ffff:169.254.169.254]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[2002:a9fe:a9fe::]/',
    'http://100.64.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[ff02::1]/',
    'http://[fc00::1]/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://10.0.0.1/',
    'http://192.168.0.1/',
    'https://172.17.0.1/',
  ])('%s', async (url) => {
    const stop = watchEventLoop();
    expect(await call(real, '/', { url })).toMatchObject({
      isError: true,
      output: expect.stringMatching(/^refused: .* is not a public address$/),
    });
    expect(stop().passedMs).toBeLessThan(500);
  });

  test('the message shows the address of a name', async () => {
    expect((await call(real, '/', { url: 'http://localhost/' })).output).toMatch(
      /^refused: localhost leads to (127\.0\.0\.1|::1), which is not a public address$/,
    );
  });

  test('are refused after a redirect too', async () => {
    const inner = await serve((_, response) => void response.end('secret'));
    for (const target of [
      'http://127.0.0.2:PORT/',
      'http://[::1]:PORT/',
      'http://[::ffff:127.0.0.1]:PORT/',
      '//0.0.0.0:PORT/',
      'http://169.254.169.254/',
      'http://2130706434:PORT/',
    ]) {
      const location = target.replace('PORT', String(inner.port));
      const outer = await serve((_, response) => void response.writeHead(302, { location }).end());
      const result = await call(tested, '/', { url: outer.url });
      expect(result, target).toMatchObject({ isError: true, output: expect.stringMatching(/not a public address/) });
    }
    expect(inner.requests).toEqual([]);
  });

  test('a name with one allowed and one other address is refused', async () => {
    const { port, requests } = await serve((_, response) => void response.end('secret'));
    const seen: string[] = [];
    const picky = createWebfetch({
      allowAddress: (address) => {
        seen.push(address);
        return seen.length > 1;
      },
    });
    expect(await call(picky, '/', { url: `http://localhost:${port}/` })).toMatchObject({ isError: true });
    expect(requests).toEqual([]);
  });

  test('a name is looked up once, and the checked address is the one connected to', async () => {
    const { port } = await serve((_, response) => void response.end('from the address that was checked'));
    const asked: string[] = [];
    const rebinding = createWebfetch({
      allowAddress: (address) => address === '127.0.0.1',
      resolve: (name, _, done) => {
        asked.push(name);
        done(null, [{ address: asked.length === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]);
      },
    });
    const url = `http://rebinding.example:${port}/`;
    expect((await call(rebinding, '/', { url })).output).toContain('from the address that was checked');
    expect(asked).toEqual(['rebinding.example']);
    // The next request looks the name up again and checks that address.
    expect((await call(rebinding, '/', { url })).output).toBe(
      'refused: rebinding.example leads to 127.0.0.2, which is not a public address',
    );
  });

  test('a name with public and private addresses is refused, and so is one with no address', async () => {
    const found = (addresses: string[]) =>
      createWebfetch({
        resolve: (_, __, done) =>
          done(
            null,
            addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
          ),
      });
    for (const addresses of [['8.8.8.8', '10.0.0.1'], ['::1', '8.8.8.8'], ['::ffff:8.8.8.8'], []])
      expect(await call(found(addresses), '/', { url: 'http://mixed.example/' }), addresses.join()).toMatchObject({ isError: true });
  });

  test.each([
    'file:///etc/passwd',
    'ftp://8.8.8.8/',
    'gopher://8.8.8.8/',
    'data:text/plain,x',
    'javascript:1',
    'ws://8.8.8.8/',
    'about:blank',
    'blob:x',
    '//8.8.8.8/',
    '/etc/passwd',
    'http://',
    'http://[fe80::1%25eth0]/',
    'http://user:pw@8.8.8.8/',
    'http://8.8.8.8@127.0.0.1/',
  ])('%s is not fetched', async (url) =>
    expect(await call(real, '/', { url })).toMatchObject({ isError: true, output: expect.stringMatching(/^(url:|refused:)/) }),
  );

  test('a proxy of the environment is not used', async () => {
    const proxy = await serve((_, response) => void response.end('through the proxy'));
    const before = { ...process.env };
    Object.assign(process.env, { http_proxy: proxy.url, HTTP_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1' });
    try {
      expect((await call(real, '/', { url: 'http://10.0.0.1/' })).output).toContain('refused');
    } finally {
      process.env = before;
    }
    expect(proxy.requests).toEqual([]);
  });
});

describe('rules', () => {
  const deciding = (denied: RegExp) => {
    const asked: string[] = [];
    const rights = {
      agent: 'general',
      definition: null,
      tools: ['webfetch'],
      decide: (tool: string, subjects: Subject[]) => {
        const texts = subjects.map((subject) => (typeof subject === 'string' ? subject : subject.text));
        asked.push(`${tool} ${texts.join(' ')}`);
        const action = texts.some((text) => denied.test(text)) ? ('deny' as const) : ('allow' as const);
        return { action, owner: 'test', rule: action === 'deny' ? 'deny webfetch:*secret*' : null };
      },
      closedPaths: { read: [], write: [] },
    };
    return { asked, rights };
  };

  test('apply again to the target of a redirect', async () => {
    const { url, requests } = await serve((request, response) => {
      if (request.url === '/secret') response.end('reached');
      else response.writeHead(302, { location: request.url === '/a' ? '/b' : '/secret' }).end();
    });
    const { asked, rights } = deciding(/secret/);
    expect(await call(tested, '/', { url: `${url}/a` }, { rights })).toMatchObject({
      isError: true,
      output: `${url}/b leads to /secret, which is not followed: rule \`deny webfetch:*secret*\` of test`,
    });
    expect(asked).toEqual([`webfetch ${url}/b`, `webfetch ${url}/secret`]);
    expect(requests.map((request) => request.url)).toEqual(['/a', '/b']);
  });

  test('a dot after the host name does not bypass a rule', () => {
    expect(real.subjects({ url: 'https://EXAMPLE.com.:443/x' }, { workspace: '/' })).toEqual([
      'https://example.com./x',
      { text: 'https://example.com/x', alias: true },
    ]);
  });

  const escaped = ['%70rivate/x', '%2570rivate/x', 'a/%252e%252e/private/x', 'a/..%2Fprivate/x', 'a%5C..%5Cprivate/x', 'private%2Fx'];
  test.each(escaped)('nor are escapes: %s', (path) => {
    const subjects = (url: string) => real.subjects({ url }, { workspace: '/' });
    const rules = ownerRules('allow webfetch', 'deny webfetch:https://example.com/private/*');
    expect(decideCall(rules, { tool: 'webfetch', subjects: subjects(`https://example.com/${path}`) }).action).toBe('deny');
    expect(decideCall(rules, { tool: 'webfetch', subjects: subjects(`https://example.com/public/b/${path}%20%zz`) }).action).toBe('allow');
  });

  test('an escape does not extend what a pattern allows', () => {
    const subjects = real.subjects({ url: 'https://example.com/%70ublic/x' }, { workspace: '/' });
    expect(decideCall(ownerRules('allow webfetch:https://example.com/public/*'), { tool: 'webfetch', subjects }).action).toBe('deny');
  });
});

describe('endless bodies', () => {
  test.each([
    ['gzip', gzipSync],
    // The best quality takes half a minute.
    ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })],
    ['deflate', deflateSync],
    ['zstd', zstdCompressSync],
  ] as const)('a bomb packed with %s is cut while it is unpacked', async (encoding, pack) => {
    const bomb = pack(Buffer.alloc(100 * 1024 * 1024, 'z'));
    const { url } = await serve(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding }).end(bomb),
    );
    const before = process.memoryUsage.rss();
    const { output } = await call(createWebfetch({ allowAddress: () => true }), '/', { url });
    expect(output).toMatch(/zzz\n\[cut after 5242880 bytes, or where the response broke off\]$/);
    expect(output.length).toBeLessThan(5.3 * 1024 * 1024);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  });

  test('a body with two encodings is not decompressed', async () => {
    const { url } = await serve(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip, gzip' }).end('x'),
    );
    expect(await call(tested, '/', { url })).toMatchObject({
      isError: true,
      output: expect.stringContaining('unsupported content encoding'),
    });
  });

  test('a compression bomb is cut at 5 MiB during decompression', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      const bomb = createGzip();
      bomb.pipe(response);
      const block = Buffer.alloc(1024 * 1024, 'x');
      let blocks = 0;
      const more = () => {
        while (blocks++ < 500) if (!bomb.write(block)) return void bomb.once('drain', more);
        bomb.end();
      };
      more();
    });
    const before = process.memoryUsage.rss();
    const result = await call(createWebfetch({ allowAddress: () => true }), '/', { url });
    expect(result.output).toMatch(/xxx\n\[cut after 5242880 bytes, or where the response broke off\]$/);
    expect(result.output.length).toBeLessThan(5.3 * 1024 * 1024);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('a small response of a gigabyte of zeros is recognised as binary', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    const { url } = await serve(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(bomb),
    );
    expect(await call(tested, '/', { url })).toMatchObject({ isError: true, output: expect.stringContaining('is binary') });
  });

  test('an endless response is cut', async () => {
    const { url } = await serve((_, response) => {
      response.setHeader('content-type', 'text/plain');
      const block = Buffer.alloc(65_536, 'y');
      const more = () => {
        while (!response.destroyed && response.write(block));
      };
      response.on('drain', more);
      more();
    });
    expect((await call(tested, '/', { url })).output).toMatch(/\[cut after 5242880 bytes/);
  });

  test('a response that breaks off is shown as far as it arrived', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '1000' });
      response.write('so far');
      setTimeout(() => response.destroy(), 50);
    });
    expect((await call(tested, '/', { url })).output).toMatch(/so far\n\[cut after/);
  });
});

describe('servers that do not answer', () => {
  const impatient = createWebfetch({ allowAddress, timeoutMs: 1500 });
  const silent = async (greeting: string): Promise<string> => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      if (greeting !== '') socket.write(greeting);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };

  test.each(['', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhalf'])(
    'after %j: the time ends it',
    async (greeting) => {
      const stop = watchEventLoop();
      expect(await call(impatient, '/', { url: await silent(greeting) })).toEqual({
        output: 'no complete response within 1.5 s',
        isError: true,
      });
      expect(stop().passedMs).toBeLessThan(2500);
    },
  );

  test('an abort ends the request', async () => {
    const controller = new AbortController();
    const fetching = call(tested, '/', { url: await silent('') }, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(fetching).rejects.toThrow('enough');
  });

  test.each([`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`, 'nonsense\r\n\r\n', 'HTTP/1.1 999999 X\r\n\r\n'])(
    'an answer that is none: %#',
    async (greeting) => {
      expect(await call(tested, '/', { url: await silent(greeting) })).toMatchObject({ isError: true });
    },
  );
});
