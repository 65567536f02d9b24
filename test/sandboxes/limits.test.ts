// Commands that want all of the machine. With control groups where this machine has them, and always without.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/ports/sandbox.ts';
import { findGroups, type Groups, type Limits } from '../../src/sandboxes/cgroup.ts';
import { makeWorkspace } from '../tools/support.ts';
import { onLinux, realSandbox, shell } from './support.ts';

const mib = 1024 ** 2;
const here = onLinux ? findGroups() : null;
const ways: [string, Groups | null][] = [['a watcher', null], ...(here === null ? [] : [['control groups', here] as [string, Groups]])];

/** The longest that this process's own event loop did not answer. */
let longest = 0;
let timer: NodeJS.Timeout;
beforeAll(() => {
  let last = performance.now();
  timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 20);
});
afterAll(() => clearInterval(timer));

/**
 * A sandbox without control groups. Its watcher comes too late on a machine that is busy, and a fork bomb would then take all of it: where there are control
 * groups, one with far wider limits stands behind the watcher.
 */
function watched(sandbox: Sandbox): Sandbox {
  return {
    ...sandbox,
    async confine(wanted) {
      const made = await sandbox.confine(wanted);
      const net = here?.open({ processes: 2000, bytes: 4 * 1024 * mib });
      if (!made.ok || net === undefined) return made;
      const release = async () => {
        const sentences = await made.confined.release();
        await net.close();
        return sentences;
      };
      return { ok: true, confined: { ...made.confined, join: net.join, release } };
    },
  };
}

async function limitedSandbox(groups: Groups | null, limits: Partial<Limits>): Promise<Sandbox> {
  const sandbox = await realSandbox({ groups, limits });
  return groups === null ? watched(sandbox) : sandbox;
}

describe.runIf(onLinux).each(ways)('limits by %s', (_, groups) => {
  test('a fork bomb is contained, and this process answers meanwhile', { timeout: 60_000 }, async () => {
    const sandbox = await limitedSandbox(groups, { processes: 100 });
    const { workspace } = makeWorkspace();
    longest = 0;
    const command = 'b() { b | b & }; b; for i in $(seq 20); do sleep 0.1; done; echo over';
    const { output } = await shell(workspace, command, {}, { sandbox });
    // To a plain user the kernel itself refuses more processes (`ulimit`), before the watcher could count them.
    const isRefused = groups === null && process.getuid?.() !== 0;
    expect(output).toContain(
      isRefused ? 'fork: retry: Resource temporarily unavailable' : 'it reached the limit of 100 processes for a command',
    );
    expect(longest).toBeLessThan(1000);
    expect((await shell(workspace, 'echo fine', {}, { sandbox })).output).toBe('fine');
  });

  test('a command that wants too much memory is ended, and says so', { timeout: 60_000 }, async () => {
    const sandbox = await limitedSandbox(groups, { bytes: 128 * mib });
    const { workspace } = makeWorkspace();
    longest = 0;
    // Ten processes of 40 MiB each: none is too large by itself.
    const hog = 'a=$(head -c 40000000 /dev/zero | tr "\\0" x); sleep 3';
    const { output, isError } = await shell(workspace, `for i in $(seq 10); do bash -c '${hog}' & done; wait; echo over`, {}, { sandbox });
    expect(output).toContain('it reached the limit of 128 MiB of memory for a command');
    expect(longest).toBeLessThan(1000);
    if (groups === null) expect(isError).toBe(true);
  });

  test('files in memory count', { timeout: 60_000 }, async () => {
    const sandbox = await limitedSandbox(groups, { bytes: 128 * mib });
    const { workspace } = makeWorkspace();
    const fill = 'head -c 100M /dev/zero > /dev/shm/x; head -c 100M /dev/zero > /tmp/y; sleep 3; echo over';
    expect((await shell(workspace, fill, {}, { sandbox })).output).toContain('it reached the limit of 128 MiB of memory');
  });

  test('what stays within them hears nothing of them', async () => {
    const sandbox = await limitedSandbox(groups, { processes: 100, bytes: 256 * mib });
    const { output } = await shell(makeWorkspace().workspace, 'for i in $(seq 50); do sleep 0.2 & done; wait; echo over', {}, { sandbox });
    expect(output).toBe('over');
  });
});

test.runIf(onLinux)('what is confined comes after who confines it', async () => {
  const later = getPriority() + 10;
  expect((await shell(makeWorkspace().workspace, 'nice; (nice)')).output).toBe(`${later}\n${later}`);
});

test.runIf(existsSync('/proc/self/autogroup'))('so does its session, where those share time out', async () => {
  // The kernel takes such a change from plain users ten times a second, whoever makes it.
  const look = async () => (await shell(makeWorkspace().workspace, 'cat /proc/self/autogroup')).output;
  await expect.poll(look, { timeout: 30_000 }).toMatch(new RegExp(`nice ${getPriority() + 10}$`));
});

