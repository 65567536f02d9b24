// How commands end in a sandbox: the same as without, and nobody is left.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/ports/sandbox.ts';
import type { ToolResult } from '../../src/ports/tool.ts';
import { createBash } from '../../src/tools/bash.ts';
import { type LoopTimes, watchEventLoop } from '../support/cpu-time.ts';
import { commandTable } from '../tools/command-table.ts';
import { call, makeWorkspace } from '../tools/support.ts';
import { onLinux, realSandbox, rightsOf, shell } from './support.ts';

/** For waiting on what must come in the end: no bound of what is tested. */
const guard = { timeout: 60_000 };

/** A number for `sleep` that no other test has: by it its processes are found. */
const nap = (): string => String(2000 + Math.random()).slice(0, 16);

function sleepers(seconds: string): string[] {
  const text = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return text.split('\n').filter((line) => line.trim() === `sleep ${seconds}`);
}

/** For the end of a command: waits until so many of its processes have become `sleep`. */
const untilAsleep = (count = 1): string => `until [ $(grep -lsx sleep /proc/[0-9]*/comm | wc -l) -ge ${count} ]; do sleep 0.01; done`;

interface Watched extends ToolResult {
  /** How much time passed for this process after the command made the file `mark` in its workspace; null if it never did. */
  markedMs: number | null;
}

/** Runs a command in a sandbox. `onMark` is called when it has made the file `mark`. */
async function watchCommand(command: string, input: object = {}, onMark?: (controller: AbortController) => void): Promise<Watched> {
  const bash = createBash({ sandbox: await realSandbox() });
  const { workspace } = makeWorkspace();
  const controller = new AbortController();
  const mark = join(workspace, 'mark');
  let stop: (() => LoopTimes) | null = null;
  const noticeMark = () => {
    if (stop !== null || !existsSync(mark)) return;
    stop = watchEventLoop();
    onMark?.(controller);
  };
  const look = setInterval(noticeMark, 5);
  const result = await call(bash, workspace, { command, ...input }, { signal: controller.signal, rights: rightsOf() });
  clearInterval(look);
  noticeMark();
  return { ...result, markedMs: (stop as (() => LoopTimes) | null)?.().passedMs ?? null };
}

/** The sandbox alone may take longer than the first timeout on a busy machine: then the command gets more time. */
async function runOutOfTime(command: string): Promise<Watched & { timeout: number }> {
  for (const timeout of [0.5, 2, 8]) {
    const watched = await watchCommand(command, { timeout });
    if (watched.markedMs !== null) return { ...watched, timeout };
  }
  throw new Error('the command did not begin within 8 s');
}

describe.runIf(onLinux)('output and exit codes', () => {
  test.each([
    ...commandTable,
    { command: 'kill -KILL $$', output: '[exit code 137]', isError: true },
    { command: 'nowhere-to-be-found', output: expect.stringMatching(/not found\n\[exit code 127\]$/), isError: true },
    { command: 'echo err >&2; echo out', output: 'err\nout' },
    { command: 'tty', output: 'not a tty\n[exit code 1]', isError: true },
    { command: 'echo text > >(sleep 0.05; cat; echo read)', output: 'text\nread' },
    { command: 'exec 3>&- 4>&-; echo x >&3; echo y', output: expect.stringMatching(/Bad file descriptor\ny$/) },
  ])('$command', async ({ command, output, isError }) => {
    expect(await shell(makeWorkspace().workspace, command)).toEqual({ output, ...(isError && { isError }) });
  });

  test('standard output and error come in the order in which they were written', async () => {
    const { output } = await watchCommand('for i in $(seq 200); do echo out $i; echo err $i >&2; done');
    expect(output.split('\n')).toEqual(Array.from({ length: 400 }, (_, n) => `${n % 2 ? 'err' : 'out'} ${Math.floor(n / 2) + 1}`));
  });

  test('much output: head and tail', async () => {
    const { output } = await watchCommand('echo first; yes x | head -c 20000000; echo last');
    expect(output).toMatch(/^first\n[\s\S]*bytes left out[\s\S]*\nlast$/);
  });

  test('no descriptor is left open', async () => {
    const sandbox = await realSandbox();
    const { workspace } = makeWorkspace();
    await shell(workspace, 'true', {}, { sandbox });
    const before = readdirSync('/proc/self/fd').length;
    for (let n = 0; n < 6; n++) await shell(workspace, n % 2 ? 'sleep 60 &' : 'echo x', {}, { sandbox });
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });
});

