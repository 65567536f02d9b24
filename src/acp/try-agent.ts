// Starts the agent as an editor would, opens a session and ends it: the test of `retinue acp install`.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const timeoutMs = 10_000;
const keptErrorChars = 2000;

export type TryResult = { ok: true } | { ok: false; reason: string };

export async function tryAgent({ command, args, cwd }: { command: string; args: string[]; cwd: string }): Promise<TryResult> {
  const child = spawn(command, args, { cwd, stdio: 'pipe' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  let written = '';
  child.stderr.on('data', (chunk: Buffer) => {
    written = (written + chunk.toString('utf8')).slice(-keptErrorChars);
  });
  child.stdin.on('error', () => {});
  const request = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  request(1, 'initialize', { protocolVersion: 1 });
  request(2, 'session/new', { cwd, mcpServers: [] });
  let result: TryResult = { ok: false, reason: '' };
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, error } = JSON.parse(line) as { id?: number; error?: { message: string } };
    if (error) result = { ok: false, reason: error.message };
    else if (id === 2) result = { ok: true };
    if (error || id === 2) break;
  }
  child.stdin.end();
  await ended;
  clearTimeout(timer);
  return result.ok || result.reason !== '' ? result : { ok: false, reason: written.trim() || 'it gave no answer' };
}
