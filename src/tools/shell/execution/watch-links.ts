// A sandbox closes files and folders, but not links: a command may remove a link that leads to a closed file and put another file in its place. So the
// links on the way to closed paths are recorded before a command and restored afterwards.
import { findLinksOnPath, readLink } from '../../../system/links.ts';
import { pathInside } from '../../files/paths.ts';
import { moveAside, restoreLink } from './move-aside.ts';

export interface LinkWatch extends Disposable {
  /** Returns the links that were restored, what was renamed for that, by its new name, and links that could not be restored. */
  restoreChanged(): Promise<{ restored: string[]; moved: string[]; left: string[] }>;
}

/**
 * Commands running in one workspace at the same time, whatever their run, and the links as the first of them found them: a command that starts later may
 * find what another one has already replaced. This process-wide map is the only state of this module.
 */
const byWorkspace = new Map<string, { count: number; links: Map<string, string> }>();

/** `root`: a real path. `paths`: closed paths in it. The caller disposes of the watch after the last comparison. */
export function watchLinks(root: string, paths: readonly string[]): LinkWatch {
  const commands = byWorkspace.get(root) ?? { count: 0, links: new Map<string, string>() };
  byWorkspace.set(root, commands);
  commands.count++;
  for (const { path, target } of paths.flatMap((each) => findLinksOnPath(root, each))) {
    const inside = pathInside([root], path);
    if (inside !== null && !commands.links.has(inside)) commands.links.set(inside, target);
  }
  return {
    async restoreChanged() {
      const restored: string[] = [];
      const moved: string[] = [];
      const left: string[] = [];
      for (const [path, target] of commands.links) {
        if (readLink(`${root}/${path}`) === target) continue;
        try {
          moved.push(...(await moveAside(root, path)));
          await restoreLink(root, path, target);
          restored.push(path);
        } catch {
          // Whatever the cause, the path may now mean another file: the model is told.
          left.push(path);
        }
      }
      return { restored, moved, left };
    },
    [Symbol.dispose]() {
      if (--commands.count === 0) byWorkspace.delete(root);
    },
  };
}
