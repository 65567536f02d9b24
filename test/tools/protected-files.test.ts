// Files that other programs execute or agents obey: refused, or only with approval.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { askedFiles } from '../../src/rules/asked-files.ts';
import { builtInRuleset, decideCall, parseRule } from '../../src/rules/policy.ts';
import { createBash } from '../../src/tools/bash.ts';
import { protectedFiles } from '../../src/tools/files/protected-files.ts';
import { write } from '../../src/tools/write.ts';
import { onLinux, realSandbox, rightsOf } from '../sandboxes/support.ts';
import { createWorld } from '../support/world.ts';
import { call, makeWorkspace } from './support.ts';

const protectedPaths = protectedFiles.flatMap(({ paths }) => paths);

describe('protected files', () => {
  test('every list has a reason, and no path is listed twice', () => {
    for (const { reason, paths } of protectedFiles) expect([reason.length > 10, paths.length > 0]).toEqual([true, true]);
    for (const { reason } of askedFiles) expect(reason).not.toBe('');
    const all = [...protectedPaths, ...askedFiles.map(({ path }) => path)];
    expect(all.filter((path, n) => all.indexOf(path) !== n)).toEqual([]);
  });

  test('write refuses all of them, and what is in them', async () => {
    const { workspace } = makeWorkspace();
    for (const path of [...protectedPaths, ...protectedPaths.map((each) => `${each}/x`), 'a.code-workspace', 'My.CODE-WORKSPACE'])
      expect(await call(write, workspace, { path, content: 'x' }), path).toMatchObject({
        isError: true,
        output: expect.stringContaining('protected'),
      });
    expect(readdirSync(workspace)).toEqual([]);
  });

  test('ordinary files stay writable', async () => {
    const { workspace } = makeWorkspace();
    for (const path of [
      'package.json',
      'Makefile',
      '.github/workflows/ci.yml',
      'src/.eslintrc.json',
      'tsconfig.json',
      '.gitignore',
      '.env.example',
    ])
      expect((await call(write, workspace, { path, content: 'x' })).isError, path).toBeUndefined();
  });

  test.runIf(onLinux)('a workspace file of VS Code is read-only for commands, and a new one is renamed', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'old.code-workspace'), '{}');
    const bash = createBash({ sandbox: await realSandbox() });
    const { output } = await call(
      bash,
      workspace,
      { command: 'echo x > old.code-workspace; echo x > new.code-workspace' },
      { rights: rightsOf() },
    );
    expect(readFileSync(join(workspace, 'old.code-workspace'), 'utf8')).toBe('{}');
    expect(existsSync(join(workspace, 'new.code-workspace'))).toBe(false);
    expect(output).toMatch(/new\.code-workspace\.refused-\w+ may not be created by a command/);
  });
});

describe('files whose change needs approval', () => {
  const builtIn = builtInRuleset([], [], { sandboxed: true });

  const paths = askedFiles.map(({ path }) => path.replace('**/', ''));

  test.each([
    ...paths,
    ...paths.map((path) => `packages/app/${path}`),
    '.claude/CLAUDE.md',
    '.claude/rules/x.md',
    'src/.claude/rules/sub/x.md',
  ])('%s: write and edit ask, reading does not', (path) => {
    for (const tool of ['write', 'edit']) expect(decideCall([builtIn], { tool, subjects: [path] }).action).toBe('ask');
    expect(decideCall([builtIn], { tool: 'read', subjects: [path] }).action).toBe('allow');
    const allowed = { ...builtIn, rules: [...builtIn.rules, parseRule(`allow write:${path}`)] };
    expect(decideCall([allowed], { tool: 'write', subjects: [path] }).action).toBe('allow');
  });

  test.runIf(onLinux)('commands cannot change or create them in nested folders, except in those of packages', async () => {
    const command =
      "for f in src/AGENTS.md src/new/CLAUDE.md node_modules/a/AGENTS.md; do python3 -c \"open('$f','a').write('evil')\"; done";
    await using world = await createWorld({
      script: { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command } }] }, { text: 'done' }] }] },
      tools: [createBash({ sandbox: await realSandbox() })],
      rulesets: [builtIn],
    });
    const files = { 'src/AGENTS.md': 'rules', 'src/new/a': '', 'node_modules/a/AGENTS.md': 'theirs', 'lib\uFFFD/a': '' };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(world.workspace, path)), { recursive: true });
      writeFileSync(join(world.workspace, path), text);
    }
    await (await world.runtime.start({ task: 'go' })).outcome;
    const read = (path: string) => readFileSync(join(world.workspace, path), 'utf8');
    expect([read('src/AGENTS.md'), existsSync(join(world.workspace, 'src/new/CLAUDE.md'))]).toEqual(['rules', false]);
    expect(read('node_modules/a/AGENTS.md')).toBe('theirsevil');
  });

  test.runIf(onLinux)('commands cannot change or create them', async () => {
    await using world = await createWorld({
      script: {
        runs: [
          {
            steps: [
              { calls: [{ tool: 'bash', args: { command: "python3 -c \"open('AGENTS.md','a')\"; python3 -c \"open('.npmrc','w')\"" } }] },
              { text: 'done' },
            ],
          },
        ],
      },
      files: { 'AGENTS.md': 'rules' },
      tools: [createBash({ sandbox: await realSandbox() })],
      rulesets: [builtIn],
    });
    await (await world.runtime.start({ task: 'go' })).outcome;
    const [result] = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
    expect(result?.output).toContain('Read-only file system');
    expect(result?.output).toMatch(/\.npmrc\.refused-\w+ may not be created by a command; it was renamed/);
  });
});
