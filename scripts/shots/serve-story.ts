// The story as a real run: `retinue serve` in a folder of its own, with a fake provider that tells the story.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../../src/client/client.ts';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { writeFiles } from '../../test/web/support/files.ts';
import { answer, brief, config } from './story.ts';
import { files } from './workspace.ts';

export const program = resolve(import.meta.dirname, '../../bin/retinue.js');

export interface Story extends AsyncDisposable {
  link: string;
  url: string;
  /** The root run. */
  runId: string;
  client: Client;
  /** The environment and the folder of a command that sees the same runs. */
  folder: string;
  env: Record<string, string>;
}

/** Resolves when the tree is in the state that the pictures show. */
export async function serveStory(): Promise<Story> {
  const home = mkdtempSync(join(tmpdir(), 'retinue-shots-'));
  const folder = join(home, 'harbor');
  mkdirSync(folder);
  writeFiles(folder, files);
  writeFiles(home, { '.config/retinue/config.json': JSON.stringify(config) });
  const provider = await startProviderServer({ answer });
  const env = {
    ...{ PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8' },
    ...{ ANTHROPIC_API_KEY: 'not-used', ANTHROPIC_BASE_URL: provider.url, RETINUE_MODEL: 'anthropic/claude-sonnet-4-5' },
  };
  const server = spawn(process.execPath, [program, 'serve', '--json'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = new AbortController();
  const dispose = async () => {
    stop.abort();
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    await provider.close();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const { url, token, link } = JSON.parse(await readLine(server)) as { url: string; token: string; link: string };
    const client = createClient({ url, token });
    // Models stream only while somebody reads.
    void readEvents(client, stop.signal);
    const { runId } = await client.start(brief);
    await waitForEnd(client, runId);
    return { link, url, runId, client, folder, env, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

const finalStates: Record<string, string> = {
  payments: 'delegate',
  'retry test': 'thinking',
  sessions: 'completed',
  migrations: 'waiting',
  'http api': 'completed',
  'error handling': 'writing',
  licences: 'failed',
};

/** Each run has reached its last step. */
async function waitForEnd(client: Client, runId: string): Promise<void> {
  for (;;) {
    const { runs } = await client.tree(runId);
    const states = Object.fromEntries(runs.map((run) => [run.name, `${run.status} ${run.activity} ${run.tools[0]?.text ?? ''}`]));
    const open = Object.entries(finalStates).filter(([name, part]) => !states[name]?.includes(part));
    // Deltas are not part of a snapshot.
    if (open.every(([name]) => name === 'error handling' && states[name]?.includes('thinking'))) return;
    const ended = runs.find((run) => run.endedAt !== null && !finalStates[run.name]?.includes(run.status));
    if (ended) throw new Error(`${ended.name} ended: ${ended.status} ${ended.activity}`);
    await sleep(250);
  }
}

async function readEvents(client: Client, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of client.events({ signal }));
  } catch {
    // The story is over.
  }
}

async function readLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) return line;
  throw new Error('the server did not start');
}
