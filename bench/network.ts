// A parent with 256 children of three tool calls each, against a local provider that takes 200 ms per call, with every fact in SQLite on disk.
// It is compared with loops of plain `fetch` that make the same calls and store nothing. Overhead is the time beyond the ideal critical path.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createModels } from '../src/models/models.ts';
import { withPrices } from '../src/models/prices.ts';
import { createProviders } from '../src/models/providers.ts';
import { type StoreKind, withRuntime } from './support.ts';

const children = 256;
const callMs = 200;
// The parent's first call, four calls of each child, the parent's last call.
const idealMs = 6 * callMs;

export interface NetworkFigures {
  bareMs: number;
  /** The same loops over `node:http` instead of `fetch`. */
  httpMs: number;
  retinueMs: number;
  ratio: number;
  firstRequestMs: number;
}

export async function measureNetwork(): Promise<NetworkFigures> {
  const { url, end } = await startProvider();
  try {
    // Warm-up: the JIT compiler has seen both before they are measured.
    for (let round = 0; round < 3; round++) {
      await runBare(url, children, sendByFetch);
      await runBare(url, children, sendByHttp);
      await runDelegated(url, children);
    }
    const rows: Pick<NetworkFigures, 'bareMs' | 'httpMs' | 'retinueMs'>[] = [];
    for (let round = 0; round < 5; round++)
      rows.push({
        bareMs: (await runBare(url, children, sendByFetch)) - idealMs,
        httpMs: (await runBare(url, children, sendByHttp)) - idealMs,
        retinueMs: (await runDelegated(url, children)) - idealMs,
      });
    const median = rows.toSorted((a, b) => a.retinueMs / a.bareMs - b.retinueMs / b.bareMs)[2] as (typeof rows)[number];
    return { ...median, ratio: median.retinueMs / median.bareMs, firstRequestMs: await measureFirstRequest(url) };
  } finally {
    end();
  }
}

/** A provider in a process of its own. */
export async function startProvider(): Promise<{ url: string; end(): void }> {
  const server = spawn(process.execPath, [resolve(import.meta.dirname, 'network-server.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const url = await new Promise<string>((done) => server.stdout.once('data', (text) => done(String(text).trim())));
  return { url, end: () => void server.stdin.end() };
}

type Send = (url: string, body: string) => Promise<string>;

const headers = { 'content-type': 'application/json' };

async function sendByFetch(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers, body });
  let text = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) text += Buffer.from(chunk).toString();
  return text;
}

function sendByHttp(url: string, body: string): Promise<string> {
  return new Promise((done, fail) => {
    const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => done(text));
    });
    sent.on('error', fail);
    sent.end(body);
  });
}

async function callProvider(url: string, messages: object[], send: Send): Promise<void> {
  const text = await send(`${url}/v1/chat/completions`, JSON.stringify({ model: 'x', stream: true, messages }));
  for (const line of text.split('\n')) if (line.startsWith('data: {')) JSON.parse(line.slice(6));
}

/** The same calls with the same messages, in a hand-written loop. */
async function runBare(url: string, count: number, send: Send): Promise<number> {
  const system = { role: 'system', content: 'x'.repeat(1500) };
  const start = performance.now();
  const parent = [system, { role: 'user', content: `children: ${count}` }];
  await callProvider(url, parent, send);
  await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const messages: object[] = [system, { role: 'user', content: `child ${n}` }];
      for (let turn = 0; turn < 4; turn++) {
        await callProvider(url, messages, send);
        messages.push({ role: 'assistant', content: 'x' }, { role: 'tool', tool_call_id: 'x', content: 'a\nb\n' });
      }
    }),
  );
  await callProvider(url, [...parent, { role: 'tool', content: 'x' }], send);
  return performance.now() - start;
}

export async function runDelegated(url: string, count: number, kind: StoreKind = 'sqlite'): Promise<number> {
  const providers = createProviders({ env: { RETINUE_BASE_URL: url } });
  const models = withPrices(createModels({ providers }), {});
  return withRuntime(
    kind,
    async (runtime) => {
      const start = performance.now();
      const run = await runtime.start({
        task: `children: ${count}`,
        limits: { maxConcurrent: count, maxRuns: count + 1, maxTokens: 1_000_000_000 },
      });
      const outcome = await run.outcome;
      if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome.error));
      return performance.now() - start;
    },
    { models, model: 'openai-compatible/x', slots: count + 1 },
  );
}

/** From the start of the program until it sends its first request; the answer's 200 ms are not included. */
async function measureFirstRequest(url: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const env = { PATH: process.env.PATH, HOME: folder, RETINUE_BASE_URL: url };
  const times: number[] = [];
  // The first round runs to its end and is not counted: Node writes its compile cache when a process exits.
  for (let round = 0; round <= 5; round++) {
    const start = performance.now();
    const child = spawn(
      process.execPath,
      [resolve(import.meta.dirname, '../bin/retinue.js'), 'run', '--stream-json', '--model', 'openai-compatible/x', 'hi'],
      { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] },
    );
    await new Promise<void>((done) => {
      let text = '';
      child.stdout.on('data', (more) => {
        text += more;
        if (text.includes('"model.asked"')) done();
      });
      child.on('close', () => done());
    });
    const ms = performance.now() - start;
    if (round === 0 && child.exitCode === null) await once(child, 'close');
    child.kill('SIGKILL');
    if (round > 0) times.push(ms);
  }
  rmSync(folder, { recursive: true, force: true });
  return times.toSorted((a, b) => a - b)[2] as number;
}
