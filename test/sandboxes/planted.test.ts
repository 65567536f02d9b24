// What commands make under protected names that did not exist: renamed whatever they do to keep it, by one command or by several.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeWorkspace } from '../tools/support.ts';
import { createPlainUser, isRoot, makePlainWorkspace, type PlainUser } from './plain-user.ts';
import { onLinux, shell } from './support.ts';

let user: PlainUser;
beforeAll(async () => {
  user = await createPlainUser();
});
afterAll(() => user[Symbol.dispose]());

async function until(path: string): Promise<void> {
  while (!existsSync(path)) await sleep(10);
}
const awaits = (file: string) => `until [ -e ${file} ]; do sleep 0.02; done`;

describe.runIf(onLinux)('rights that a command takes away', () => {
  test.each(['0311', '0111', '0000'])('a folder of mode %s: what was made in it is renamed', async (mode) => {
    const workspace = makePlainWorkspace();
    const output = await user.run(workspace, `mkdir -p .claude; echo '{"hooks":1}' > .claude/settings.json; chmod ${mode} .claude`);
    expect(output).toContain('may not be created by a command; it was renamed');
    chmodSync(join(workspace, '.claude'), 0o755);
    expect(readdirSync(join(workspace, '.claude'))).toEqual([expect.stringMatching(/^settings\.json\.refused-/)]);
  });

  test.each(['0311', '0000'])('the workspace itself with mode %s', async (mode) => {
    const workspace = makePlainWorkspace();
    const plant = 'echo "{}" > .mcp.json; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit';
    expect(await user.run(workspace, `${plant}; chmod ${mode} .`)).toMatch(/renamed[\s\S]*renamed/);
    await user.run(workspace, 'chmod 755 .');
    expect(statSync(workspace).mode & 0o700).toBe(0o700);
    expect(readdirSync(workspace).sort()).toEqual([
      expect.stringMatching(/^\.git\.refused-/),
      expect.stringMatching(/^\.mcp\.json\.refused-/),
    ]);
  });

  test('what cannot be read beforehand: nothing is started', async () => {
    const workspace = makePlainWorkspace();
    mkdirSync(join(workspace, '.claude'));
    // Of another user where the test is root, so that nobody can give the rights back.
    chmodSync(join(workspace, '.claude'), 0o000);
    expect(await user.run(workspace, 'touch ran')).toMatch(/cannot be read.*\n\[an error\]/);
    chmodSync(join(workspace, '.claude'), 0o700);
    expect(existsSync(join(workspace, 'ran'))).toBe(false);
  });

  test.runIf(isRoot)('what cannot be renamed makes the call an error', async () => {
    const workspace = makePlainWorkspace();
    const running = user.start(workspace, `touch ready; ${awaits('go')}`);
    const output = text(running.stdout as NodeJS.ReadableStream);
    await until(join(workspace, 'ready'));
    mkdirSync(join(workspace, '.claude'));
    writeFileSync(join(workspace, '.claude', 'settings.json'), '');
    writeFileSync(join(workspace, 'go'), '');
    expect(await output).toMatch(/\.claude\/settings\.json may not be created by a command and could not be renamed.*\n\[an error\]/);
  });
});

describe.runIf(onLinux)('links', () => {
  test('one that led nowhere is renamed when a command has made what it leads to', async () => {
    const { workspace } = makeWorkspace();
    symlinkSync('later.json', join(workspace, '.mcp.json'));
    expect((await shell(workspace, 'echo bad > later.json')).output).toContain('renamed');
    expect(existsSync(join(workspace, '.mcp.json'))).toBe(false);
  });

  test('one that leads elsewhere by a link on its way', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'real.json'), 'mine');
    symlinkSync('real.json', join(workspace, 'between'));
    symlinkSync('between', join(workspace, '.mcp.json'));
    expect((await shell(workspace, 'rm between; echo bad > between')).output).toContain('renamed');
    expect(existsSync(join(workspace, '.mcp.json'))).toBe(false);
  });

  test('a folder that is a link into the workspace: what is made in it is renamed there', async () => {
    const { workspace } = makeWorkspace();
    mkdirSync(join(workspace, 'shared'));
    symlinkSync('shared', join(workspace, '.claude'));
    expect((await shell(workspace, 'echo bad > shared/settings.json')).output).toContain('renamed');
    expect(readdirSync(join(workspace, 'shared'))).toEqual([expect.stringMatching(/^settings\.json\.refused-/)]);
  });
});

