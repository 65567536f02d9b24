// A program that starts a run on a server and watches it. The server is a real `retinue serve` with a scripted model, in a temporary folder.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'retinue-example-'));
const steps = [{ calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'I have looked around.' }];
writeFileSync(join(folder, 'script.json'), JSON.stringify({ runs: [{ steps }] }));
const program = fileURLToPath(new URL('bin/retinue.js', import.meta.resolve('retinue/package.json')));
const server = spawn(process.execPath, [program, 'serve', '--json', '-C', folder, '--model', 'script/script.json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [firstLine] = (await new Promise<string>((resolve) => server.stdout.setEncoding('utf8').once('data', resolve))).split('\n');
const { url, token } = JSON.parse(firstLine as string) as { url: string; token: string };

// docs ↓
import { createClient } from 'retinue/client';

const client = createClient({ url, token });
const { runId } = await client.start({ task: 'What is in this folder?', agent: 'explore' });
for await (const event of client.events({ tree: runId })) {
  if (event.type === 'tool.asked') console.log(`uses ${event.data.tool}`);
  if (event.type === 'run.ended' && event.runId === runId) break;
}
const outcome = await client.outcome(runId);
console.log(`${outcome?.status}: ${outcome?.summary}`);
// docs ↑

server.kill();
await new Promise((resolve) => server.once('close', resolve));
rmSync(folder, { recursive: true, force: true });
