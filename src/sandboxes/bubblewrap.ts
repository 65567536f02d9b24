// The sandbox of Linux: bubblewrap, with namespaces of its own for files, processes, network, IPC and users, and without capabilities.
//
// 1. A command sees only what is mounted: the root starts empty, gets the mounts of `mounts.ts`, and is then read-only.
// 2. The sandbox dies with this process, and everything in it dies with its first process.
// 3. The environment is passed as environment, never as arguments, which every user of the machine could read.
import { spawn } from 'node:child_process';
import { realpathSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority, totalmem } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Sandbox, SandboxedCommand, SandboxFound, SandboxRequest } from '../ports/sandbox.ts';
import { isExecutable } from '../system/executable.ts';
import { killAtExit } from '../system/kill-at-exit.ts';
import { infoFd, namespaceInit } from '../system/namespace.ts';
import { runMarker } from '../system/run-above.ts';
import { trySignal } from '../system/signals.ts';
import { findGroups, type Groups, type Limits } from './cgroup.ts';
import { type LimitWatcher, ulimitScript, watchLimits } from './limit-watcher.ts';
import { createMountCheck } from './mount-check.ts';
import { isPathUnder, type Mount, removeCovered } from './mounts.ts';
import { hiddenSystemFiles, resolverMounts, systemMounts, systemTops } from './system-mounts.ts';
import { toolchainMounts } from './toolchain-mounts.ts';
import { hiddenDotfiles, shownMounts, workspaceMounts, worktreeMounts } from './workspace-mounts.ts';

export interface BubblewrapOptions {
  /** Of this process: PATH finds the helper, HOME is hidden. */
  env: Record<string, string | undefined>;
  /** A helper inside it is not trusted. */
  workspace: string;
  /** Files that commands must not see wherever they are, such as the database. */
  secret: readonly string[];
  limits?: Partial<Limits>;
  /** Null: limits are enforced without control groups. */
  groups?: Groups | null;
}

const tmpBytes = 1024 ** 3;
const probeMs = 5000;
/** Priorities in the scale of `nice`. */
const lowestPriority = 19;
const prioritySteps = 10;
const defaultPath = '/usr/local/bin:/usr/bin:/bin';

const commonArguments = ['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--as-pid-1'];
const sharedMemory: Mount = { kind: 'fresh', path: '/dev/shm', bytes: 256 * 1024 ** 2 };
const tmp: Mount = { kind: 'fresh', path: '/tmp', bytes: tmpBytes };
// With the marker by which Retinue recognises that it was started by a run.
const kernelArguments = ['--proc', '/proc', '--dev', '/dev', '--ro-bind', '/dev/null', runMarker];
// A writable /proc would let root, who has no capabilities there but is still root, set parameters of the whole machine. Files written to /dev, which is in
// memory, would count towards no limit.
const readOnlyArguments = ['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/'];

/** Tries bubblewrap with a command that does nothing. */
export async function findBubblewrap(options: BubblewrapOptions): Promise<SandboxFound> {
  const helper = findHelper(options);
  if (helper === null)
    return {
      ok: false,
      reason: 'bubblewrap is not installed',
      advice: 'install it: `apt-get install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`',
    };
  const system = systemMounts();
  const mounts = [...kernelArguments, ...mountArguments([...system, sharedMemory, tmp]), ...readOnlyArguments];
  // Older versions cannot prevent commands from creating namespaces of their own; they are used without that.
  const variants = [['--unshare-all', '--unshare-user', '--disable-userns'], ['--unshare-all']];
  let message = '';
  for (const unshare of variants) {
    const tried = await runHelper(helper, [...unshare, ...commonArguments, ...mounts, '--', '/bin/sh', '-c', ':']);
    if (tried.ok) return { ok: true, sandbox: createSandbox({ helper, unshare, system }, options) };
    message = tried.message;
  }
  return { ok: false, reason: `bubblewrap does not work here (${helper}: ${message})`, advice: adviceFor(message) };
}

function findHelper({ env, workspace }: BubblewrapOptions): string | null {
  const directories = (env.PATH || defaultPath).split(delimiter).filter((each) => isAbsolute(each) && !isPathUnder(each, workspace));
  return directories.map((each) => join(each, 'bwrap')).find(isExecutable) ?? null;
}

interface WorkingHelper {
  helper: string;
  /** The arguments for namespaces that this version supports. */
  unshare: string[];
  system: Mount[];
}

