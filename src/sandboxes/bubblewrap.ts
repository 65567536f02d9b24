import { execFile } from 'node:child_process';
import { accessSync, constants, realpathSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority, totalmem } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Sandbox, SandboxedCommand, SandboxFound, SandboxRequest } from '../ports/sandbox.ts';
import { firstProcess, infoFd } from '../system/namespace.ts';
import { findGroups, type Groups, type Limits } from './cgroup.ts';
import { ulimits, type Watch, watch } from './limit-watcher.ts';
import { identify } from './mount-check.ts';
import { type Mount, settled, under } from './mounts.ts';
import { resolverView, systemSecrets, systemTops, systemView } from './system-mounts.ts';
import { toolchainView } from './toolchain-mounts.ts';
import { dotfilesOf, workspaceView, worktreeView } from './workspace-mounts.ts';

/**
 * Bubblewrap: namespaces of its own for files, processes, network, IPC and users; no capabilities.
 *
 * 1. What is not put into it is not there: it begins with an empty root, to which what `mounts.ts` lists is added, and which is then read only.
 * 2. It dies with this process, and all that it holds dies with its first process.
 * 3. The environment is handed over as such, never as arguments, which every user of the machine could read.
 */
export interface BubblewrapOptions {
  /** Of this process: PATH finds the helper, HOME is what is closed. */
  env: Record<string, string | undefined>;
  /** A helper that lies in it is somebody else's. */
  workspace: string;
  /** Files that commands must not see wherever they lie, such as the database. */
  secret: readonly string[];
  limits?: Partial<Limits>;
  /** Null: limits are held without them. */
  groups?: Groups | null;
}

const tmpBytes = 1024 ** 3;
const probeMs = 5000;
/** Priorities as `nice` has them. */
const lowest = 19;
const stepsBack = 10;
const usualPath = '/usr/local/bin:/usr/bin:/bin';

/** Tries it, with a command that does nothing. */
export async function findBubblewrap(options: BubblewrapOptions): Promise<SandboxFound> {
  const helper = helperIn(options);
  if (helper === null)
    return {
      ok: false,
      reason: 'bubblewrap is not installed',
      advice: 'install it: `apt-get install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`',
    };
  const system = systemView();
  // Older versions cannot keep commands from making namespaces of their own, and do without.
  const forms = [['--unshare-all', '--unshare-user', '--disable-userns'], ['--unshare-all']];
  let said = '';
  for (const apart of forms) {
    const tried = await run(helper, [
      ...apart,
      ...always,
      ...kernel,
      ...argumentsFor([...system, sharedMemory, tmp]),
      ...last,
      '--',
      '/bin/sh',
      '-c',
      ':',
    ]);
    if (tried.ok)
      return {
        ok: true,
        sandbox: sandboxOf({ helper, apart, system }, options),
      };
    said = tried.said;
  }
  return { ok: false, reason: `bubblewrap does not work here (${helper}: ${said})`, advice: adviceFor(said) };
}

function helperIn({ env, workspace }: BubblewrapOptions): string | null {
  const folders = (env.PATH || usualPath).split(delimiter).filter((folder) => isAbsolute(folder) && !under(folder, workspace));
  return folders.map((folder) => join(folder, 'bwrap')).find(isProgram) ?? null;
}

const always = ['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--as-pid-1'];
// Without being read only, /proc would let root, who has no capability there but is still root, set the whole machine's parameters; and what is
// written into /dev, a file system in memory, would count as nobody's.
const sharedMemory: Mount = { kind: 'fresh', path: '/dev/shm', bytes: 256 * 1024 ** 2 };
const kernel = ['--proc', '/proc', '--dev', '/dev'];
const last = ['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/'];
const tmp: Mount = { kind: 'fresh', path: '/tmp', bytes: tmpBytes };

interface Helper {
  helper: string;
  apart: string[];
  system: Mount[];
}

