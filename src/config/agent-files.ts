// Finds agent files: those of every format in the folders of the user and of the workspace.
import { readdirSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { type AgentFormat, fileStem, type RefusedAgent, type UserFolders } from '../agents/files.ts';
import { agentFormats } from '../agents/formats/index.ts';
import { RetinueError } from '../contract/error.ts';
import { readBytes } from './files.ts';
import { hashFile } from './trust.ts';
import { type Env, homeFolder, userConfigFolder } from './user-folders.ts';

const maxFileBytes = 262_144;
const maxFiles = 500;

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
}

/** The files of one format. */
export interface FormatFiles {
  format: AgentFormat;
  user: FoundFiles;
  workspace: FoundFiles;
}

/** In the order in which formats win. A folder that belongs to both the user and the workspace counts as the user's. */
export function findAgentFiles(workspace: string, env: Env): FormatFiles[] {
  const folders = toUserFolders(env);
  return agentFormats.map((format) => {
    const userFolders = format.userFolders(folders);
    const own = format.folders.map((folder) => join(workspace, folder));
    return {
      format,
      user: readFolders(userFolders, null, format),
      workspace: readFolders(
        own.filter((folder) => !userFolders.some((other) => isSameFolder(folder, other))),
        workspace,
        format,
      ),
    };
  });
}

export function toUserFolders(env: Env): UserFolders {
  return {
    home: homeFolder(env),
    config: join(userConfigFolder(env), '..'),
    variable: (name) => (env[name] && isAbsolute(env[name]) ? env[name] : undefined),
  };
}

type FileNames = Pick<AgentFormat, 'endings' | 'fileNames'>;

/** Files directly in the folders, sorted by name. Does not follow links that lead out of the workspace. */
export function readFolders(folders: string[], workspace: string | null, names: FileNames = { endings: ['.md'] }): FoundFiles {
  const found: FoundFiles = { files: [], refused: [], warnings: [] };
  for (const folder of folders) {
    const listed = listFiles(folder, names);
    if (listed.length > maxFiles)
      found.warnings.push({ source: folder, message: `only the first ${maxFiles} of ${listed.length} files are read` });
    for (const name of listed.slice(0, maxFiles)) {
      const file = join(folder, name);
      const path = workspace === null ? file : relative(workspace, file);
      if (workspace !== null && leadsOutOf(workspace, file)) {
        found.warnings.push({ source: path, message: 'not read: it is a link that leads out of the workspace' });
        continue;
      }
      try {
        const bytes = readWholeFile(file);
        if (bytes) found.files.push({ path, file, text: new TextDecoder().decode(bytes), hash: hashFile(file, bytes) });
      } catch (error) {
        found.refused.push({ name: fileStem(name, names.endings), source: path, problems: [(error as Error).message] });
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

function listFiles(folder: string, { endings, fileNames }: FileNames): string[] {
  let names: string[];
  try {
    names = fileNames ? readdirSync(folder).filter((name) => fileNames.includes(name)) : readdirSync(folder);
  } catch {
    return [];
  }
  return names.filter((name) => endings.some((ending) => name.endsWith(ending)) && !name.startsWith('.')).sort();
}

/** False for a broken link, which is then skipped like a missing file. */
export function leadsOutOf(workspace: string, file: string): boolean {
  try {
    return !realpathSync(file).startsWith(join(workspace, '/'));
  } catch {
    return false;
  }
}

export function isSameFolder(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
