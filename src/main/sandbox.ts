// Whether shell commands run in a sandbox here, and what holds where they cannot.
import type { SandboxMode } from '../cli/settings.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import { parseRule } from '../rules/policy.ts';
import { findSandbox } from '../sandboxes/find-sandbox.ts';
import type { Env } from './config/places.ts';

export interface ShellGround {
  sandbox: Sandbox | null;
  /** Why no command is started at all. */
  closed: string | null;
  /** What the same means for rules. */
  narrowing: Ruleset[];
}

export interface SandboxPlace {
  workspace: string;
  /** The database, where there is a file. */
  db: string | null;
  env: Env;
}

/** Looks for a sandbox, unless none is wanted. Never rejects. */
export async function shellGround(mode: SandboxMode, place: SandboxPlace): Promise<ShellGround> {
  if (mode === 'off') return { sandbox: null, closed: null, narrowing: [] };
  const found = await findSandbox(sandboxOptions(place));
  if (found.ok) return { sandbox: found.sandbox, closed: null, narrowing: [] };
  if (mode === 'auto') return { sandbox: null, closed: null, narrowing: [] };
  const owner = `sandbox: required, but ${found.reason}; ${found.advice}`;
  return {
    sandbox: null,
    closed: `no command is started: a sandbox is required, but ${found.reason}; ${found.advice}`,
    narrowing: [{ kind: 'narrowing', owner, rules: [parseRule('deny bash')] }],
  };
}

export function sandboxOptions({ workspace, db, env }: SandboxPlace) {
  return { env, workspace, secret: db === null ? [] : ['', '-wal', '-shm', '-journal'].map((end) => `${db}${end}`) };
}
