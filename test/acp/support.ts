// The real `retinue acp` in a process, with the official SDK as its client and a model provider on loopback.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import * as acp from '@agentclientprotocol/sdk';
import type { StoredFact } from '../../src/contract/fact.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import type { ProviderStep } from '../../src/testing/provider-server/types.ts';
import { type ProviderServer, type Scenario, startProviderServer } from '../../src/testing/provider-server.ts';
import { outputOf } from '../support/output.ts';

export const bin = resolve(import.meta.dirname, '../../bin/retinue.js');

export type Update = acp.SessionUpdate;
export type PermissionHandler = (
  params: acp.RequestPermissionRequest,
  signal: AbortSignal,
) => acp.RequestPermissionResponse | Promise<acp.RequestPermissionResponse>;

/** A home folder, a workspace in it, and a provider. */
export interface Setup {
  home: string;
  folder: string;
  provider: ProviderServer;
  env: Record<string, string>;
  write(path: string, text: string): string;
  /** The facts of the workspace's database, as soon as they satisfy `holds`. */
  facts(holds: (facts: StoredFact[]) => boolean): Promise<StoredFact[]>;
  /** Runs another command of the program in the workspace. */
  run(...args: string[]): Promise<{ code: number | null; out: string; err: string }>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function createSetup(answer: Scenario | ProviderStep[], files: Record<string, string> = {}): Promise<Setup> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-acp-')));
  const folder = join(home, 'work');
  mkdirSync(folder);
  const provider = await startProviderServer({ answer });
  let isRemoved = false;
  const setup: Setup = {
    ...{ home, folder, provider },
    env: {
      PATH: process.env.PATH as string,
      HOME: home,
      ANTHROPIC_API_KEY: 'any',
      ANTHROPIC_BASE_URL: provider.url,
      RETINUE_MODEL: 'anthropic/claude-sonnet-4-5',
    },
    write(path, text) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
      return join(home, path);
    },
    async facts(holds) {
      const path = join(folder, '.retinue', 'retinue.db');
      for (;;) {
        if (isRemoved) throw new Error(`the folder ${home} is removed`);
        const found = existsSync(path) ? await readFacts(path) : [];
        if (holds(found)) return found;
        await sleep(10);
      }
    },
    async run(...args) {
      const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env: setup.env, stdio: ['ignore', 'pipe', 'pipe'] });
      const said = outputOf(child);
      return new Promise((done, fail) => child.on('error', fail).on('close', (code) => done({ code, ...said })));
    },
    async [Symbol.asyncDispose]() {
      isRemoved = true;
      await provider.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
  for (const [path, text] of Object.entries(files)) setup.write(join('work', path), text);
  return setup;
}

async function readFacts(path: string): Promise<StoredFact[]> {
  const store = await openSqliteStore({ path });
  try {
    return await store.facts({});
  } finally {
    await store.close();
  }
}

export interface Editor {
  agent: acp.ClientContext;
  child: ChildProcessWithoutNullStreams;
  /** Of all sessions, in order. */
  updates: (Update & { sessionId: string })[];
  initialized: acp.InitializeResponse;
  /** Resolves with the exit code. */
  exited: Promise<number | null>;
  stderr(): string;
  newSession(params?: Partial<acp.NewSessionRequest>): Promise<acp.NewSessionResponse>;
  prompt(sessionId: string, text: string): Promise<acp.PromptResponse>;
  /** Resolves when an update satisfies `holds`, also an earlier one. */
  until(holds: (update: Update) => boolean): Promise<Update>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface EditorOptions {
  args?: string[];
  env?: Record<string, string>;
  permission?: PermissionHandler | undefined;
  capabilities?: acp.ClientCapabilities;
}

export async function startEditor(setup: Setup, options: EditorOptions = {}): Promise<Editor> {
  const { permission = () => ({ outcome: { outcome: 'cancelled' } }), capabilities = {} } = options;
  const child = spawn(process.execPath, [bin, 'acp', ...(options.args ?? [])], {
    cwd: setup.home,
    env: { ...setup.env, ...options.env },
    stdio: 'pipe',
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  child.stdin.on('error', () => {});
  const exited = new Promise<number | null>((done) => child.on('error', () => done(null)).on('close', (code) => done(code)));
  const updates: Editor['updates'] = [];
  const waiting = new Set<() => void>();
  const stream = acp.ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
  );
  const connection = acp
    .client({ name: 'tester' })
    .onRequest(acp.methods.client.session.requestPermission, ({ params, signal }) => permission(params, signal))
    .onNotification(acp.methods.client.session.update, ({ params }) => {
      updates.push({ ...params.update, sessionId: params.sessionId });
      for (const check of waiting) check();
    })
    .connect(stream);
  const { agent } = connection;
  const initialized = await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: capabilities,
  });
  return {
    ...{ agent, child, updates, initialized, exited },
    stderr: () => errors,
    newSession: (params = {}) => agent.request(acp.methods.agent.session.new, { cwd: setup.folder, mcpServers: [], ...params }),
    prompt: (sessionId, text) => agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
    until: (holds) =>
      new Promise((done) => {
        const check = () => {
          const found = updates.find(holds);
          if (!found) return;
          waiting.delete(check);
          done(found);
        };
        waiting.add(check);
        check();
      }),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

/** The text of all chunks of a kind. */
export function textOf(updates: Update[], kind: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk'): string {
  return updates
    .flatMap((update) => (update.sessionUpdate === kind && update.content.type === 'text' ? [update.content.text] : []))
    .join('');
}

/** Tool calls as an editor shows them at the end: each with its updates applied. */
export function toolCalls(updates: Update[]): acp.ToolCall[] {
  const calls = new Map<string, acp.ToolCall>();
  for (const update of updates) {
    if (update.sessionUpdate === 'tool_call') calls.set(update.toolCallId, { ...update });
    if (update.sessionUpdate === 'tool_call_update') {
      const known = calls.get(update.toolCallId);
      if (known) Object.assign(known, Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined)));
    }
  }
  return [...calls.values()];
}

export const select = (optionId: string): acp.RequestPermissionResponse => ({ outcome: { outcome: 'selected', optionId } });

/** Processes whose command line contains the marker, which no other process uses. */
export function findProcesses(marker: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && Number(name) !== process.pid && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(marker);
    } catch {
      return false;
    }
  });
}
