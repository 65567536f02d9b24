// Installs pinned versions of Claude Code, Codex and opencode into a temporary folder and runs them against the fake provider of the tests.
// RETINUE_TEST_AGENTS names a folder where they are installed already.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const packages = [
  '@anthropic-ai/claude-code@2.1.325',
  '@agentclientprotocol/claude-agent-acp@0.99.1',
  '@openai/codex@0.166.0',
  '@agentclientprotocol/codex-acp@2.6.0',
  'opencode-ai@1.18.33',
];

const given = process.env.RETINUE_TEST_AGENTS;
const folder = given ?? mkdtempSync(join(tmpdir(), 'retinue-agents-'));
try {
  if (given === undefined) {
    console.log(`installing ${packages.length} packages (1.5 GB) into ${folder}`);
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder, stdio: 'inherit' });
  }
  const env = { ...process.env, RETINUE_TEST_AGENTS: folder };
  execFileSync('npx', ['vitest', 'run', 'test/externals/real-agents.test.ts', '--reporter=verbose'], { env, stdio: 'inherit' });
} catch (error) {
  process.exitCode = error.status ?? 1;
} finally {
  if (given === undefined) rmSync(folder, { recursive: true, force: true });
}
