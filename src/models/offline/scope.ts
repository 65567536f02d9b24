import { z } from 'zod';
import { groupFolders, maxFolders, maxGroups, maxTasks } from './limits.ts';
import { byName, code, plain } from './text.ts';

/** What one run surveys: folders at the top of the workspace, and perhaps the files there. */
export interface Scope {
  folders: string[];
  files: boolean;
}

const folderName = z.string().regex(/^(?!\.\.?$)[^/]+$/s, 'the name of a folder at the top');
const Scope = z.strictObject({ folders: z.array(folderName).max(1000), files: z.boolean() });

const marker = 'survey-scope:';

/** The task of a child: for people first, and its last line for the child's own rules. */
export function taskOf(scope: Scope): string {
  return `Survey ${described(scope)} of this workspace: languages, sizes, entry points, tests, TODOs, imports and the largest files.
Answer with a short summary and, as its last part, the survey as a JSON block.

${marker} ${JSON.stringify(scope)}`;
}

function described({ folders, files }: Scope): string {
  const [first, ...more] = folders;
  if (first === undefined) return 'the files at the top';
  const named =
    more.length === 0
      ? `the folder ${code(first)}`
      : `the folders ${folders
          .slice(0, 30)
          .map((name) => code(name))
          .join(', ')}`;
  return files ? `${named} and the files at the top` : named;
}

/** Null for every task that no surveyor wrote. */
export function scopeOf(task: string): Scope | null {
  const line = task.split('\n').find((each) => each.startsWith(`${marker} `));
  if (line === undefined) return null;
  try {
    return Scope.safeParse(JSON.parse(line.slice(marker.length))).data ?? null;
  } catch {
    return null;
  }
}

export function labelOf({ folders }: Scope): string {
  const [first, ...more] = folders;
  if (first === undefined) return 'files at the top';
  const label = plain(first, 80) || 'folder';
  return more.length === 0 ? label : `${label} and ${more.length} more`;
}

interface Sized {
  name: string;
  entries: number;
}

const most = maxTasks - 1;

/**
 * One scope for each folder; where they are too many, the largest stay alone and the others share. The files at the top come last.
 * `left`: folders for which there is no room even so.
 */
export function divide(folders: Sized[], files: boolean): { scopes: Scope[]; left: string[] } {
  const bySize = folders.toSorted((a, b) => b.entries - a.entries || byName(a.name, b.name));
  const groups = groupsFor(folders.length);
  const alone = bySize.slice(0, most - groups);
  const room = alone.length + groups * maxFolders;
  const rest = namesOf(bySize.slice(alone.length, room));
  const each = Math.ceil(rest.length / groups);
  const scopes: Scope[] = namesOf(alone).map((name) => ({ folders: [name], files: false }));
  for (let start = 0; start < rest.length; start += each) scopes.push({ folders: rest.slice(start, start + each), files: false });
  if (files) scopes.push({ folders: [], files: true });
  return { scopes, left: namesOf(bySize.slice(room)) };
}

/** How many runs are shared: as few as hold the folders that have none of their own. */
function groupsFor(folders: number): number {
  let groups = 0;
  while (groups < maxGroups && folders - (most - groups) > groups * groupFolders) groups++;
  return groups;
}

function namesOf(folders: Sized[]): string[] {
  return folders.map(({ name }) => name).sort(byName);
}