function createSandbox({ helper, unshare, system }: WorkingHelper, options: BubblewrapOptions): Sandbox {
  const limits: Limits = { processes: 512, bytes: Math.min(4 * 1024 ** 3, Math.floor(totalmem() / 2)), ...options.limits };
  const groups = options.groups === undefined ? findGroups() : options.groups;
  const enforcer = groups === null ? 'a watcher and ulimit' : `control groups (version ${groups.version})`;
  const home = findHome(options.env.HOME);
  let searching: Promise<Mount[]> | null = null;

  async function listMounts(wanted: SandboxRequest): Promise<{ mounts: Mount[]; ofWorkspace: Mount[] }> {
    const { workspace, network } = wanted;
    searching ??= hiddenSystemFiles(options.env.PATH ?? '');
    const hidden = await searching;
    const own = workspaceMounts(wanted, options.secret);
    const path = wanted.env.PATH ?? '';
    const emptyHome: Mount[] = home === null ? [] : [{ kind: 'fresh', path: home, bytes: tmpBytes }];
    const before = home === workspace ? [] : [...emptyHome, ...toolchainMounts(path, { home, workspace }), ...worktreeMounts(wanted)];
    const after = home === workspace ? homeWorkspaceMounts(home, path) : [];
    const resolver = network ? resolverMounts() : [];
    const mounts = removeCovered([
      ...system,
      ...hidden,
      ...resolver,
      sharedMemory,
      tmp,
      ...before,
      ...own,
      ...shownMounts(wanted),
      ...after,
      ...(wanted.folders ?? []).map(({ path, writable }): Mount => ({ kind: writable ? 'write' : 'read', path })),
    ]);
    return { mounts, ofWorkspace: mounts.filter((mount) => own.includes(mount)) };
  }

  async function confine(wanted: SandboxRequest): Promise<SandboxedCommand> {
    const { argv, workspace, network, env } = wanted;
    const { mounts, ofWorkspace } = await listMounts(wanted);
    const checkMounts = createMountCheck(ofWorkspace, workspace);
    const inMemory = mounts.flatMap((mount) => (mount.kind === 'fresh' ? mount.path : []));
    const group = groups?.open(limits) ?? null;
    const init = namespaceInit(argv[0] as string, argv, group === null ? ulimitScript(limits) : '');
    let watcher: LimitWatcher | null = null;
    return {
      argv: [
        ...[helper, ...unshare, ...(network ? ['--share-net'] : []), ...commonArguments, '--info-fd', String(infoFd)],
        ...[...kernelArguments, ...mountArguments(mounts), ...readOnlyArguments, '--chdir', workspace, '--', ...init],
      ],
      env: { ...env, HOME: home === null || home === workspace ? '/tmp' : home, TMPDIR: '/tmp' },
      join: group?.join ?? [],
      namespace: true,
      begun(pid) {
        if (!wanted.keepsPriority) lowerPriority(pid);
        if (group === null) watcher = watchLimits(pid, limits, inMemory);
        return checkMounts(pid);
      },
      async release() {
        const reached = [...((await group?.close()) ?? []), ...(watcher?.stop() ?? [])];
        return [...new Set(reached)].map((which) => limitMessage(which, limits));
      },
    };
  }

  return {
    name: 'bubblewrap',
    version: async () => (await runHelper(helper, ['--version'])).message.replace(/^bubblewrap /, ''),
    limits: `${limits.processes} processes and ${toMib(limits.bytes)} MiB per command, enforced by ${enforcer}`,
    async confine(wanted) {
      const problem = workspaceProblem(wanted.workspace, home);
      if (problem !== null) return { ok: false, reason: problem };
      try {
        return { ok: true, confined: await confine(wanted) };
      } catch (error) {
        return { ok: false, reason: `the sandbox cannot be created: ${(error as Error).message}` };
      }
    },
  };
}

/**
 * Keeps this process ahead of a command, however many processes the command starts. The sandbox is a session of its own: where Linux shares CPU time among
 * sessions first, the priority of the session counts.
 */
function lowerPriority(init: number): void {
  const priority = Math.min(lowestPriority, getPriority() + prioritySteps);
  for (const lower of [() => setPriority(init, priority), () => writeFileSync(`/proc/${init}/autogroup`, String(priority))])
    try {
      lower();
    } catch {
      // The process has ended, or the system does not support it.
    }
}