describe.runIf(onLinux)('nobody is left', () => {
  test.each([
    { name: 'in the background', command: (s: string) => `sleep ${s} &` },
    { name: 'in a group of its own', command: (s: string) => `setsid sleep ${s} &` },
    { name: 'forked twice, with nothing open', command: (s: string) => `(setsid sleep ${s} >/dev/null 2>&1 </dev/null &) ;` },
    { name: 'that takes its mark away', command: (s: string) => `env -i setsid sleep ${s} >/dev/null 2>&1 &` },
    { name: 'that ignores being asked', command: (s: string) => `bash -c 'trap "" TERM; exec sleep ${s}' &` },
    { name: 'a hundred of them', command: (s: string) => `for i in $(seq 100); do sleep ${s} & done;`, count: 100 },
  ])('a process $name is gone, and named', async ({ command, count }) => {
    const seconds = nap();
    const { output, isError, markedMs } = await watchCommand(`${command(seconds)} ${untilAsleep(count)}; echo done; touch mark`);
    expect(output).toMatch(/^done\n\[ended what it left running: sleep \(\d+\)/);
    expect(isError).toBeUndefined();
    expect(markedMs).toBeLessThan(4000);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('out of time: all of it is stopped, what was written is kept', async () => {
    const seconds = nap();
    const command = `echo start; touch mark; setsid sleep ${seconds} & sleep ${seconds}`;
    const { output, isError, markedMs, timeout } = await runOutOfTime(command);
    expect(output).toBe(`start\n[stopped: it took longer than ${timeout} s]`);
    expect(isError).toBe(true);
    expect(markedMs).toBeLessThan(timeout * 1000 + 2000);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('asked first: a command may clean up', async () => {
    const { output, timeout } = await runOutOfTime('trap "echo cleaned; exit" TERM; echo start; touch mark; while :; do sleep 0.05; done');
    expect(output.replace('Terminated\n', '')).toBe(`start\ncleaned\n[stopped: it took longer than ${timeout} s]`);
  });

  test.each([
    { name: 'a plain one', command: (s: string) => `echo start; touch mark; sleep ${s}` },
    {
      name: 'one that is stopped',
      command: (s: string) =>
        `echo start; sleep ${s} & (until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; touch mark) & kill -STOP $$`,
    },
    {
      name: 'one that ignores it',
      command: (s: string) => `trap "" TERM INT HUP; echo start; touch mark; sleep ${s} & sleep ${s}; sleep ${s}`,
    },
    {
      name: 'one that tries to end its first process',
      command: (s: string) => `echo start; kill -KILL 1; kill -TERM 1; touch mark; sleep ${s}`,
    },
  ])('told to stop, $name is gone within 3 s', async ({ command }) => {
    const seconds = nap();
    const { output, isError, markedMs } = await watchCommand(command(seconds), {}, (controller) => {
      controller.abort(new Error('enough'));
    });
    expect(output).toMatch(/^start\n\[stopped before it was done\]/);
    expect(isError).toBe(true);
    expect(markedMs).toBeLessThan(2900);
    expect(sleepers(seconds)).toEqual([]);
  });

  test('told to stop before it has begun, it never does', async () => {
    const { workspace } = makeWorkspace();
    const bash = createBash({ sandbox: await realSandbox() });
    const controller = new AbortController();
    const result = call(bash, workspace, { command: 'touch made; sleep 5; touch late' }, { signal: controller.signal, rights: rightsOf() });
    controller.abort(new Error('enough'));
    expect((await result).isError).toBe(true);
    expect(existsSync(join(workspace, 'late'))).toBe(false);
  });

  test('kill -9 of the supervisor leaves nobody within 5 s', async () => {
    const { workspace } = makeWorkspace();
    const seconds = nap();
    const command = `(env -i setsid sh -c 'trap "" TERM HUP; sleep ${seconds} & sleep ${seconds}' &); touch begun; sleep ${seconds}`;
    const supervisor = spawn(process.execPath, [join(import.meta.dirname, 'once.ts'), workspace, 'on', command], { stdio: 'ignore' });
    await expect.poll(() => existsSync(join(workspace, 'begun')) && sleepers(seconds).length, guard).toBe(3);
    supervisor.kill('SIGKILL');
    await expect.poll(() => sleepers(seconds), { timeout: 5000 }).toEqual([]);
  });
});

describe.runIf(onLinux)('the helper', () => {
  /** A helper that can be taken away, and that says it was used. */
  function helper(text: string) {
    const { workspace, outside } = makeWorkspace();
    const file = join(outside, 'bwrap');
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return { workspace, file, env: { ...process.env, PATH: `${outside}:/usr/bin:/bin` } };
  }

  test('that is taken away in mid-life: the call fails, and nothing is started without it', async () => {
    const { workspace, file, env } = helper('#!/bin/sh\nexec /usr/bin/bwrap "$@"\n');
    const sandbox = await realSandbox({ env });
    expect((await shell(workspace, 'echo x > f', {}, { sandbox })).isError).toBeUndefined();
    writeFileSync(file, '#!/bin/sh\necho "bwrap: no longer" >&2\nexit 1\n');
    const broken = await shell(workspace, 'echo x > g', {}, { sandbox });
    expect(broken).toMatchObject({
      isError: true,
      output: expect.stringMatching(/^the sandbox could not be created.*not started: bwrap: no longer/),
    });
    execFileSync('rm', [file]);
    expect(await shell(workspace, 'echo x > g', {}, { sandbox })).toMatchObject({
      isError: true,
      output: expect.stringMatching(/not started: .*not found/),
    });
    expect(readdirSync(workspace)).toEqual(['f']);
  });

  test('that exits 0 and does nothing is not taken for a command that ran', async () => {
    const { workspace, env } = helper('#!/bin/sh\nexit 0\n');
    expect(await shell(workspace, 'echo x > g', {}, { sandbox: await realSandbox({ env }) })).toMatchObject({ isError: true });
  });

  // What a folder comes to that is swapped for a link between the look at it and its mount.
  test.each([
    { name: 'brings another folder in', option: '--bind', instead: 'args+=(--bind "$(dirname "$0")" "$3"); shift 3' },
    { name: 'hides nothing', option: '--tmpfs', instead: 'shift 4' },
  ])('that $name: the command is not started', async ({ option, instead }) => {
    const script = `#!/bin/bash
      args=()
      while [ $# -gt 0 ]; do
        if [ "$1" = ${option} ] && [[ "$2" == */workspace/.* ]]; then ${instead}; else args+=("$1"); shift; fi
      done
      exec /usr/bin/bwrap "\${args[@]}"`;
    const { workspace, env } = helper(script);
    for (const folder of ['.claude', '.retinue']) mkdirSync(join(workspace, folder));
    writeFileSync(join(workspace, '.claude', 'settings.json'), '');
    if (option === '--bind') writeFileSync(join(dirname(env.PATH.split(':')[0] as string), 'outside', 'settings.json'), '');
    const result = await shell(workspace, 'touch made', {}, { sandbox: await realSandbox({ env }) });
    expect(result).toMatchObject({
      isError: true,
      output: expect.stringMatching(/not started: .*was changed while the sandbox was created/),
    });
    expect(existsSync(join(workspace, 'made'))).toBe(false);
  });

  test('a helper in the workspace is not used', async () => {
    const { file, env } = helper('#!/bin/sh\nexit 0\n');
    const outside = dirname(file);
    const { findBubblewrap } = await import('../../src/sandboxes/bubblewrap.ts');
    const found = await findBubblewrap({ env: { ...env, PATH: outside }, secret: [], workspace: outside });
    expect(found).toMatchObject({ ok: false, reason: 'bubblewrap is not installed' });
  });
});

describe.runIf(onLinux && process.getuid?.() === 0)('an ordinary user', () => {
  const nobody = ['/usr/bin/setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];

  /** As if the supervisor were nobody: what it starts is. */
  async function asNobody(): Promise<Sandbox> {
    const inner = await realSandbox({ groups: null });
    return {
      ...inner,
      async confine(wanted) {
        const made = await inner.confine(wanted);
        return made.ok ? { ok: true, confined: { ...made.confined, argv: [...nobody, ...made.confined.argv] } } : made;
      },
    };
  }

  test('has the same sandbox', async () => {
    const { workspace } = makeWorkspace();
    for (const folder of [workspace, dirname(workspace)]) chownSync(folder, 65534, 65534);
    const sandbox = await asNobody();
    const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent' };
    const command = 'id -u; echo x > f; cat f; ls /root; cat /etc/shadow; exec 3<>/dev/tcp/127.0.0.1/22; sleep 100 &';
    const { output } = await shell(workspace, command, {}, { sandbox, env });
    expect(output).toMatch(/^65534\nx\n/);
    expect(output).toMatch(/\[ended what it left running: sleep/);
    expect(output).not.toContain('root:');
    expect(readFileSync(join(workspace, 'f'), 'utf8')).toBe('x\n');
  });
});
