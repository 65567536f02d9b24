// Settings of a workspace that a known agent would use. The agent is the fake one under the agent's name; `real-agents.test.ts` has the real ones.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExternalProgram } from '../../src/contract/agent.ts';
import { parseRule } from '../../src/rules/policy.ts';
import { createExternalWorld } from './support.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retinue-programs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Puts the fake agent under the names of the program and its adapter. */
function installFake(names: string[], script: object): void {
  for (const name of ['fake-agent.mjs', 'fake-wires.mjs']) copyFileSync(join(import.meta.dirname, name), join(folder, name));
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  const source = `#!/bin/sh
if [ "$1" = --version ]; then echo 9.9.9; exit; fi
exec ${process.execPath} ${folder}/fake-agent.mjs "$(cat ${folder}/script.json)"
`;
  for (const name of names) writeFileSync(join(folder, name), source, { mode: 0o755 });
}

async function runFake(program: ExternalProgram, files: string[], isConfined: boolean) {
  const model = program === 'codex' ? 'openai/gpt-test' : 'anthropic/claude-test';
  await using world = await createExternalWorld({
    script: {},
    answer: [],
    agent: { runs: { program } },
    isConfined,
    settings: { model },
    rulesets: [{ kind: 'owner', owner: 'test', rules: [parseRule('allow *')] }],
    externals: { env: { ...process.env, PATH: `${folder}:${process.env.PATH}` } },
  });
  for (const path of files) {
    mkdirSync(dirname(join(world.workspace, path)), { recursive: true });
    writeFileSync(join(world.workspace, path), path === 'other.txt' ? 'a plain file' : 'evil settings');
  }
  const texts: string[] = [];
  world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
  const run = await world.runtime.start({ task: 'go', agent: 'fake' });
  const outcome = await run.outcome;
  return { outcome, said: texts.join('') };
}

describe('settings in a workspace', () => {
  const report = 'cat .codex/config.toml opencode.json .opencode/plugin/evil.js; cat other.txt';
  const script = { turns: [[{ env: true }, { report }]] };

  it.each([
    ['codex' as const, '.codex/config.toml'],
    ['opencode' as const, 'opencode.json'],
    ['opencode' as const, '.opencode/plugin/evil.js'],
  ])('are hidden from %s by the sandbox: %s', async (program, file) => {
    installFake([program, 'codex-acp'], script);
    const { said } = await runFake(program, [file, 'other.txt'], true);
    expect(said).toContain('a plain file');
    expect(said).not.toContain('evil settings');
    if (program === 'opencode') expect(said).toContain('OPENCODE_DISABLE_PROJECT_CONFIG');
  });

  it.each([
    ['codex' as const, '.codex/config.toml', '.codex'],
    ['opencode' as const, 'opencode.jsonc', 'opencode.jsonc'],
    ['opencode' as const, '.opencode/tool/evil.js', '.opencode'],
  ])('prevent %s from being started without a sandbox: %s', async (program, file, name) => {
    installFake([program, 'codex-acp'], script);
    const { outcome, said } = await runFake(program, [file], false);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'agent_program' } });
    expect(outcome.error?.message).toContain(`it would use the settings in ${name} of the workspace`);
    expect(said).toBe('');
  });
});
