// What `retinue serve` refuses before it listens. Nothing may be left that keeps the process alive; one case runs as a real process in
// serve-process.test.ts.
import { chmodSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { createMcpMount } from '../../src/main/mcp-http.ts';
import { startServer } from '../../src/main/serve.ts';
import { createCli } from '../cli/support.ts';
import { tokenOf } from './support.ts';

/** Runs `retinue serve` in this process. `timers`: those that it has left. */
async function serve(...args: string[]) {
  using cli = createCli({ files: { tokens: `${tokenOf('start')}\n`, open: `${tokenOf('start')}\n` } });
  chmodSync(join(cli.folder, 'tokens'), 0o600);
  chmodSync(join(cli.folder, 'open'), 0o644);
  const timers = new Set<() => void>();
  const repeat: Io['repeat'] = (_, run) => {
    timers.add(run);
    return () => void timers.delete(run);
  };
  const unused = async () => Promise.reject(new Error('no request was sent'));
  const setup = () => ({ model: null, models: unused, policy: unused, memories: unused });
  const deps = { version: '1.2.3', log: () => {}, root: cli.folder, cwd: cli.folder, findToolProcess: unused, setup };
  const start: Io['serve'] = async (request, api, settings) => {
    const openMounts = async () => [
      await createMcpMount(request.mcp, { ...deps, repeat, now: Date.now, open: cli.parts.open, api, settings, env: {} }),
    ];
    const server = await startServer(request, { ...deps, api, settings, openMounts, onTokens() {} });
    await server.close();
    throw new Error(`it listened on ${server.url}`);
  };
  const { code, stdout, stderr } = await cli.run(['serve', '--json', ...args], { serve: start, repeat });
  return { code, stdout, stderr, timers: timers.size };
}

const refused = (says: string) => ({ code: 2, stdout: '', stderr: expect.stringContaining(says), timers: 0 });

const network = ['--host', '0.0.0.0'];
const proxy = ['--behind-proxy', '--public-url', 'https://x.example'];

it.each<[args: string[], says: string]>([
  [network, '--token-file FILE and --tls-cert FILE --tls-key FILE'],
  [[...network, '--token-file', 'tokens'], 'needs --tls-cert FILE'],
  [[...network, ...proxy], 'needs --token-file FILE'],
  [['--behind-proxy'], '--behind-proxy needs --public-url'],
  [['--public-url', 'http://x.example'], 'must be an https address'],
  [['--public-url', 'https://x.example'], 'needs --token-file FILE'],
  [proxy, 'needs --token-file FILE'],
  [['--tls-cert', 'a.pem'], '--tls-cert and --tls-key belong together'],
  [['--tls-cert', 'a.pem', '--tls-key', 'b.pem'], '--tls-cert: a.pem does not exist'],
  [['--port', '70000'], '--port'],
  [['--token-file', 'open'], 'chmod 600'],
])('refuses %j', async (args, says) => {
  expect(await serve(...args)).toEqual(refused(says));
});

it('refuses a port that is in use', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  expect(await serve('--port', String(port))).toEqual(refused(`port ${port} of 127.0.0.1 is in use`));
  await new Promise((resolve) => other.close(resolve));
});
