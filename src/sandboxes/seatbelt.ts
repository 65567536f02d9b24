// The sandbox of macOS: a profile for `sandbox-exec`. Tests cover its text; it has not been tried on a machine.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SandboxFound, SandboxRequest } from '../ports/sandbox.ts';
import type { BubblewrapOptions } from './bubblewrap.ts';
import { isPathUnder } from './mounts.ts';
import { toolchainMounts } from './toolchain-mounts.ts';

const helper = '/usr/bin/sandbox-exec';
const probeMs = 5000;

/** Programs and what they need. */
const system = ['/usr', '/bin', '/sbin', '/System', '/Library', '/opt', '/private/etc', '/dev', '/private/var/db', '/private/var/select'];
const temporary = '/private/tmp';

export async function findSeatbelt({ env, secret }: Pick<BubblewrapOptions, 'env' | 'secret'>): Promise<SandboxFound> {
  if (!existsSync(helper)) return { ok: false, reason: 'sandbox-exec is missing', advice: 'it is part of macOS, in /usr/bin' };
  const works = await new Promise<boolean>((resolve) => {
    execFile(helper, ['-p', '(version 1) (allow default)', '/usr/bin/true'], { env: {}, timeout: probeMs }, (error) =>
      resolve(error === null),
    );
  });
  if (!works) return { ok: false, reason: 'sandbox-exec does not work here', advice: 'a sandbox cannot be made inside another one' };
  const home = env.HOME ?? null;
  return {
    ok: true,
    sandbox: {
      name: 'seatbelt',
      version: async () => 'of the system',
      limits: 'no limits on processes and memory',
      async confine(wanted) {
        if (home !== null && isPathUnder(home, wanted.workspace))
          return { ok: false, reason: 'the workspace is or contains your home directory; choose a directory inside it' };
        const profile = profileFor(wanted, { home, secret });
        const confined = {
          argv: [helper, '-p', profile, ...wanted.argv],
          env: { ...wanted.env, TMPDIR: temporary },
          join: [],
          namespace: false,
          release: async () => [],
        };
        return { ok: true, confined };
      },
    },
  };
}

/** In a profile later rules override earlier ones. */
export function profileFor(wanted: SandboxRequest, { home, secret }: { home: string | null; secret: readonly string[] }): string {
  const { workspace, writable, network, git, protect, hide, readable = [] } = wanted;
  const inside = (name: string) => join(workspace, name);
  const toolchains = toolchainMounts(wanted.env.PATH ?? '', { home, workspace });
  const read = [
    ...system,
    temporary,
    ...readable.map(({ path }) => path),
    workspace,
    ...toolchains.flatMap(({ kind, path }) => (kind === 'read' ? [path] : [])),
  ];
  const kept = protect.filter((name) => !(git && name === '.git')).map(inside);
  const closed = [
    ...hide.map(inside),
    ...readable.flatMap((folder) => folder.hide),
    ...secret,
    ...toolchains.flatMap(({ kind, path }) => (kind === 'hide' ? [path] : [])),
  ];
  // The folders above must not be renamed: their content would get other names.
  const above = [
    ...new Set([...kept, ...closed].filter((path) => isPathUnder(path, workspace)).flatMap((path) => foldersAbove(path, workspace))),
  ];
  const lines = [
    '(version 1)',
    '(deny default)',
    '(allow process-fork process-exec signal)',
    '(allow sysctl-read mach-lookup ipc-posix-shm)',
    '(allow file-read-metadata)',
    allow('file-read*', read),
    '(allow file-read* (literal "/"))',
    allow('file-write*', [temporary, ...(writable ? [workspace] : [])]),
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
    ...(kept.length > 0 ? [deny('file-write*', kept)] : []),
    ...(closed.length > 0 ? [deny('file-read* file-write*', closed)] : []),
    ...above.map((path) => `(deny file-write* (literal ${quote(path)}))`),
    network ? '(allow network*)' : '(deny network*)',
  ];
  return `${lines.join('\n')}\n`;
}

function allow(what: string, paths: string[]): string {
  return `(allow ${what} ${paths.map(subpath).join(' ')})`;
}

function deny(what: string, paths: string[]): string {
  return `(deny ${what} ${paths.map(subpath).join(' ')})`;
}

function subpath(path: string): string {
  return `(subpath ${quote(path)})`;
}

function quote(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&')}"`;
}

function foldersAbove(path: string, top: string): string[] {
  const folder = dirname(path);
  return folder === top || !isPathUnder(folder, top) ? [] : [...foldersAbove(folder, top), folder];
}
