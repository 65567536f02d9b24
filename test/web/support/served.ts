// `retinue serve` as a real process in a folder of its own, with the fake provider behind it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, createClient } from '../../../src/client/client.ts';
import { type ProviderServer, type Scenario, startProviderServer } from '../../../src/testing/provider-server.ts';
import { createPlace, type Place, type Running } from '../../cli/support-process.ts';
import { writeFiles } from './files.ts';

export interface ServedOptions {
  /** What the model answers. Default: every call is an error. */
  answer?: Scenario;
  /** The user's own configuration. */
  config?: object;
  /** Files of the workspace, by path. */
  files?: Record<string, string>;
  /** Lines of a token file. Default: the server makes a token. */
  tokens?: string[];
  /** More flags of `retinue serve`. */
  args?: string[];
  env?: Record<string, string>;
}

export interface Served extends AsyncDisposable {
  place: Place;
  provider: ProviderServer;
  url: string;
  /** The address that opens the dashboard. */
  link: string;
  token: string;
  /** With the token of the link. */
  client: Client;
  /** Ends the server with the signal and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again: the same port, workspace and token file. */
  restart(): Promise<void>;
}

const priced = 'anthropic/claude-sonnet-4-5';
const noAnswer: Scenario = () => ({ fault: { kind: 'status', status: 400, message: 'this test expects no model call' } });

export async function serveWorkspace(options: ServedOptions = {}): Promise<Served> {
  const provider = await startProviderServer({ answer: options.answer ?? noAnswer });
  const place = createPlace(
    {},
    { ANTHROPIC_API_KEY: 'a-key-for-tests', ANTHROPIC_BASE_URL: provider.url, RETINUE_MODEL: priced, ...options.env },
  );
  writeFiles(place.folder, { '.config/retinue/config.json': JSON.stringify(options.config ?? {}), ...options.files });
  const [given] = options.tokens?.[0]?.split(' ') ?? [];
  if (options.tokens) writeFileSync(join(place.folder, 'tokens'), `${options.tokens.join('\n')}\n`, { mode: 0o600 });
  let server: Running;

  async function start(port: string): Promise<Pick<Served, 'url' | 'token' | 'link' | 'client'>> {
    const tokens = options.tokens ? ['--token-file', 'tokens'] : [];
    server = place.start('serve', '--json', '--port', port, ...tokens, ...(options.args ?? []));
    const printed = JSON.parse(await firstLine(server)) as { url: string; token: string | null; link: string | null };
    const { url } = printed;
    const token = printed.token ?? (given as string);
    return { url, token, link: printed.link ?? `${url}/?token=${token}`, client: createClient({ url, token }) };
  }

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    server.process.kill(signal);
    await server.finished;
  };
  const served: Served = {
    ...{ place, provider, stop },
    ...(await start('0')),
    restart: async () => void Object.assign(served, await start(new URL(served.url).port)),
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL');
      place[Symbol.dispose]();
      await provider.close();
    },
  };
  return served;
}

function firstLine({ process, finished }: Running): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    process.stdout?.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    void finished.then(({ err }) => reject(new Error(`the server has ended: ${err}`)));
  });
}
