// The list of what a sandbox shows of the machine. `system-mounts.ts`, `toolchain-mounts.ts` and `workspace-mounts.ts` make the entries.

/** Mounted in order; later mounts cover earlier ones. */
export type Mount =
  /** The path as it is outside. */
  | { kind: 'read' | 'write'; path: string }
  /** Another path, read-only. */
  | { kind: 'other'; path: string; source: string }
  /** A symbolic link as it is outside. */
  | { kind: 'link'; path: string; target: string }
  /** An empty directory in memory. */
  | { kind: 'fresh'; path: string; bytes: number }
  /** Replaces an existing directory or file by an empty one that cannot be written. */
  | { kind: 'hide'; path: string; folder: boolean };

/** Removes duplicates, mounts inside a hidden directory, where nothing can be mounted, and mounts that a later one covers. */
export function removeCovered(mounts: readonly Mount[]): Mount[] {
  const hidden = mounts.filter((mount) => mount.kind === 'hide' && mount.folder);
  const isCovered = ({ path }: Mount) => hidden.some((other) => other.path !== path && isPathUnder(path, other.path));
  const isFirst = (mount: Mount, n: number) => mounts.findIndex(({ kind, path }) => kind === mount.kind && path === mount.path) === n;
  const isOver = (mount: Mount, { kind, path }: Mount) =>
    (kind === 'hide' || kind === 'fresh') && kind !== mount.kind && isPathUnder(mount.path, path);
  const isBuried = (mount: Mount, n: number) => mounts.slice(n + 1).some((later) => isOver(mount, later));
  return mounts.filter((mount, n) => !isCovered(mount) && isFirst(mount, n) && !isBuried(mount, n));
}

/** Whether `path` is `top` or below it. Both absolute, without `..`. */
export function isPathUnder(path: string, top: string): boolean {
  return path === top || path.startsWith(top === '/' ? '/' : `${top}/`);
}
