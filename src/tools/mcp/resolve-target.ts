import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import type { McpServer } from '../../contract/mcp-server.ts';
import { type Environment, environmentOf } from '../shell/environment.ts';

/** A definition with its variables put in: what is started, or where one connects to. */
export type Target =
  | { kind: 'command'; command: string; args: string[]; cwd: string; env: Record<string, string> }
  | { kind: 'address'; url: URL; headers: Record<string, string>; sse: boolean };

export interface Surroundings {
  env: Environment;
  workspace: string;
}

/**
 * Throws an Error whose message says what is missing. A server sees of the environment what a shell command sees, and what its definition
 * names. It starts in the user's own folder unless its definition says otherwise: in a workspace that nobody trusts, `npx` and `python -m`
 * would run what lies there.
 */
export function settle(server: McpServer, { env, workspace }: Surroundings): Target {
  const put = (text: string) => expand(text, env);
  const values = (record: Record<string, string> = {}) => mapValues(record, put);
  if (server.command !== undefined) {
    const passed = Object.fromEntries((server.envFrom ?? []).map((name) => [name, variable(name, env)]));
    return {
      kind: 'command',
      command: server.command,
      args: (server.args ?? []).map(put),
      cwd: directory(server.cwd === undefined ? home(env) : resolve(workspace, server.cwd)),
      env: { ...environmentOf(env), ...passed, ...values(server.env) },
    };
  }
  const url = URL.parse(put(server.url ?? ''));
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('its url is no http or https address');
  const named = mapValues(server.headersFrom ?? {}, (name) => variable(name, env));
  return { kind: 'address', url, headers: { ...values(server.headers), ...named }, sse: server.type === 'sse' };
}

/** An empty variable is an unset one. */
function variable(name: string, env: Environment): string {
  const value = env[name];
  if (value) return value;
  throw new Error(`the variable ${name}, which its definition names, is not set`);
}

function expand(text: string, env: Environment): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, other?: string) =>
    other === undefined ? variable(name, env) : env[name] || other,
  );
}

function home(env: Environment): string {
  return env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir();
}

function directory(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new Error(`there is no directory ${path} to start it in`);
}

function mapValues(record: Record<string, string>, map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