test.runIf(onLinux)('shared memory has a size, and nothing else is kept in /dev', async () => {
  const { workspace } = makeWorkspace();
  const fill = 'head -c 400M /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x; echo x > /dev/y; echo x > /dev/null && echo usable';
  expect((await shell(workspace, fill)).output).toMatch(/No space left[\s\S]*\n268435456\n.*\/dev\/y: Read-only file system\nusable$/);
});

describe.runIf(here !== null)('control groups of this machine', () => {
  const folders = () =>
    ['pids', 'memory'].flatMap((controller) => {
      const path = new RegExp(`^\\d+:${controller}:(.*)$`, 'm').exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
      return path === undefined ? [] : [join('/sys/fs/cgroup', controller, path)];
    });
  const ours = () =>
    folders().flatMap((folder) => readdirSync(folder).filter((name) => name.startsWith('retinue-') && name.includes(`-${process.pid}-`)));

  test('are gone after each command', async () => {
    const sandbox = await realSandbox();
    expect(sandbox.limits).toMatch(/^512 processes and \d+ MiB per command, enforced by control groups \(version [12]\)$/);
    // Other files of this process may have commands that are still ending.
    const others = ours();
    await shell(makeWorkspace().workspace, 'sleep 50 & echo x', {}, { sandbox });
    expect(ours().filter((name) => !others.includes(name))).toEqual([]);
    await expect.poll(ours).toEqual([]);
  });

  test.runIf(here?.version === 1)('those of a supervisor that is gone are removed by the next', () => {
    const space = readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
    const [folder = ''] = folders();
    const [dead, foreign] = [`retinue-${space}-4000000-1-1`, 'retinue-1-4000000-1-1'];
    for (const name of [dead, foreign]) mkdirSync(join(folder, name));
    onTestFinished(() => rmdirSync(join(folder, foreign)));
    findGroups();
    expect(readdirSync(folder).filter((name) => name.includes('-4000000-'))).toEqual([foreign]);
  });

  test.runIf(here?.version === 1)('what such a supervisor has left running is killed, and nothing else', async () => {
    const space = readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
    const group = join(folders()[0] ?? '', `retinue-${space}-4000001-1-1`);
    mkdirSync(group);
    const [member, other] = [spawn('sleep', ['60']), spawn('sleep', ['60'])];
    onTestFinished(() => void other.kill());
    writeFileSync(join(group, 'cgroup.procs'), String(member.pid));
    const ended = once(member, 'exit');
    findGroups();
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(other.exitCode ?? other.signalCode).toBeNull();
    await expect.poll(() => existsSync(group), { timeout: 5000 }).toBe(false);
  });
});

describe.runIf(onLinux)('the second version of control groups, as files', () => {
  /** What a delegated part of it looks like: the process's own group hands nothing down, the one above does. */
  function makeTree(controllers: string) {
    const root = mkdtempSync(join(tmpdir(), 'retinue-cgroup-'));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    mkdirSync(join(root, 'user', 'own'), { recursive: true });
    for (const folder of [root, join(root, 'user'), join(root, 'user', 'own')]) {
      writeFileSync(join(folder, 'cgroup.procs'), '');
      writeFileSync(join(folder, 'cgroup.subtree_control'), folder === join(root, 'user') ? controllers : '');
    }
    const mountinfo = `30 1 0:26 / ${root} rw,relatime shared:4 - cgroup2 cgroup2 rw`;
    return { root, ground: { mountinfo, own: '0::/user/own\n' } };
  }

  test('groups are made where controllers are handed down, with both limits', () => {
    const { root, ground } = makeTree('cpu memory pids\n');
    const groups = findGroups(ground);
    expect(groups?.version).toBe(2);
    const group = groups?.open({ processes: 7, bytes: 1000 });
    const [file = ''] = group?.join ?? [];
    expect(file).toMatch(new RegExp(`^${root}/user/retinue-\\d+-${process.pid}-\\d+-\\d+/cgroup\\.procs$`));
    expect(['pids.max', 'memory.max', 'memory.swap.max'].map((name) => readFileSync(join(file, '..', name), 'utf8'))).toEqual([
      '7',
      '1000',
      '0',
    ]);
  });

  test('a group that is not empty in time is removed later', async () => {
    const group = findGroups(makeTree('memory pids\n').ground)?.open({ processes: 7, bytes: 1000 });
    const folder = join(group?.join[0] ?? '', '..');
    await group?.close();
    expect(existsSync(folder)).toBe(true);
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    await expect.poll(() => existsSync(folder)).toBe(false);
  });

  test('none are made where they are not', () => {
    expect(findGroups(makeTree('cpu\n').ground)).toBeNull();
    expect(findGroups({ mountinfo: '', own: '' })).toBeNull();
  });
});