/** The real home directory; null if there is none that can be replaced by an empty one. */
function findHome(given: string | undefined): string | null {
  try {
    const home = given !== undefined && isAbsolute(given) ? realpathSync(given) : '/';
    return home === '/' || home === '/tmp' || systemTops.some((top) => isPathUnder(home, top)) ? null : home;
  } catch {
    return null;
  }
}

/** If the workspace is the home directory: hides dotfiles except for the programs in them. */
function homeWorkspaceMounts(home: string, path: string): Mount[] {
  const toolchains = toolchainMounts(path, { home, workspace: null });
  const hasToolchain = (top: string) => toolchains.some((mount) => isPathUnder(mount.path, top));
  const dotfiles = hiddenDotfiles(home).map(
    (mount): Mount => (hasToolchain(mount.path) ? { kind: 'fresh', path: mount.path, bytes: tmpBytes } : mount),
  );
  return [...dotfiles, ...toolchains];
}

function workspaceProblem(workspace: string, home: string | null): string | null {
  const isSystem = ['/', '/tmp', '/proc', '/dev', '/sys', '/run', '/var', ...systemTops].includes(workspace);
  if (!isSystem && (home === null || home === workspace || !isPathUnder(home, workspace))) return null;
  return `the workspace ${workspace} contains the system or your whole home directory, so a sandbox could hide nothing; choose a directory inside it`;
}

function mountArguments(mounts: readonly Mount[]): string[] {
  return mounts.flatMap((mount) => {
    const { path } = mount;
    switch (mount.kind) {
      case 'read':
        return ['--ro-bind', path, path];
      case 'write':
        return ['--bind', path, path];
      case 'other':
        return ['--ro-bind', mount.source, path];
      case 'link':
        return ['--symlink', mount.target, path];
      case 'fresh':
        return ['--size', String(mount.bytes), '--tmpfs', path];
      case 'hide':
        return mount.folder ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path];
    }
    return [];
  });
}

function limitMessage(which: keyof Limits, { processes, bytes }: Limits): string {
  if (which === 'processes') return `it reached the limit of ${processes} processes for a command`;
  return `it reached the limit of ${toMib(bytes)} MiB of memory for a command, so some of its processes were ended`;
}

function toMib(bytes: number): number {
  return Math.floor(bytes / 1024 ** 2);
}

function adviceFor(message: string): string {
  if (/uid map|user namespace|Operation not permitted|Permission denied|No permissions/i.test(message))
    return (
      'the system does not allow user namespaces: on Ubuntu 24.04 and later give bwrap an AppArmor profile (`apt-get install apparmor-profiles`, then ' +
      '`ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/` and `systemctl reload apparmor`), elsewhere set ' +
      '`sysctl kernel.unprivileged_userns_clone=1`; a container needs `--security-opt seccomp=unconfined`'
    );
  return 'run `bwrap --unshare-all --ro-bind / / true` to see the error, and install version 0.6 or later';
}

// A helper that dies leaves the process it is just making. So both are in the group of a shell, which ends the group when this process dies.
const groupScript = '{ read -r _ <&3; kill -KILL 0; } & exec 3<&-; "$@"';

/** `message`: the first line of its output. */
function runHelper(program: string, args: string[]): Promise<{ ok: boolean; message: string }> {
  return new Promise((resolve) => {
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe'] as const;
    const child = spawn('/bin/sh', ['-c', groupScript, 'sh', program, ...args], { env: {}, cwd: '/', detached: true, stdio: [...stdio] });
    const { pid } = child;
    const forget = pid === undefined ? () => {} : killAtExit(pid);
    const timer = setTimeout(() => pid !== undefined && trySignal(-pid, 'SIGKILL'), probeMs);
    let output = '';
    const end = (ok: boolean, problem: string) => {
      clearTimeout(timer);
      forget();
      const message = output.trim().split('\n')[0]?.slice(0, 300) ?? '';
      resolve({ ok, message: message === '' && !ok ? problem : message });
    };
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        if (output.length < 10_000) output += chunk.toString('utf8');
      });
    child.on('error', (error) => end(false, (error as NodeJS.ErrnoException).code ?? error.message));
    // The watching shell holds the pipes too, so they close only after the group has ended.
    child.on('exit', () => pid !== undefined && trySignal(-pid, 'SIGKILL'));
    child.on('close', (code, signal) => end(code === 0, `exit code ${code ?? signal}`));
  });
}
