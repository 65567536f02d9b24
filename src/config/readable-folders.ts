// Folders outside the workspace that tools may read (`--add-dir`).
import { relative, sep } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { resolveDirectory } from './files.ts';
import { type Env, homeFolder } from './user-folders.ts';

/** The real paths. Throws `usage` for a folder that does not exist, or that would show more than another project. */
export function resolveReadable(given: string[], { cwd, workspace, env }: { cwd: string; workspace: string; env: Env }): string[] {
  const folders = given.map((path) => {
    const folder = resolveDirectory(cwd, path);
    if (contains(folder, workspace))
      throw new RetinueError('usage', `the added folder ${path} contains the workspace ${workspace}; add a folder beside it`);
    if (contains(folder, homeFolder(env)))
      throw new RetinueError('usage', `the added folder ${path} contains your home directory with its keys; add a folder inside it`);
    return folder;
  });
  // A folder inside the workspace can be read anyway.
  return [...new Set(folders)].filter((folder) => !contains(workspace, folder));
}

function contains(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`));
}
