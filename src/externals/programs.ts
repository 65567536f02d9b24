// Finds the programs of external agents and their versions.
import { execFile } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { ExternalAgent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import { claude } from './profiles/claude.ts';
import { codex } from './profiles/codex.ts';
import { opencode } from './profiles/opencode.ts';
import type { Profile } from './profiles/types.ts';

export const profiles: Record<Profile['name'], Profile> = { claude, codex, opencode };

export type Env = Readonly<Record<string, string | undefined>>;

/** A program as it is installed. */
export interface FoundProgram {
  path: string;
  version: string;
  adapter: string | null;
}

export type ProgramState = { ok: true; found: FoundProgram } | { ok: false; reason: string };

const versionMs = 20_000;

/** Looks for a program in PATH, outside the workspace: a workspace must not choose what is started. */
export function findProgram(name: string, env: Env, workspace: string): string | null {
  const folders = (env.PATH ?? '').split(delimiter).filter(isAbsolute);
  for (const folder of name.includes('/') ? [''] : folders) {
    const path = folder === '' ? name : join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      const real = realpathSync(path);
      if (statSync(real).isFile() && !real.startsWith(`${workspace}/`)) return path;
    } catch {
      // It is not there, or not executable.
    }
  }
  return null;
}

/** Whether a known agent can be started, and what to do if not. */
export async function checkProgram(profile: Profile, env: Env, workspace: string): Promise<ProgramState> {
  const { program, adapter, install, minVersion } = profile;
  const path = findProgram(program, env, workspace);
  if (path === null) return { ok: false, reason: `the program ${program} was not found; install it: \`${install}\`` };
  const version = await readVersion(path, env);
  if (version === null) return { ok: false, reason: `${path} --version failed; reinstall it: \`${install}\`` };
  if (isOlder(version, minVersion))
    return {
      ok: false,
      reason: `${program} ${version} is too old: version ${minVersion.join('.')} or later is needed; update it: \`${install}@latest\``,
    };
  const found = adapter ? findProgram(adapter.program, env, workspace) : null;
  if (adapter && found === null)
    return {
      ok: false,
      reason: `${program} needs the adapter ${adapter.program}, which was not found; install it: \`${adapter.install}\``,
    };
  return { ok: true, found: { path, version, adapter: found } };
}

/** Throws `agent_program`. */
export async function requireProgram(profile: Profile, env: Env, workspace: string): Promise<FoundProgram> {
  const state = await checkProgram(profile, env, workspace);
  if (!state.ok) throw new RetinueError('agent_program', `the agent ${profile.name} cannot be started: ${state.reason}`);
  return state.found;
}

function readVersion(path: string, env: Env): Promise<string | null> {
  return new Promise((resolve) => {
    const quiet = { PATH: `${dirname(process.execPath)}${delimiter}${env.PATH ?? ''}`, HOME: env.HOME ?? '/', DISABLE_AUTOUPDATER: '1' };
    execFile(path, ['--version'], { env: quiet, timeout: versionMs, maxBuffer: 65_536, cwd: '/' }, (error, stdout) => {
      resolve(error ? null : (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null));
    });
  });
}

function isOlder(version: string, min: Profile['minVersion']): boolean {
  const parts = version.split('.').map(Number);
  const different = min.findIndex((each, index) => each !== (parts[index] ?? 0));
  return different !== -1 && (parts[different] ?? 0) < (min[different] as number);
}

/** Folders that a program consists of, for a sandbox: all of its `node_modules`, or the folder it is in. */
export function programFolders(path: string): string[] {
  const real = realpathSync(path);
  const top = real.indexOf('/node_modules/');
  return [...new Set([dirname(path), top === -1 ? dirname(real) : real.slice(0, top + '/node_modules'.length)])];
}

export function nameOf(external: ExternalAgent): string {
  return 'program' in external ? external.program : (external.acp[0]?.split('/').at(-1) ?? 'acp');
}
