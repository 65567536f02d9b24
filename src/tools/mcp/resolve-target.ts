// Resolves the variables of a server definition.
import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import type { McpServer } from '../../contract/mcp-server.ts';
import { createEnvironment, type ShellEnvironment } from '../shell/environment.ts';

/** A server definition with its variables replaced: the command to start, or the address to connect to. */
export type ServerTarget =
  | { kind: 'command'; command: string; args: string[]; cwd: string; env: Record<string, string> }
  | { kind: 'address'; url: URL; headers: Record<string, string>; sse: boolean };

export interface TargetDeps {
  env: ShellEnvironment;
  workspace: string;
}

/**
 * Throws an Error whose message says what is missing. A server gets the environment that shell commands get, and the variables its definition names. It
 * starts in the user's home directory unless its definition says otherwise, and its PATH has no directory of the workspace, because in an untrusted workspace `npx` and `python -m` would run files of
 * the workspace.
 */
export function resolveTarget(server: McpServer, { env, workspace }: TargetDeps): ServerTarget {
  const expand = (text: string) => expandVariables(text, env);
  const expandValues = (record: Record<string, string> = {}) => mapValues(record, expand);
  if (server.command !== undefined) {
    const passed = Object.fromEntries((server.envFrom ?? []).map((name) => [name, readVariable(name, env)]));
    return {
      kind: 'command',
      command: server.command,
      args: (server.args ?? []).map(expand),
      cwd: requireDirectory(server.cwd === undefined ? homeDirectory(env) : resolve(workspace, server.cwd)),
      env: { ...createEnvironment(env, workspace), ...passed, ...expandValues(server.env) },
    };
  }
  const url = URL.parse(expand(server.url ?? ''));
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('its url is not an http or https address');
  const named = mapValues(server.headersFrom ?? {}, (name) => readVariable(name, env));
  return { kind: 'address', url, headers: { ...expandValues(server.headers), ...named }, sse: server.type === 'sse' };
}

/** An empty variable counts as unset. */
function readVariable(name: string, env: ShellEnvironment): string {
  const value = env[name];
  if (value) return value;
  throw new Error(`the variable ${name}, which its definition names, is not set`);
}

function expandVariables(text: string, env: ShellEnvironment): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, other?: string) =>
    other === undefined ? readVariable(name, env) : env[name] || other,
  );
}

function homeDirectory(env: ShellEnvironment): string {
  return env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir();
}

function requireDirectory(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new Error(`its working directory ${path} does not exist`);
}

function mapValues(record: Record<string, string>, map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
