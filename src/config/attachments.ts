// Files and texts that a user gives to a run. A file of the workspace is named as it is. A file from elsewhere, or a long text from standard
// input, is copied into a folder of the workspace, where the tools of the run can read all of it in parts.
import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { readWorkspaceFile } from '../tools/index.ts';
import { findNamedPath, isInside, missingPathError, readBytes } from './files.ts';

/** Beside `.retinue`, which is closed to tools. */
const folderName = '.retinue-files';
const ownerFile = '.run';
const maxBytes = 64 * 1024 * 1024;
/** What the first message of a run contains of each file; `conversation/prompt-builder.ts` cuts there. */
const shownCharacters = 10_000;

/** A file of a brief. */
export interface BriefFile {
  /** Relative to the workspace. */
  path: string;
  /** What the user should know about it; null if all of it is in the first message. */
  notice: string | null;
}

/** A file that the user named. Rejects with `usage` if it does not exist, is not text, is too large or is closed to agents. */
export async function prepareFile(workspace: string, cwd: string, written: string): Promise<BriefFile> {
  const file = findNamedPath(workspace, cwd, written);
  if (file === null) throw missingPathError('file', written, join(cwd, written));
  const real = realpathSync(file);
  if (!isInside(workspace, real)) return attachText(workspace, basename(file), readText(written, real));
  const path = relative(workspace, file);
  if (lstatSync(real).isDirectory())
    throw new RetinueError('usage', `--file: ${written} is a directory; name its files, or let the agent look into it`);
  const start = await readWorkspaceFile(workspace, path, shownCharacters);
  if (!start.ok) throw new RetinueError('usage', `--file: ${start.reason}`);
  return { path, notice: start.truncated ? cutNotice(path, lstatSync(real).size) : null };
}

/** Copies a text into the workspace. Rejects with `usage` if that is impossible. */
export async function attachText(workspace: string, name: string, text: string): Promise<BriefFile> {
  const path = join(
    folderName,
    randomBytes(4).toString('hex'),
    name
      .replace(/[^\w.-]/g, '_')
      .slice(-100)
      .replace(/^\.+/, '_') || 'text',
  );
  try {
    createFolder(workspace);
    mkdirSync(join(workspace, dirname(path)), { mode: 0o700 });
    writeFileSync(join(workspace, path), text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new RetinueError('usage', `${join(workspace, path)} cannot be written: ${(error as Error).message}`, { cause: error });
  }
  const copied = `${name} was copied to ${path}, where the agent can read it`;
  return { path, notice: text.length > shownCharacters ? `${cutNotice(name, Buffer.byteLength(text))} (${path})` : copied };
}

/** Records which run the copies belong to: they are deleted when it is erased. */
export function claimAttachments(workspace: string, files: BriefFile[], runId: string): void {
  for (const folder of attachmentFolders(workspace, files)) writeFileSync(join(folder, ownerFile), runId, { flag: 'wx', mode: 0o600 });
}

/** Deletes copies for a run that was not started. */
export function dropAttachments(workspace: string, files: BriefFile[]): void {
  for (const folder of attachmentFolders(workspace, files)) rmSync(folder, { recursive: true, force: true });
}

/** Deletes the copies of erased runs. */
export function removeAttachments(workspace: string, runIds: string[]): void {
  const root = join(workspace, folderName);
  for (const name of listFolder(root))
    if (runIds.includes(readOwner(join(root, name)))) rmSync(join(root, name), { recursive: true, force: true });
}

function attachmentFolders(workspace: string, files: BriefFile[]): string[] {
  return files.filter(({ path }) => path.startsWith(`${folderName}/`)).map(({ path }) => join(workspace, dirname(path)));
}

function cutNotice(name: string, bytes: number): string {
  return `${name} has ${bytes} bytes: the first message contains its first ${shownCharacters} characters, and the agent can read the rest, up to 2000 characters of each line`;
}

function readText(written: string, file: string): string {
  const bytes = readBytes(file, maxBytes);
  if (bytes === null) throw missingPathError('file', written, file);
  if (bytes.length > maxBytes) throw new RetinueError('usage', `--file: ${written} is larger than ${maxBytes} bytes`);
  if (bytes.subarray(0, 8192).includes(0))
    throw new RetinueError('usage', `--file: ${written} is a binary file; only text can be given to an agent`);
  return new TextDecoder().decode(bytes);
}

/** A repository could contain a link of this name, to have copies written somewhere else. */
function createFolder(workspace: string): void {
  const folder = join(workspace, folderName);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folderName} is not a directory`);
  try {
    writeFileSync(join(folder, '.gitignore'), '*\n', { flag: 'wx' });
  } catch {
    // It has one already.
  }
}

function listFolder(path: string): string[] {
  try {
    return lstatSync(path).isDirectory() ? readdirSync(path) : [];
  } catch {
    return [];
  }
}

function readOwner(folder: string): string {
  try {
    return readFileSync(join(folder, ownerFile), 'utf8');
  } catch {
    return '';
  }
}
