// The real `retinue serve` in a process, and the official client over HTTP.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Place, Running } from '../cli/support-process.ts';
import { type HttpClient, readText } from './support-http.ts';

export interface Serve extends Running {
  url: string;
  /** Null with a token file. */
  token: string | null;
  /** Sends SIGTERM and waits. */
  stop(): Promise<void>;
}

/** `command`: `serve`, or `mcp --http`. */
export async function startServe(place: Place, args: string[] = [], command: string[] = ['serve']): Promise<Serve> {
  const running = place.start(...command, '--json', ...args);
  const lines = createInterface({ input: running.process.stdout as NodeJS.ReadableStream });
  const first = await Promise.race([
    new Promise<string>((resolve) => lines.once('line', resolve)),
    running.finished.then(({ err }) => Promise.reject(new Error(err))),
  ]);
  const { url, token } = JSON.parse(first) as { url: string; token: string | null };
  return {
    ...running,
    url,
    token,
    async stop() {
      running.process.kill('SIGTERM');
      await running.finished;
    },
  };
}

/** A token by name: the text of the name, made long enough. */
export function makeToken(name: string): string {
  return name.padEnd(40, '-');
}

/** Returns the flags for it. */
export function writeTokens(place: Place, tokens: { name: string; role: 'read' | 'steer' | 'start'; value?: string }[]): string[] {
  const path = join(place.folder, 'tokens');
  writeFileSync(path, tokens.map(({ name, role, value = makeToken(name) }) => `${value} ${role} ${name}\n`).join(''));
  chmodSync(path, 0o600);
  return ['--token-file', path];
}

export async function connectHttp(
  { url }: Pick<Serve, 'url'>,
  token: string,
  options: { path?: string; client?: Client } = {},
): Promise<HttpClient> {
  const { path = '/mcp', client = new Client({ name: 'tester', version: '1' }) } = options;
  const transport = new StreamableHTTPClientTransport(new URL(`${url}${path}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport as never);
  const call: HttpClient['call'] = async (name, args, more) =>
    (await client.callTool({ name, arguments: { ...args } }, undefined, more)) as CallToolResult;
  return { client, transport, call, text: async (name, args) => readText(await call(name, args)) };
}
