// Finds agent files: Markdown files in the agent folders of the user and of the workspace.
import { readdirSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { RefusedAgent } from '../agents/files.ts';
import { RetinueError } from '../contract/error.ts';
import { readBytes } from './files.ts';
import { hashFile } from './trust.ts';
import { type Env, homeFolder, userConfigFolder } from './user-folders.ts';

const maxFileBytes = 262_144;
const maxFiles = 500;
const claudeFolder = join('.claude', 'agents');

export interface FoundFile {
  /** For display: relative to the workspace if the file is inside it. */
  path: string;
  /** Absolute. */
  file: string;
  text: string;
  hash: string;
}

export interface FoundFiles {
  files: FoundFile[];
  /** Files that exist but cannot be read. */
  refused: RefusedAgent[];
  warnings: { source: string; message: string }[];
  /** Whether the file is in a folder of Claude Code and so was written for another program. */
  isForeign(source: string): boolean;
}

/** A folder that belongs to both the user and the workspace counts as the user's. */
export function findAgentFiles(workspace: string, env: Env): { user: FoundFiles; workspace: FoundFiles } {
  const userFolders = [join(userConfigFolder(env), 'agents'), join(homeFolder(env), claudeFolder)];
  const workspaceFolders = [join(workspace, '.retinue', 'agents'), join(workspace, claudeFolder)];
  return {
    user: readFolders(userFolders, null),
    workspace: readFolders(
      workspaceFolders.filter((folder) => !userFolders.some((other) => isSameFolder(folder, other))),
      workspace,
    ),
  };
}

/** Files directly in the folders, sorted by name. Does not follow links that lead out of the workspace. */
export function readFolders(folders: string[], workspace: string | null): FoundFiles {
  const foreign = new Set<string>();
  const found: FoundFiles = { files: [], refused: [], warnings: [], isForeign: (source) => foreign.has(source) };
  for (const folder of folders) {
    for (const name of listAgentFiles(folder)) {
      const file = join(folder, name);
      const path = workspace === null ? file : relative(workspace, file);
      if (folder.endsWith(claudeFolder)) foreign.add(path);
      if (workspace !== null && leadsOutOf(workspace, file)) {
        found.warnings.push({ source: path, message: 'not read: it is a link that leads out of the workspace' });
        continue;
      }
      try {
        const bytes = readWholeFile(file);
        if (bytes) found.files.push({ path, file, text: new TextDecoder().decode(bytes), hash: hashFile(file, bytes) });
      } catch (error) {
        found.refused.push({ name: name.slice(0, -'.md'.length), source: path, problems: [(error as Error).message] });
      }
    }
  }
  return found;
}

function readWholeFile(file: string): Uint8Array | null {
  const bytes = readBytes(file, maxFileBytes);
  if (bytes && bytes.length > maxFileBytes) throw new RetinueError('usage', `${file} is larger than ${maxFileBytes} bytes`);
  return bytes;
}

function listAgentFiles(folder: string): string[] {
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

/** False for a broken link, which is then skipped like a missing file. */
function leadsOutOf(workspace: string, file: string): boolean {
  try {
    return !realpathSync(file).startsWith(join(workspace, '/'));
  } catch {
    return false;
  }
}

function isSameFolder(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
