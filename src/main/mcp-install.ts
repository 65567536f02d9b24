// Our server in the configuration of an MCP client: what would be written and where, and the writing. Nothing that stands in the file is
// lost; what cannot be understood is refused.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import type { McpInstallation, McpInstallRequest } from '../cli/io.ts';
import { RetinueError } from '../contract/error.ts';
import { directory, readBytes } from './config/files.ts';
import type { Env } from './config/places.ts';
import { type Client, clients, type Merged, type ServerCommand } from './mcp-install/clients.ts';
import { mergeJson } from './mcp-install/json.ts';
import { mergeToml } from './mcp-install/toml.ts';

const maxBytes = 16 * 1024 * 1024;

export interface InstallGround {
  cwd: string;
  env: Env;
  /** The folder of this package, and the Node that runs it. */
  root: string;
  node: string;
}

/** Rejects with `invalid_config` or `usage`. */
export function planInstall(request: McpInstallRequest, ground: InstallGround): McpInstallation {
  const client = clients[request.client];
  const file = request.project ? client.project(directory(ground.cwd, request.workspace ?? '.')) : client.user(ground.env);
  const bytes = readBytes(file, maxBytes);
  if (bytes !== null && bytes.length > maxBytes) throw new RetinueError('invalid_config', `${file} is larger than ${maxBytes} bytes`);
  const before = bytes === null ? '' : textOf(file, bytes);
  const command = commandOf(request.flags, ground);
  const { text: after, removed } = merge(client, file, before, command);
  return {
    ...{ client: request.client, file, exists: bytes !== null, before, after, removed, same: after === before },
    snippet: merge(client, file, '', command).text,
  };
}

function merge(client: Client, file: string, text: string, command: ServerCommand): Merged {
  return client.format === 'toml' ? mergeToml(file, text, command) : mergeJson(file, text, client.entry(command));
}

/** From npm the package is fetched by name; a clone is started where it lies, with the Node that it came with. */
function commandOf(flags: string[], { root, node, cwd }: InstallGround): ServerCommand {
  const args = flags.map((each, index) => (['--db', '--config'].includes(flags[index - 1] ?? '') ? resolve(cwd, each) : each));
  const published = root.split(sep).includes('node_modules');
  if (published) return { command: 'npx', args: ['-y', 'retinue', 'mcp', ...args] };
  return { command: node, args: [resolve(root, 'bin', 'retinue.js'), 'mcp', ...args] };
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new RetinueError('invalid_config', `${file} is not UTF-8; it is left alone`);
  }
}

/** Beside its place and then under its name. A link stays one: the file that it leads to is replaced. */
export function applyInstall({ file, exists, before, after }: McpInstallation): string | null {
  const now = readBytes(file, maxBytes);
  if ((now === null) === exists || (now !== null && textOf(file, now) !== before))
    throw new RetinueError('usage', `${file} has changed meanwhile; run the command again`);
  try {
    mkdirSync(dirname(file), { recursive: true });
    const target = exists ? realpathSync(file) : file;
    const mode = exists ? statSync(target).mode & 0o777 : 0o600;
    const backup = exists ? keep(file, before, mode) : null;
    const draft = `${target}.${randomBytes(4).toString('hex')}`;
    try {
      write(draft, after, mode);
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

/** A copy under the first name that is free. */
function keep(file: string, text: string, mode: number): string {
  for (let n = 0; ; n++) {
    const name = `${file}.before-retinue${n === 0 ? '' : `-${n}`}`;
    if (lstatSync(name, { throwIfNoEntry: false })) continue;
    write(name, text, mode);
    return name;
  }
}

function write(path: string, text: string, mode: number): void {
  const fd = openSync(path, 'wx', mode);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
