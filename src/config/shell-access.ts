// Whether shell commands can run in a sandbox on this machine, and what the sandbox setting means if they cannot.
import type { Ruleset } from '../contract/grant.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import { parseRule } from '../rules/policy.ts';
import { findSandbox } from '../sandboxes/find-sandbox.ts';
import { listOwnPaths, ownFilesRulesets } from './own-files.ts';
import type { SandboxMode } from './settings.ts';
import type { Env } from './user-folders.ts';

export interface ShellAccess {
  sandbox: Sandbox | null;
  /** Why no command may start at all. */
  closed: string | null;
  /** Rules that follow from `closed`, and rules for Retinue's own files. */
  narrowing: Ruleset[];
}

export interface SandboxProbe {
  workspace: string;
  /** Folders outside the workspace that tools may read. */
  readable: readonly string[];
  /** Database file to hide from commands, if any. */
  db: string | null;
  env: Env;
}

/** Starts a sandbox to see whether it works, unless the mode is `off`. Never rejects. */
export async function probeShellAccess(mode: SandboxMode, probe: SandboxProbe): Promise<ShellAccess> {
  const narrowing = ownFilesRulesets(probe);
  const unconfined: ShellAccess = { sandbox: null, closed: null, narrowing };
  if (mode === 'off') return unconfined;
  const found = await findSandbox(sandboxOptions(probe));
  if (found.ok) return { ...unconfined, sandbox: found.sandbox };
  if (mode === 'auto') return unconfined;
  const owner = `sandbox: required, but ${found.reason}; ${found.advice}`;
  return {
    sandbox: null,
    closed: `the command was not started: a sandbox is required, but ${found.reason}; ${found.advice}`,
    narrowing: [...narrowing, { kind: 'narrowing', owner, rules: [parseRule('deny bash')] }],
  };
}

export function sandboxOptions({ workspace, db, env }: Omit<SandboxProbe, 'readable'>) {
  return { env, workspace, secret: listOwnPaths({ db, env }) };
}
