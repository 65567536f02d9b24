/** What a command may reach, by the rights of its run at this moment. */
export interface SandboxRequest {
  /** The program and its arguments. */
  argv: string[];
  /** A real path. */
  workspace: string;
  writable: boolean;
  network: boolean;
  /** Whether `.git` may be written, where the workspace may. */
  git: boolean;
  /** Paths of the workspace that are never written, and those that are not even seen; they need not exist. */
  protect: readonly string[];
  hide: readonly string[];
  /** All of the environment that it gets. */
  env: Record<string, string>;
}

/** How to start a confined command. */
export interface SandboxedCommand {
  argv: string[];
  env: Record<string, string>;
  /** Files that the process writes its own id into before it becomes `argv`; where one cannot be written, it must not go on. */
  join: string[];
  /** Whether it has process ids of its own, and speaks as `system/namespace.ts` says. */
  namespace: boolean;
  /**
   * Told the first process of a namespace, which waits. Says why the command must not be started, or null: the workspace may have been changed under
   * the sandbox while it was made.
   */
  begun?(init: number): string | null;
  /** After all of it has ended. Gives a sentence for each limit that it has reached. */
  release(): Promise<string[]>;
}

/**
 * Puts commands into a sandbox. There is one only where it was seen to work. `confine` never rejects: what cannot be confined is refused
 * with the reason, and must then not be started at all.
 */
export interface Sandbox {
  name: string;
  version(): Promise<string>;
  /** What holds the limits, and which they are, in words for `doctor`. */
  limits: string;
  confine(wanted: SandboxRequest): Promise<{ ok: true; confined: SandboxedCommand } | { ok: false; reason: string }>;
}

/** What a look for a sandbox finds: one that works, or why there is none and how to get one. */
export type SandboxFound = { ok: true; sandbox: Sandbox } | { ok: false; reason: string; advice: string };

/** Whose the rule is that allows every command because there is a sandbox: without one it allows nothing. */
export const sandboxOwner = 'built-in, inside the sandbox';
