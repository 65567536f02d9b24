import { readdirSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { RefusedAgent } from '../../agents/files.ts';
import { RetinueError } from '../../contract/error.ts';
import { hashOf } from '../trust.ts';
import { readBytes } from './files.ts';
import { type Env, home, ownFolder } from './places.ts';

const maxFileBytes = 262_144;
const maxFiles = 500;
const claude = join('.claude', 'agents');

export interface FoundFile {
  /** As it is shown: seen from the workspace where it is in there. */
  path: string;
  /** Absolute. */
  file: string;
  text: string;
  hash: string;
}

export interface FoundFiles {
  files: FoundFile[];
  /** Files that are there but cannot be read: what they would have narrowed is not known. */
  refused: RefusedAgent[];
  warnings: { source: string; message: string }[];
  /** Whether the file stands in a folder of Claude Code, and so was written for another program. */
  isForeign(source: string): boolean;
}

/** Agent files of the user and of the workspace; where both are the same folder, it is the user's. */
export function findAgentFiles(workspace: string, env: Env): { user: FoundFiles; workspace: FoundFiles } {
  const own = [join(ownFolder(env), 'agents'), join(home(env), claude)];
  const inside = [join(workspace, '.retinue', 'agents'), join(workspace, claude)];
  return {
    user: readFolders(own, null),
    workspace: readFolders(
      inside.filter((folder) => !own.some((other) => samePlace(folder, other))),
      workspace,
    ),
  };
}

/** Markdown files of the folders themselves, by name. Links that lead out of a workspace are not followed. */
function readFolders(folders: string[], workspace: string | null): FoundFiles {
  const foreign = new Set<string>();
  const found: FoundFiles = { files: [], refused: [], warnings: [], isForeign: (source) => foreign.has(source) };
  for (const folder of folders) {
    for (const name of namesOf(folder)) {
      const file = join(folder, name);
      const path = workspace === null ? file : relative(workspace, file);
      if (folder.endsWith(claude)) foreign.add(path);
      if (workspace !== null && leadsOut(file, workspace)) {
        found.warnings.push({ source: path, message: 'not read: it is a link that leads out of the workspace' });
        continue;
      }
      try {
        const bytes = readAll(file);
        if (bytes) found.files.push({ path, file, text: new TextDecoder().decode(bytes), hash: hashOf(file, bytes) });
      } catch (error) {
        found.refused.push({ name: name.slice(0, -'.md'.length), source: path, problems: [(error as Error).message] });
      }
    }
  }
  return found;
}

function readAll(file: string): Uint8Array | null {
  const bytes = readBytes(file, maxFileBytes);
  if (bytes && bytes.length > maxFileBytes) throw new RetinueError('usage', `${file} has more than ${maxFileBytes} bytes`);
  return bytes;
}

function namesOf(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const agents = names.filter((name) => name.endsWith('.md') && !name.startsWith('.'));
  if (agents.length > maxFiles) throw new RetinueError('invalid_config', `${folder} has more than ${maxFiles} agents`);
  return agents.sort();
}

function leadsOut(file: string, workspace: string): boolean {
  try {
    return !realpathSync(file).startsWith(join(workspace, '/'));
  } catch {
    // A link to nothing is no file, and is passed over as such.
    return false;
  }
}

function samePlace(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
