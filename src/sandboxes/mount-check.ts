// Checks mounts before the command starts. Other commands may run in the same workspace, and paths are examined before the sandbox helper mounts them: a
// directory that is swapped for a link in between would bring in a directory from outside.
import { lstatSync } from 'node:fs';
import { isPathUnder, type Mount } from './mounts.ts';

/** Records the files behind the mounts in the workspace. The returned function takes the first process of the sandbox and says why a mount is wrong, or null. */
export function createMountCheck(mounts: readonly Mount[], workspace: string): (init: number) => string | null {
  const inside = mounts.filter(({ path }) => path !== workspace && isPathUnder(path, workspace));
  const recorded = inside.map((mount) => ({ mount, id: fileId(mount.path) }));
  return (init) => {
    for (const { mount, id } of recorded) {
      const mounted = fileId(`/proc/${init}/root${mount.path}`);
      const shouldBeSame = mount.kind === 'read' || mount.kind === 'write';
      if (id === null || mounted === null || (mounted === id) !== shouldBeSame)
        return `${mount.path} was changed while the sandbox was created; try again`;
    }
    return null;
  };
}

/** Null for a link or a missing file. */
function fileId(path: string): string | null {
  try {
    const stats = lstatSync(path, { bigint: true });
    return stats.isSymbolicLink() ? null : `${stats.dev}:${stats.ino}`;
  } catch {
    return null;
  }
}