function sandboxOf({ helper, apart, system }: Helper, options: BubblewrapOptions): Sandbox {
  const limits: Limits = { processes: 512, bytes: Math.min(4 * 1024 ** 3, Math.floor(totalmem() / 2)), ...options.limits };
  const groups = options.groups === undefined ? findGroups() : options.groups;
  const by = groups === null ? 'a watcher and ulimit' : `control groups (version ${groups.version})`;
  const home = homeOf(options.env.HOME);
  let looking: Promise<Mount[]> | null = null;

  async function viewFor(wanted: SandboxRequest): Promise<{ view: Mount[]; place: Mount[] }> {
    const { workspace, network } = wanted;
    looking ??= systemSecrets(options.env.PATH ?? '');
    const secrets = await looking;
    const place = workspaceView(wanted, options.secret);
    const path = wanted.env.PATH ?? '';
    const own: Mount[] = home === null ? [] : [{ kind: 'fresh', path: home, bytes: tmpBytes }];
    const before = home === workspace ? [] : [...own, ...toolchainView(path, { home, workspace }), ...worktreeView(wanted)];
    const after = home === workspace ? homeItself(home, path) : [];
    const view = settled([...system, ...secrets, ...(network ? resolverView() : []), sharedMemory, tmp, ...before, ...place, ...after]);
    return { view, place: view.filter((mount) => place.includes(mount)) };
  }

  async function confine(wanted: SandboxRequest): Promise<SandboxedCommand> {
    const { argv, workspace, network, env } = wanted;
    const { view, place } = await viewFor(wanted);
    const changed = identify(place, workspace);
    const inMemory = view.flatMap((mount) => (mount.kind === 'fresh' ? mount.path : []));
    const group = groups?.open(limits) ?? null;
    const inner = firstProcess(argv[0] as string, argv, group === null ? ulimits(limits) : '');
    let watcher: Watch | null = null;
    return {
      argv: [
        ...[helper, ...apart, ...(network ? ['--share-net'] : []), ...always, '--info-fd', String(infoFd)],
        ...[...kernel, ...argumentsFor(view), ...last, '--chdir', workspace, '--', ...inner],
      ],
      env: { ...env, HOME: home === null || home === workspace ? '/tmp' : home, TMPDIR: '/tmp' },
      join: group?.join ?? [],
      namespace: true,
      begun(init) {
        stepBack(init);
        if (group === null) watcher = watch(init, limits, inMemory);
        return changed(init);
      },
      async release() {
        const reached = [...((await group?.close()) ?? []), ...(watcher?.stop() ?? [])];
        return [...new Set(reached)].map((which) => sentenceFor(which, limits));
      },
    };
  }

  return {
    name: 'bubblewrap',
    version: async () => (await run(helper, ['--version'])).said.replace(/^bubblewrap /, ''),
    limits: `${limits.processes} processes and ${mib(limits.bytes)} MiB for a command, held by ${by}`,
    async confine(wanted) {
      const problem = problemWith(wanted.workspace, home);
      if (problem !== null) return { ok: false, reason: problem };
      try {
        return { ok: true, confined: await confine(wanted) };
      } catch (error) {
        return { ok: false, reason: `the sandbox cannot be made: ${(error as Error).message}` };
      }
    },
  };
}

/** Null where there is none that could be put in its place. */
/**
 * However many processes a command starts, whoever has to stop them comes first. The sandbox is a session of its own: where Linux shares time out
 * among sessions first, it is the session's priority that counts.
 */
function stepBack(init: number): void {
  const steps = Math.min(lowest, getPriority() + stepsBack);
  for (const step of [() => setPriority(init, steps), () => writeFileSync(`/proc/${init}/autogroup`, String(steps))])
    try {
      step();
    } catch {
      // It is gone, or this system has no such thing.
    }
}

function homeOf(given: string | undefined): string | null {
  try {
    const home = given !== undefined && isAbsolute(given) ? realpathSync(given) : '/';
    return home === '/' || home === '/tmp' || systemTops.some((top) => under(home, top)) ? null : home;
  } catch {
    return null;
  }
}

/** Over a workspace that is the home folder: what begins with a dot is hidden, but for the programs in it. */
function homeItself(home: string, path: string): Mount[] {
  const toolchains = toolchainView(path, { home, workspace: null });
  const holds = (top: string) => toolchains.some((mount) => under(mount.path, top));
  const dots = dotfilesOf(home).map((mount): Mount => (holds(mount.path) ? { kind: 'fresh', path: mount.path, bytes: tmpBytes } : mount));
  return [...dots, ...toolchains];
}

function problemWith(workspace: string, home: string | null): string | null {
  const isSystem = ['/', '/tmp', '/proc', '/dev', '/sys', '/run', '/var', ...systemTops].includes(workspace);
  if (!isSystem && (home === null || home === workspace || !under(home, workspace))) return null;
  return `the workspace ${workspace} holds the system or all of your home folder: a sandbox could hide nothing there; choose a folder in it`;
}

export function argumentsFor(mounts: readonly Mount[]): string[] {
  return mounts.flatMap((mount) => {
    const { path } = mount;
    switch (mount.kind) {
      case 'read':
        return ['--ro-bind', path, path];
      case 'write':
        return ['--bind', path, path];
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

function sentenceFor(which: keyof Limits, { processes, bytes }: Limits): string {
  if (which === 'processes') return `it wanted more than the ${processes} processes that a command may have at once`;
  return `it wanted more than the ${mib(bytes)} MiB of memory that a command may have, so processes of it were ended`;
}

function mib(bytes: number): number {
  return Math.floor(bytes / 1024 ** 2);
}

function adviceFor(said: string): string {
  if (/uid map|user namespace|Operation not permitted|Permission denied|No permissions/i.test(said))
    return (
      'the system does not let programs make user namespaces: on Ubuntu 24.04 and later give bwrap an AppArmor profile (`apt-get install apparmor-profiles`, then ' +
      '`ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/` and `systemctl reload apparmor`), elsewhere set ' +
      '`sysctl kernel.unprivileged_userns_clone=1`; a container needs `--security-opt seccomp=unconfined`'
    );
  return 'see what `bwrap --unshare-all --ro-bind / / true` says, and install version 0.6 or later';
}

function run(program: string, args: string[]): Promise<{ ok: boolean; said: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { env: {}, cwd: '/', timeout: probeMs, killSignal: 'SIGKILL' }, (error, out, err) => {
      const said = `${out}${err}`.trim().split('\n')[0]?.slice(0, 300) ?? '';
      resolve({ ok: error === null, said: said === '' && error !== null ? `exit code ${error.code ?? error.signal}` : said });
    });
  });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
