// Plans and writes the change to a client's configuration file. Keeps everything else in the file, and refuses a file it cannot parse.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { RetinueError } from '../../contract/error.ts';
import { hasPassword, isDatabaseUrl } from '../../stores/postgres/url.ts';
import { assertNoForeignUrl } from '../database-setting.ts';
import { readBytes, resolveDirectory } from '../files.ts';
import type { Env } from '../user-folders.ts';
import { clientFormats, type EntryFormat, type McpClient, type MergeResult, type ServerCommand } from './clients.ts';
import { mergeJson } from './json.ts';
import { mergeToml } from './toml.ts';

const maxBytes = 16 * 1024 * 1024;

export interface McpInstallRequest {
  client: McpClient;
  /** Flags for the server's command. */
  flags: string[];
  /** Writes the project's file in the workspace instead of the user's. */
  project: boolean;
  workspace: string | undefined;
  /** Names of the variables that the server needs. */
  variables: string[];
}

/** A planned change of a client's configuration file. `client`: the name that the user gave. */
export interface McpInstallation {
  client: string;
  file: string;
  exists: boolean;
  /** The server's entry as a file of its own, to show to the user. */
  snippet: string;
  /** Keys of the server's entry that are removed because they belong to another transport. */
  removed: string[];
  /** Whether the file already has the entry. */
  same: boolean;
  before: string;
  after: string;
  server: ServerCommand;
}

export interface InstallContext {
  cwd: string;
  env: Env;
  /** Folder of this package. */
  root: string;
  /** The Node executable that runs it. */
  node: string;
}

/** Throws `invalid_config` or `usage`. */
export function planInstall(request: McpInstallRequest, context: InstallContext): McpInstallation {
  const format = clientFormats[request.client];
  const file = request.project ? format.projectFile(resolveDirectory(context.cwd, request.workspace ?? '.')) : format.userFile(context.env);
  return planFile(request.client, { file, format, server: createServerCommand('mcp', request, context) });
}

/** Plans the entry of a command in one file. Throws `invalid_config` if the file cannot be changed safely. */
export function planFile(
  client: string,
  { file, format, server }: { file: string; format: EntryFormat; server: ServerCommand },
): McpInstallation {
  const bytes = readBytes(file, maxBytes);
  if (bytes !== null && bytes.length > maxBytes) throw new RetinueError('invalid_config', `${file} is larger than ${maxBytes} bytes`);
  const before = bytes === null ? '' : decode(file, bytes);
  const { text: after, removed } = mergeServer(format, file, before, server);
  return {
    ...{ client, file, exists: bytes !== null, before, after, removed, same: after === before },
    snippet: mergeServer(format, file, '', server).text,
    server,
  };
}

function mergeServer(format: EntryFormat, file: string, text: string, command: ServerCommand): MergeResult {
  return format.format === 'toml' ? mergeToml(file, text, command) : mergeJson(file, text, format.entry(command));
}

/** Absolute paths of the running Node and program: they work from any folder, without a path and without a registry. */
export function createServerCommand(
  command: 'mcp' | 'acp',
  { flags, variables }: Pick<McpInstallRequest, 'flags' | 'variables'>,
  { root, node, cwd }: InstallContext,
): ServerCommand {
  // npm deletes and renames the folders of `npx` as it likes.
  if (root.split(sep).includes('_npx'))
    throw new RetinueError('usage', 'this copy is in the cache of `npx`, which npm may delete; install Retinue first (see the README)');
  for (const [index, flag] of flags.entries()) if (flags[index - 1] === '--db') assertNoForeignUrl(flag, '--db');
  // Values of variables are not written into a client's file, so neither is this one.
  if (flags.some((flag) => isDatabaseUrl(flag) && hasPassword(flag)))
    throw new RetinueError('usage', 'the address after --db has a password, which would be written into a file; set RETINUE_DB instead');
  const args = flags.map((flag, index) => (isPathFlag(flags[index - 1]) && !isDatabaseUrl(flag) ? resolve(cwd, flag) : flag));
  return { command: node, args: [resolve(root, 'bin', 'retinue.js'), command, ...args], variables };
}

function isPathFlag(flag: string | undefined): boolean {
  return flag === '--db' || flag === '--config';
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new RetinueError('invalid_config', `${file} was not changed: it is not UTF-8`);
  }
}

/**
 * Writes a temporary file and renames it. Of a symbolic link, the target is replaced. Returns the path of the backup; null for a new file.
 * Throws `usage` if the file has changed since the plan.
 */
export function applyInstall({ file, exists, before, after }: McpInstallation): string | null {
  const current = readBytes(file, maxBytes);
  if ((current === null) === exists || (current !== null && decode(file, current) !== before))
    throw new RetinueError('usage', `${file} has changed in the meantime; run the command again`);
  try {
    mkdirSync(dirname(file), { recursive: true });
    const target = exists ? realpathSync(file) : file;
    const mode = exists ? statSync(target).mode & 0o777 : 0o600;
    const backup = exists ? writeBackup(file, before, mode) : null;
    const draft = `${target}.${randomBytes(4).toString('hex')}`;
    try {
      writeNewFile(draft, after, mode);
      renameSync(draft, target);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
    return backup;
  } catch (error) {
    throw new RetinueError('usage', `${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

/** Uses the first name that is free. */
function writeBackup(file: string, text: string, mode: number): string {
  for (let n = 0; ; n++) {
    const name = `${file}.before-retinue${n === 0 ? '' : `-${n}`}`;
    if (lstatSync(name, { throwIfNoEntry: false })) continue;
    writeNewFile(name, text, mode);
    return name;
  }
}

function writeNewFile(path: string, text: string, mode: number): void {
  const fd = openSync(path, 'wx', mode);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
