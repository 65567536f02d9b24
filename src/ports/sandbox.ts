/** A command and what it may access, according to the current rights of its run. */
export interface SandboxRequest {
  /** The program and its arguments. */
  argv: string[];
  /** A real path. */
  workspace: string;
  writable: boolean;
  network: boolean;
  /** Whether `.git` is writable, if the workspace is. */
  git: boolean;
  /** Paths of the workspace that are never writable. They need not exist. */
  protect: readonly string[];
  /** Paths of the workspace that are hidden: empty and unreadable. They need not exist. '' is the workspace itself. */
  hide: readonly string[];
  /** Folders outside the workspace that are visible and never writable. */
  readable?: readonly ReadableFolder[] | undefined;
  /** Folders outside the workspace that appear at a path in it, never writable. Not every sandbox can do that. */
  shown?: readonly ShownFolder[] | undefined;
  /** Folders outside the workspace that appear as they are, such as the home of a program. They cover everything else. */
  folders?: readonly { path: string; writable: boolean }[] | undefined;
  /** A program that works for a long time, such as an agent, gets as much CPU time as this process. */
  keepsPriority?: boolean | undefined;
  /** The complete environment of the command. */
  env: Record<string, string>;
}

/** A folder outside the workspace that a command may read. Real paths. `hide`: paths in it that are invisible; they need not exist. */
export interface ReadableFolder {
  path: string;
  hide: readonly string[];
}

/** Real path of the folder; the absolute path where it appears; absolute paths below that which are hidden. */
export interface ShownFolder {
  source: string;
  path: string;
  hide: readonly string[];
}

/** How to start a confined command. */
export interface SandboxedCommand {
  argv: string[];
  env: Record<string, string>;
  /** Files that the process writes its own id into before it executes `argv`. If one cannot be written, it must not continue. */
  join: string[];
  /** Whether it has its own PID namespace and follows the protocol of `system/namespace.ts`. */
  namespace: boolean;
  /**
   * Called with the pid of the namespace's first process, which waits. Returns why the command must not be started, or null: the workspace may
   * have been changed while the sandbox was being set up.
   */
  begun?(init: number): string | null;
  /** Called after all its processes have ended. Returns a sentence for each limit that was reached. */
  release(): Promise<string[]>;
}

/**
 * Runs commands in a sandbox that was tested on this machine. `confine` never rejects: if a command cannot be confined it returns the reason,
 * and the command must not be started at all.
 */
export interface Sandbox {
  name: string;
  version(): Promise<string>;
  /** The limits and how they are enforced, as `retinue doctor` shows them. */
  limits: string;
  confine(wanted: SandboxRequest): Promise<{ ok: true; confined: SandboxedCommand } | { ok: false; reason: string }>;
}

/** The result of looking for a sandbox: one that works, or why there is none and how to get one. */
export type SandboxFound = { ok: true; sandbox: Sandbox } | { ok: false; reason: string; advice: string };

/** Owner of the rule that allows every command because commands run in the sandbox. Without a sandbox this rule allows nothing. */
export const sandboxOwner = 'built-in, inside the sandbox';
