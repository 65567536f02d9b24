// What a run is told about where it is: the workspace, git, what it can do, and the rules of the folders it works in.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { anyAgent } from '../support/adversary.ts';
import { createWorld, type World } from '../support/world.ts';

const systemOf = async (world: World) => {
  const started = world.facts.find((fact) => fact.type === 'run.started') as FactOf<'run.started'>;
  return String(await world.store.blob(started.data.system as string));
};

function git(folder: string, ...args: string[]) {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, stdio: 'pipe' });
}

async function systemIn(prepare: (workspace: string) => void, agent = 'general'): Promise<string> {
  await using world = await createWorld();
  prepare(world.workspace);
  await (await world.runtime.start({ task: 'x', agent })).outcome;
  return systemOf(world);
}

describe('the system prompt', () => {
  it('names workspace, platform and day', async () => {
    const clock = createHandClock({ now: Date.UTC(2026, 10, 16, 8) });
    await using world = await createWorld({ clock });
    await (await world.runtime.start({ task: 'x' })).outcome;
    const system = await systemOf(world);
    expect(system).toContain(`Environment:\n- Workspace: ${world.workspace}\n- Platform: linux\n- Date: 2026-11-16\n`);
    expect(system).toContain('- Git: not a repository');
  });

  it('says which branch is checked out', async () => {
    expect(await systemIn((workspace) => git(workspace, 'init', '-q', '-b', 'feature/x'))).toContain('- Git: branch feature/x\n');
  });

  it('says what the run can do', async () => {
    expect(await systemIn(() => {}, 'explore')).toMatch(
      /- Shell commands: no\n- Writing files: no\n- Network: no\n- Tool calls in one answer: at most 64/,
    );
    expect(await systemIn(() => {}, 'general')).toContain('- Writing files: yes');
  });

  it('is pinned: replay is exact although the branch has changed since', async () => {
    await using world = await createWorld(); // compares every run with its replay at the end
    await (await world.runtime.start({ task: 'x' })).outcome;
    git(world.workspace, 'init', '-q', '-b', 'later');
    expect(await systemOf(world)).toContain('- Git: not a repository');
  });
});

describe('the rules of a nested folder', () => {
  const read = (path: string) => ({ tool: 'read', args: { path } });

  async function results(calls: object[][], options: { agent?: string; rules?: string[] } = {}) {
    await using world = await createWorld({
      agents: [anyAgent, { ...anyAgent, name: 'plain', workspaceRules: false }],
      script: { runs: [{ when: { agent: options.agent ?? 'any' }, steps: [...calls.map((each) => ({ calls: each })), { text: 'done' }] }] },
    });
    mkdirSync(join(world.workspace, 'web/src'), { recursive: true });
    for (const [path, text] of [
      ['web/AGENTS.md', 'Use tabs in web.'],
      ['web/src/CLAUDE.md', 'No default exports.'],
      ['web/src/a.ts', 'a'],
      ['web/src/b.ts', 'b'],
      ['top.txt', 'top'],
    ] as const)
      writeFileSync(join(world.workspace, path), text);
    await (await world.runtime.start({ task: 'x', agent: options.agent ?? 'any', rules: options.rules ?? [] })).outcome;
    return (world.facts.filter((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>[]).map(({ data }) => data);
  }

  it('come with the first call that touches a file in it, once', async () => {
    const [top, first, second] = await results([[read('top.txt')], [read('web/src/a.ts')], [read('web/src/b.ts')]]);
    expect(top?.output).not.toContain('Rules');
    expect(first?.output).toContain('[Rules for files in web (from its AGENTS.md):]\nUse tabs in web.');
    expect(first?.output).toContain('[Rules for files in web/src (from its CLAUDE.md):]\nNo default exports.');
    expect(first?.memo).toMatchObject({ 'rules:web': 'AGENTS.md', 'rules:web/src': 'CLAUDE.md' });
    expect(second?.output).not.toContain('Rules');
  });

  it('come once for several calls of one answer', async () => {
    const outputs = (await results([[read('web/src/a.ts'), read('web/src/b.ts')]])).map(({ output }) => output).join('\n');
    expect(outputs.split('Use tabs in web.').length).toBe(2);
  });

  it('stay out for an agent that wants none', async () => {
    const [first] = await results([[read('web/src/a.ts')]], { agent: 'plain' });
    expect(first?.output).not.toContain('Rules');
  });
});

it('the number of tool calls in one answer is a limit', async () => {
  const calls = Array.from({ length: 5 }, (_, n) => ({ tool: 'list', args: { path: `p${n}` } }));
  await using world = await createWorld({ limits: { maxToolCalls: 3 }, script: { runs: [{ steps: [{ calls }, { text: 'done' }] }] } });
  await (await world.runtime.start({ task: 'x' })).outcome;
  const answered = world.facts.find((fact) => fact.type === 'model.answered') as FactOf<'model.answered'>;
  expect(answered.data).toMatchObject({ dropped: 2 });
  expect(await systemOf(world)).toContain('- Tool calls in one answer: at most 3');
});
