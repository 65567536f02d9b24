// `retinue acp`: from the start of the process to a session and to the first text, its memory, and how fast cancelling is answered.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProviderServer } from '../src/testing/provider-server.ts';

export interface AcpFigures {
  /** Milliseconds from the start to the answer of `session/new`. */
  sessionMs: number;
  /** From the first prompt of a session to its first text. */
  firstTextMs: number;
  /** Proportional memory after a prompt, of the process and its children. */
  mb: number;
  /** From `session/cancel` to the answer of the prompt: while the model is silent, and while a command ignores signals. */
  cancelMs: { model: number; command: number };
}

const bin = resolve(import.meta.dirname, '../bin/retinue.js');

export async function measureAcp(): Promise<AcpFigures> {
  const home = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const folder = join(home, 'work');
  mkdirSync(folder);
  const stubborn = { calls: [{ tool: 'bash', args: { command: "trap '' TERM INT HUP; touch begun; sleep 60; sleep 60" } }] };
  const provider = await startProviderServer({
    answer({ body }) {
      const text = JSON.stringify(body.messages);
      if (text.includes('command')) return stubborn;
      return text.includes('silence') ? { fault: { kind: 'no-first-byte' } } : { text: 'Hello.' };
    },
  });
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    ANTHROPIC_API_KEY: 'any',
    ANTHROPIC_BASE_URL: provider.url,
    RETINUE_MODEL: 'anthropic/claude-sonnet-4-5',
  };
  const start = performance.now();
  const child = spawn(process.execPath, [bin, 'acp', '--allow', 'bash'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (result: { sessionId: string }) => void>();
  let onText = () => {};
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.error) throw new Error(message.error.message);
    if (message.params?.update.sessionUpdate === 'agent_message_chunk') onText();
    waiting.get(message.id)?.(message.result);
  });
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let id = 0;
  const request = (method: string, params: object) => {
    const answered = Promise.withResolvers<{ sessionId: string }>();
    waiting.set(++id, answered.resolve);
    write({ id, method, params });
    return answered.promise;
  };
  try {
    await request('initialize', { protocolVersion: 1 });
    const { sessionId } = await request('session/new', { cwd: folder, mcpServers: [] });
    const sessionMs = performance.now() - start;
    const prompt = (text: string) => request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    const prompted = performance.now();
    const firstText = Promise.withResolvers<number>();
    onText = () => firstText.resolve(performance.now() - prompted);
    await prompt('hello');
    const mb = readMemory(child.pid as number);
    const measureCancel = async (task: string, isReady: () => boolean) => {
      const answered = prompt(task);
      while (!isReady()) await sleep(5);
      const begun = performance.now();
      write({ method: 'session/cancel', params: { sessionId } });
      await answered;
      return performance.now() - begun;
    };
    const asked = () => provider.requests.length >= 2;
    const model = await measureCancel('silence', asked);
    const hasBegun = () => {
      try {
        return readFileSync(join(folder, 'begun')) !== null;
      } catch {
        return false;
      }
    };
    const command = await measureCancel('command', hasBegun);
    return { sessionMs, firstTextMs: await firstText.promise, mb, cancelMs: { model, command } };
  } finally {
    child.stdin.end();
    await new Promise((done) => child.once('close', done));
    await provider.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Proportional set size of a process and its children, in megabytes. */
function readMemory(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const own = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  const below = children === '' ? [] : children.split(' ').map((child) => readMemory(Number(child)));
  return Number(own?.[1] ?? 0) / 1024 + below.reduce((sum, each) => sum + each, 0);
}
