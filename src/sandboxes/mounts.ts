/** What a sandbox shows of the machine, in the order in which it is put there: later ones lie over earlier ones. */
export type Mount =
  /** The same path as outside. */
  | { kind: 'read' | 'write'; path: string }
  /** A link that stands outside in the same way. */
  | { kind: 'link'; path: string; target: string }
  /** An empty folder of its own, in memory. */
  | { kind: 'fresh'; path: string; bytes: number }
  /** Something that is there, as an empty folder or an empty file that cannot be written. */
  | { kind: 'hide'; path: string; folder: boolean };

/** Without what lies in a hidden folder, where nothing can be put, without what a later one lies over, and without what is there twice. */
export function settled(mounts: readonly Mount[]): Mount[] {
  const hidden = mounts.filter((mount) => mount.kind === 'hide' && mount.folder);
  const isCovered = ({ path }: Mount) => hidden.some((other) => other.path !== path && under(path, other.path));
  const isFirst = (mount: Mount, n: number) => mounts.findIndex(({ kind, path }) => kind === mount.kind && path === mount.path) === n;
  const isOver = (mount: Mount, { kind, path }: Mount) =>
    (kind === 'hide' || kind === 'fresh') && kind !== mount.kind && under(mount.path, path);
  const isBuried = (mount: Mount, n: number) => mounts.slice(n + 1).some((later) => isOver(mount, later));
  return mounts.filter((mount, n) => !isCovered(mount) && isFirst(mount, n) && !isBuried(mount, n));
}

/** Whether `path` is `top` or lies below it. Both absolute, without `..`. */
export function under(path: string, top: string): boolean {
  return path === top || path.startsWith(top === '/' ? '/' : `${top}/`);
}