describe.runIf(onLinux)('several commands at once', () => {
  test('what one makes and takes away, and another puts back, is renamed', async () => {
    const { workspace } = makeWorkspace();
    const plant = 'echo evil > .mcp.json; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit';
    const first = shell(workspace, `${plant}; touch made; ${awaits('begun')}; mv .mcp.json t; mv .git g`);
    await until(join(workspace, 'made'));
    const second = shell(workspace, `touch begun; ${awaits('over')}; cp t .mcp.json; cp -r g .git`);
    await first;
    writeFileSync(join(workspace, 'over'), '');
    expect((await second).output.match(/may not be created by a command; it was renamed/g)).toHaveLength(2);
    expect(readdirSync(workspace).filter((name) => ['.mcp.json', '.git'].includes(name))).toEqual([]);
  });

  test('what the user takes away meanwhile is not made anew by the next', async () => {
    const { workspace } = makeWorkspace();
    mkdirSync(join(workspace, '.husky'));
    const first = shell(workspace, `touch begun; ${awaits('over')}`);
    await until(join(workspace, 'begun'));
    rmdirSync(join(workspace, '.husky'));
    expect((await shell(workspace, 'mkdir .husky')).output).toContain('renamed');
    writeFileSync(join(workspace, 'over'), '');
    await first;
    expect(existsSync(join(workspace, '.husky'))).toBe(false);
  });

  test('afterwards nothing is remembered: what the user has made in between is his', async () => {
    const { workspace } = makeWorkspace();
    await shell(workspace, 'true');
    writeFileSync(join(workspace, '.mcp.json'), 'mine');
    expect((await shell(workspace, 'true')).output).toBe('[no output]');
    expect(existsSync(join(workspace, '.mcp.json'))).toBe(true);
  });
});

describe.runIf(onLinux)('repositories', () => {
  test('one that a file .git points to is read-only, and written where git is granted', async () => {
    const { workspace } = makeWorkspace();
    execFileSync('git', ['init', '-q', '--separate-git-dir=.bare', '.'], { cwd: workspace });
    const attack = 'echo x > .bare/hooks/pre-commit; git config core.fsmonitor ./x; mv .bare b; rm -rf .bare; git status --short; true';
    expect((await shell(workspace, `touch f; ${attack}`)).output).toMatch(/^\?\? f$/m);
    expect(existsSync(join(workspace, '.bare', 'hooks', 'pre-commit'))).toBe(false);
    expect(readFileSync(join(workspace, '.bare', 'config'), 'utf8')).not.toContain('fsmonitor');
    const commit = 'git add f && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | wc -l';
    expect((await shell(workspace, commit, { may: ['git'] })).output).toBe('1');
  });

  test('the folder of core.hooksPath is neither written nor made, with git granted or not', async () => {
    const { workspace } = makeWorkspace();
    execFileSync('git', ['init', '-q', '.'], { cwd: workspace });
    execFileSync('git', ['config', 'core.hooksPath', 'tools/hooks'], { cwd: workspace });
    for (const may of [[], ['git']]) {
      expect((await shell(workspace, 'mkdir -p tools/hooks && echo x > tools/hooks/pre-commit', { may })).output).toContain('renamed');
      expect(existsSync(join(workspace, 'tools', 'hooks'))).toBe(false);
    }
    mkdirSync(join(workspace, 'tools', 'hooks'));
    await shell(workspace, 'echo x > tools/hooks/pre-commit; mv tools t; mv tools/hooks h', { may: ['git'] });
    expect(readdirSync(join(workspace, 'tools', 'hooks'))).toEqual([]);
  });

  test('the workspace does not become one by its top folder', async () => {
    const { workspace } = makeWorkspace();
    const make = 'git init -q --bare x.git; mv x.git/* .; git --git-dir=. config core.fsmonitor "touch pwned; true"';
    expect((await shell(workspace, make)).output).toContain('HEAD.refused-');
    expect(() => execFileSync('git', ['-C', workspace, 'rev-parse', '--git-dir'], { stdio: 'pipe' })).toThrow(/not a git repository/);
  });
});
