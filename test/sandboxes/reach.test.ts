// What a command in a sandbox can reach: real bubblewrap, real files, a real listener outside.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeWorkspace } from '../tools/support.ts';
import { onLinux, realSandbox, shell } from './support.ts';

/** A home folder with a key in it, and a workspace in that. */
function makeHome() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-home-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const folder of ['.ssh', '.config/retinue', 'work', 'other']) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, '.ssh', 'id_rsa'), 'canary-key');
  writeFileSync(join(home, '.netrc'), 'canary-netrc');
  writeFileSync(join(home, 'other', 'f'), 'canary-other');
  return { home, workspace: join(home, 'work'), env: { PATH: process.env.PATH ?? '', HOME: home } };
}

async function listener(): Promise<number> {
  const server = createServer((socket) => socket.end('reached\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

describe.runIf(onLinux)('the network', () => {
  test('is closed: neither a listener outside nor a name is reached', async () => {
    const port = await listener();
    const { workspace } = makeWorkspace();
    const { output } = await shell(
      workspace,
      `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; getent hosts example.com || echo no name; ls /sys/class/net 2>&1`,
    );
    expect(output).toContain('Connection refused');
    expect(output).toContain('no name');
    expect(output).not.toContain('reached');
  });

  test('is open where it is granted', async () => {
    const port = await listener();
    const { workspace } = makeWorkspace();
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; test -e /etc/resolv.conf && echo resolver`;
    expect((await shell(workspace, command, { may: ['network'] })).output).toBe(
      existsSync('/etc/resolv.conf') ? 'reached\nresolver' : 'reached\n[exit code 1]',
    );
  });

  test('a socket of a program outside cannot be opened by its path', async () => {
    const { workspace, outside } = makeWorkspace();
    const server = createServer().listen(join(outside, 'socket'));
    onTestFinished(() => void server.close());
    expect((await shell(workspace, `ls ${outside}; ls /run /var/run 2>&1`)).output).toMatch(/No such file/);
  });
});

describe.runIf(onLinux)('files', () => {
  test('the workspace is written, nothing else', async () => {
    const { workspace, outside } = makeWorkspace();
    writeFileSync(join(outside, 'f'), 'old');
    const places = ['/usr/x', '/etc/x', '/x', '/opt/x', `${outside}/x`, `${outside}/f`];
    const { output } = await shell(
      workspace,
      `echo new > f; for p in ${places.join(' ')}; do (echo bad > $p) 2>/dev/null && echo "wrote $p"; done; true`,
    );
    expect(output).toBe('[no output]');
    expect(readFileSync(join(workspace, 'f'), 'utf8')).toBe('new\n');
    expect([readdirSync(outside), readFileSync(join(outside, 'f'), 'utf8')]).toEqual([['f'], 'old']);
  });

  test('/tmp and the home folder are its own, and gone afterwards', async () => {
    const { workspace, env, home } = makeHome();
    const sandbox = await realSandbox({ env });
    const { output } = await shell(workspace, 'echo x > /tmp/mine && echo y > ~/mine && echo "$HOME $TMPDIR"', {}, { sandbox, env });
    expect(output).toBe(`${home} /tmp`);
    expect([existsSync('/tmp/mine'), existsSync(join(home, 'mine'))]).toEqual([false, false]);
    expect((await shell(workspace, 'cat /tmp/mine ~/mine', {}, { sandbox, env })).output).toMatch(/No such file[\s\S]*No such file/);
  });

  test('/tmp cannot be filled without end', async () => {
    const { workspace } = makeWorkspace();
    expect((await shell(workspace, 'head -c 2G /dev/zero > /tmp/big; ls -s /tmp/big | cut -d" " -f1')).output).toMatch(
      /No space left[\s\S]*10485\d\d$/,
    );
  });

  test('keys of the home folder, and other folders in it, are not there', async () => {
    const { workspace, env, home } = makeHome();
    const sandbox = await realSandbox({ env });
    const command = `cat ~/.ssh/id_rsa ${home}/.netrc ../other/f ${home}/other/f; ls -a ~ /home /root /srv /mnt`;
    const { output } = await shell(workspace, command, {}, { sandbox, env });
    expect(output).not.toContain('canary-');
    expect(output).toContain('No such file');
  });

  test('what PATH names in the home folder is there without what lies beside it', async () => {
    const { workspace, env, home } = makeHome();
    for (const folder of ['.docker/bin', '.fly/bin', 'other/bin']) mkdirSync(join(home, folder), { recursive: true });
    for (const file of ['.docker/config.json', '.fly/config.yml', 'other/.env']) writeFileSync(join(home, file), 'canary-token');
    writeFileSync(join(home, '.fly', 'bin', 'fly'), '#!/bin/sh\necho flies\n', { mode: 0o755 });
    const path = ['.docker/bin', '.fly/bin', 'other/bin'].map((folder) => join(home, folder)).join(':');
    const own = { ...env, PATH: `${env.PATH}:${path}` };
    const sandbox = await realSandbox({ env: own });
    const { output } = await shell(workspace, 'fly; cat ~/.docker/config.json ~/.fly/config.yml ~/other/.env', {}, { sandbox, env: own });
    expect(output).toMatch(/^flies$/m);
    expect(output).not.toContain('canary-');
  });

  test('a workspace that is the home folder: what begins with a dot is hidden', async () => {
    const { home, env } = makeHome();
    const sandbox = await realSandbox({ env });
    const { output } = await shell(home, 'cat .ssh/id_rsa .netrc; cat other/f; echo; echo "$HOME"; echo x > new', {}, { sandbox, env });
    expect(output).not.toMatch(/canary-(key|netrc)/);
    expect(output).toContain('canary-other');
    expect(output).toMatch(/^\/tmp$/m);
    expect(existsSync(join(home, 'new'))).toBe(true);
  });

  test('the same with protected files that begin with a dot', async () => {
    const { home, env } = makeHome();
    for (const folder of ['.git', '.vscode', '.config/mise']) mkdirSync(join(home, folder), { recursive: true });
    for (const file of ['.gitconfig', '.mcp.json', '.config/mise.toml']) writeFileSync(join(home, file), 'canary-dot');
    const sandbox = await realSandbox({ env });
    const command = 'cat .gitconfig .mcp.json .config/mise.toml; for f in .gitconfig .mcp.json; do echo bad > $f; done; echo ran; true';
    const { output } = await shell(home, command, {}, { sandbox, env });
    expect(output).toMatch(/^ran$/m);
    expect(output).not.toContain('canary-dot');
    expect(readFileSync(join(home, '.mcp.json'), 'utf8')).toBe('canary-dot');
  });

  test.each(['/', '/usr', '/tmp'])('%s is no workspace for a sandbox', async (place) => {
    expect(await shell(place, 'echo x')).toMatchObject({
      isError: true,
      output: expect.stringContaining('a sandbox could hide nothing'),
    });
  });

  test('nor is a folder that holds the home folder', async () => {
    const { home, env } = makeHome();
    const inner = { ...env, HOME: join(home, 'other') };
    expect(await shell(home, 'echo x', {}, { sandbox: await realSandbox({ env: inner }), env: inner })).toMatchObject({ isError: true });
  });

  test('what other users may not read is hidden, also from root', async () => {
    const { workspace } = makeWorkspace();
    const { output } = await shell(
      workspace,
      'cat /etc/shadow /etc/gshadow; find /etc -type f ! -perm -o+r -size +0 2>/dev/null; ls /root/.ssh',
    );
    expect(output).not.toMatch(/root:[*$!]/);
    expect(output).not.toMatch(/^\/etc\//m);
  });

  test('neither the environment nor the files of the supervisor through /proc', async () => {
    const { workspace, outside } = makeWorkspace();
    writeFileSync(join(outside, 'f'), 'canary-file');
    process.env.RETINUE_TEST_CANARY = 'canary-env';
    onTestFinished(() => void delete process.env.RETINUE_TEST_CANARY);
    const look = `cat /proc/${process.pid}/environ /proc/[0-9]*/environ /proc/[0-9]*/{root${outside},cwd/../outside}/f | tr '\\0' '\\n'`;
    const roots = '[ "$(ls /proc/1/root/)" = "$(ls /)" ] && echo same root';
    const { output } = await shell(workspace, `${look}; ${roots}; echo "count $(ls -d /proc/[0-9]* | wc -l)"`);
    expect(output).toContain('RETINUE_CALL=');
    expect(output).not.toContain('canary');
    expect(output).toMatch(/^same root$/m);
    expect(Number(/^count (\d+)$/m.exec(output)?.[1])).toBeLessThan(8);
  });

  test('parameters of the kernel cannot be set, not even by root', async () => {
    const { workspace } = makeWorkspace();
    const files = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/domainname', '/proc/sysrq-trigger', '/proc/self/oom_score_adj'];
    const { output } = await shell(
      workspace,
      `for f in ${files.join(' ')}; do [ -w $f ] && echo "$f"; done; echo x > /proc/sys/kernel/domainname; grep -c ' /proc proc ro,' /proc/self/mounts`,
    );
    expect(output).toMatch(/^.*Read-only file system\n1$/);
  });

  test('descriptors that the supervisor got from elsewhere are not open there', async () => {
    const { workspace, outside } = makeWorkspace();
    writeFileSync(join(outside, 'f'), 'canary');
    const once = [process.execPath, join(import.meta.dirname, 'once.ts'), workspace];
    const look = 'for f in /proc/[0-9]*/fd/*; do readlink $f; cat $f/f; done 2>/dev/null';
    const plain = ['bash', ['-c', `exec 200<${outside}; exec "$@"`, 'bash', ...once, 'off', look]] as const;
    expect(execFileSync(...plain, { encoding: 'utf8' })).toContain('canary');
    const boxed = ['bash', ['-c', `exec 200<${outside}; exec "$@"`, 'bash', ...once, 'on', `echo ok; ${look}`]] as const;
    expect(execFileSync(...boxed, { encoding: 'utf8' })).toMatch(/^ok\n(?![\s\S]*canary)/);
  });

  test('it has no capabilities, cannot mount, and cannot make namespaces of its own', async () => {
    const { workspace } = makeWorkspace();
    const { output } = await shell(
      workspace,
      'grep -h "Cap\\(Eff\\|Prm\\|Bnd\\|Amb\\)\\|NoNewPrivs" /proc/self/status; mount -t tmpfs x /tmp 2>&1; unshare -Ur true 2>&1',
    );
    expect(output.match(/0000000000000000/g)).toHaveLength(4);
    expect(output).toMatch(/NoNewPrivs:\s1/);
    expect(output).toMatch(/mount: .*(permission denied|must be superuser)[\s\S]*unshare: .*failed/);
  });
});

describe.runIf(onLinux)('what is closed in the workspace', () => {
  test('.retinue and the database are not seen, and nothing is made on the disk', async () => {
    const { workspace } = makeWorkspace();
    const sandbox = await realSandbox({ secret: [join(workspace, 'own.db'), join(workspace, 'own.db-wal')] });
    await shell(workspace, 'ls -a', {}, { sandbox });
    expect(readdirSync(workspace)).toEqual([]);
    mkdirSync(join(workspace, '.retinue'));
    writeFileSync(join(workspace, '.retinue', 'retinue.db'), 'canary');
    writeFileSync(join(workspace, 'own.db'), 'canary');
    const { output } = await shell(
      workspace,
      'ls -A .retinue; cat .retinue/retinue.db own.db; echo x > .retinue/f; echo x > own.db; rm -rf .retinue; mv .retinue r',
      {},
      { sandbox },
    );
    expect(output).not.toContain('canary');
    expect(readdirSync(join(workspace, '.retinue'))).toEqual(['retinue.db']);
    expect(readFileSync(join(workspace, 'own.db'), 'utf8')).toBe('canary');
    expect(existsSync(join(workspace, 'own.db-wal'))).toBe(false);
  });

  test('.git is read, and written only where git is granted', async () => {
    const { workspace } = makeWorkspace();
    execFileSync('git', ['init', '-q', workspace]);
    const attack =
      'git status --short; echo x > .git/hooks/post-commit; echo x > .git/new; mv .git g; rm -rf .git; git config core.pager x; true';
    const { output } = await shell(workspace, `touch f; ${attack}`);
    expect(output).toMatch(/^\?\? f$/m);
    expect(existsSync(join(workspace, '.git', 'hooks', 'post-commit'))).toBe(false);
    expect(readFileSync(join(workspace, '.git', 'config'), 'utf8')).not.toContain('pager');
    const commit = 'git add f && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | wc -l';
    expect((await shell(workspace, commit, { may: ['git'] })).output).toBe('1');
  });

  test('a checkout of `git worktree` sees its repository; a file that points elsewhere opens nothing', async () => {
    const { workspace, outside } = makeWorkspace();
    const git = (...args: string[]) => execFileSync('git', ['-C', outside, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
    git('init', '-q');
    git('commit', '-q', '--allow-empty', '-m', 'one');
    rmSync(workspace, { recursive: true });
    git('worktree', 'add', '-q', workspace);
    const sees = await shell(workspace, `git log --format=%s; echo x > ${outside}/.git/x; ls ${outside}`);
    expect(sees.output).toMatch(/^one\n/);
    expect(existsSync(join(outside, '.git', 'x'))).toBe(false);
    expect(
      (await shell(workspace, 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two; git log --format=%s', { may: ['git'] }))
        .output,
    ).toBe('two\none');
    const other = makeWorkspace();
    mkdirSync(join(other.outside, 'secret'));
    for (const [name, text] of [
      ['f', 'canary'],
      ['commondir', '.'],
      ['gitdir', '/elsewhere/.git'],
    ] as const)
      writeFileSync(join(other.outside, 'secret', name), text);
    writeFileSync(join(other.workspace, '.git'), `gitdir: ${join(other.outside, 'secret')}\n`);
    expect((await shell(other.workspace, `cat ${other.outside}/secret/f`)).output).toContain('No such file');
  });

  test('files that programs of the user obey are not changed, however it is tried', async () => {
    const { workspace } = makeWorkspace();
    for (const folder of ['.claude/agents', '.vscode', '.husky']) mkdirSync(join(workspace, folder), { recursive: true });
    const files = ['.claude/settings.json', '.vscode/tasks.json', '.husky/pre-commit', '.mcp.json', '.envrc', 'retinue.config.json'];
    for (const file of files) writeFileSync(join(workspace, file), 'mine');
    const tries = files.map((file) => `echo bad > ${file}; rm -f ${file}; mv ${file} x; ln -sf /etc/passwd ${file}`);
    const folders = ['.claude', '.vscode', '.husky'].map((folder) => `mv ${folder} ${folder}2 && mkdir ${folder}; rm -rf ${folder}`);
    await shell(workspace, [...tries, ...folders, 'echo ok > .claude/other', 'true'].join('; '));
    expect(files.map((file) => readFileSync(join(workspace, file), 'utf8'))).toEqual(files.map(() => 'mine'));
    expect(readFileSync(join(workspace, '.claude', 'other'), 'utf8')).toBe('ok\n');
  });

  test('those that did not exist are renamed when the command has ended', async () => {
    const { workspace, outside } = makeWorkspace();
    mkdirSync(join(workspace, '.claude'));
    writeFileSync(join(outside, 'settings.json'), 'of the user');
    const command = `mkdir -p .git/hooks .retinue/agents && echo x > .git/hooks/pre-commit && echo x > .envrc && echo x > .claude/settings.json && ln -s ${outside} .cursor; echo y > f`;
    const { output } = await shell(workspace, command);
    expect(output.match(/may not be created by a command/g)).toHaveLength(5);
    const names = readdirSync(workspace).sort();
    expect(names.filter((name) => ['.git', '.envrc', '.cursor', '.retinue'].includes(name))).toEqual([]);
    expect(names.filter((name) => name.includes('.refused-'))).toHaveLength(4);
    expect(readdirSync(join(workspace, '.claude'))).toEqual([expect.stringMatching(/^settings\.json\.refused-/)]);
    expect(readFileSync(join(workspace, 'f'), 'utf8')).toBe('y\n');
    expect(readFileSync(join(outside, 'settings.json'), 'utf8')).toBe('of the user');
  });

  test('a link in the place of one is kept, and what it leads to is closed', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'shared.json'), 'mine');
    symlinkSync('shared.json', join(workspace, '.mcp.json'));
    const { output } = await shell(workspace, 'echo bad > shared.json; echo bad > .mcp.json; rm .mcp.json; echo bad > .mcp.json; ls');
    expect(readFileSync(join(workspace, 'shared.json'), 'utf8')).toBe('mine');
    expect(output).toContain('may not be created by a command');
    expect(existsSync(join(workspace, '.mcp.json'))).toBe(false);
  });

  test('an agent without write and edit changes nothing', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), 'old');
    const ways = [
      'echo x > f',
      'echo x | tee f',
      'sed -i s/old/new/ f',
      'rm f',
      'mkdir d',
      'touch g',
      'cp f h',
      'chmod 777 f',
      'ln f k',
      "python3 -c \"open('f','w')\"",
    ];
    const { output } = await shell(workspace, `${ways.join('; ')}; cat f`, { tools: ['read', 'bash'] });
    expect(output).toMatch(/Read-only file system/);
    expect(output).toMatch(/old$/);
    expect(readdirSync(workspace)).toEqual(['f']);
  });
});
