// Other commands may be at work in the same workspace, and paths are looked at before the helper mounts them: a folder that is swapped for a link in
// between would bring a folder from outside in. So each mount is held against what was looked at, before the command is started.
import { lstatSync } from 'node:fs';
import { type Mount, under } from './mounts.ts';

/** Gives what says, for the first process of the sandbox, why the mounts in the workspace are not those that were meant; null where they are. */
export function identify(mounts: readonly Mount[], workspace: string): (init: number) => string | null {
  const inside = mounts.filter(({ path }) => path !== workspace && under(path, workspace));
  const meant = inside.map((mount) => ({ mount, id: idOf(mount.path) }));
  return (init) => {
    for (const { mount, id } of meant) {
      const there = idOf(`/proc/${init}/root${mount.path}`);
      const isIt = there === id;
      const shouldBe = mount.kind === 'read' || mount.kind === 'write';
      if (id === null || there === null || isIt !== shouldBe) return `${mount.path} was changed at that moment; try again`;
    }
    return null;
  };
}

/** Null for a link, and for what is not there. */
function idOf(path: string): string | null {
  try {
    const stats = lstatSync(path, { bigint: true });
    return stats.isSymbolicLink() ? null : `${stats.dev}:${stats.ino}`;
  } catch {
    return null;
  }
}
