// Starts the real program as a server for the official client, in a temporary folder, with a provider on loopback whose answers the test can hold
// back.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type ProviderServer, type ProviderStep, startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace, type Place } from '../cli/support-process.ts';

export const bin = resolve(import.meta.dirname, '../../bin/retinue.js');

/** Answers by a word of the task. Answers of held words wait for `release`. */
export interface Provider extends ProviderServer {
  /** Resolves when a request with the word has arrived. */
  asked(word: string): Promise<void>;
  release(word: string): void;
}

export async function startProvider(answers: Record<string, ProviderStep | ProviderStep[]>, held: string[] = []): Promise<Provider> {
  const arrived = new Map(Object.keys(answers).map((word) => [word, Promise.withResolvers<void>()]));
  const gates = new Map(held.map((word) => [word, Promise.withResolvers<void>()]));
  const server = await startProviderServer({
    async answer({ body }) {
      const text = JSON.stringify(body.messages);
      const word = Object.keys(answers).find((each) => text.includes(each));
      if (word === undefined) return { text: 'nothing was asked for' };
      arrived.get(word)?.resolve();
      await gates.get(word)?.promise;
      const steps = [answers[word] as ProviderStep | ProviderStep[]].flat();
      const done = (text.match(/tool_result/g) ?? []).length;
      return steps[Math.min(done, steps.length - 1)] as ProviderStep;
    },
  });
  return {
    ...server,
    asked: (word) => (arrived.get(word) as PromiseWithResolvers<void>).promise,
    release: (word) => gates.get(word)?.resolve(),
  };
}

export function createEnvironment(provider: ProviderServer): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: 'any',
    ANTHROPIC_BASE_URL: provider.url,
    RETINUE_MODEL: 'anthropic/claude-sonnet-4-5',
  };
}

export interface Server {
  client: Client;
  place: Place;
  pid(): number;
  stderr(): string;
  call(name: string, args: object, options?: Parameters<Client['callTool']>[2]): Promise<CallToolResult>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ServerOptions {
  args?: string[];
  env?: Record<string, string>;
  client?: Client;
  place?: Place;
}

/** Starts `retinue mcp` and connects a client to it. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const env = options.env ?? {};
  const place = options.place ?? createPlace({ runs: [{ times: 'any', steps: [{ text: 'all is fine here' }] }] }, env);
  const client = options.client ?? new Client({ name: 'tester', version: '1.2.3' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', ...(options.args ?? [])],
    cwd: place.folder,
    env: { PATH: process.env.PATH as string, HOME: place.folder, RETINUE_MODEL: 'script/script.json', ...env },
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  await client.connect(transport);
  return {
    client,
    place,
    pid: () => transport.pid as number,
    stderr: () => errors,
    call: async (name, args, more) => (await client.callTool({ name, arguments: { ...args } }, undefined, more)) as CallToolResult,
    async [Symbol.asyncDispose]() {
      await client.close();
      if (!options.place) place[Symbol.dispose]();
    },
  };
}

export function readTexts(result: CallToolResult): string[] {
  return result.content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`));
}

/** Resolves when the process has ended. */
export async function waitForExit(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((done) => setTimeout(done, 10));
  }
}

export function createTemporaryFolder(files: Record<string, string> = {}): { folder: string; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-mcp-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
