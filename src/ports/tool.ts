import type { z } from 'zod';
import type { Artifact } from '../contract/artifact.ts';
import type { Decision } from '../contract/grant.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Delegation } from './delegation.ts';
import type { Subject } from './subject.ts';

/** What the run of a call may do at this moment. */
export interface Rights {
  agent: string;
  /** Hash of the agent's definition as pinned in the run's facts; null if none is. */
  definition: string | null;
  /** Names of the tools offered to the run. */
  tools: readonly string[];
  /** By the rules of the run and its ancestors; also for the shell's `network` and `git`. What `without` allows counts as denied. */
  decide(tool: string, subjects: Subject[], options?: { without: string }): Decision;
}

/** What a tool gets besides its arguments. */
export interface ToolContext {
  runId: string;
  rootId: string;
  /** Absolute path of the directory that the tool may touch. */
  workspace: string;
  /** Fires at the tool's timeout, at the run's deadline and at a cancel; the tool must stop soon after. */
  signal: AbortSignal;
  /** What the tools of this run remember, such as versions of files they read; lost when the run ends. */
  memo: Map<string, string>;
  rights: Rights;
  /** For the tools of a dialect only. */
  delegation: Delegation;
  /**
   * Judges what the call really touches once it is open, by the rules of this moment. Rejects with RetinueError `denied`; the tool must then do
   * nothing. Resolved paths may differ from those in the arguments because links can change between judging and executing.
   */
  confirmTarget(subjects: Subject[]): Promise<void>;
}

/** What a tool returns. A failure of the tool is a result that the model reads, not an exception. */
export interface ToolResult {
  output: string;
  isError?: boolean;
  artifacts?: Artifact[];
  /** Untrusted sources of the text (`web`, `untrusted-file`, `mcp`, `child`), in addition to the tool's own `taint`. */
  taint?: string[];
  /** Children whose outcome the output reports. */
  told?: string[];
}

/**
 * A tool. `execute` may reject: the kernel turns that into an error result. If it ignores its signal, the kernel continues without it and drops
 * what it returns later. Its output is cut to `maxOutputBytes`; head and tail are kept.
 */
export interface Tool<I = unknown> {
  name: string;
  description: string;
  /** Checks and types the arguments. */
  input: z.ZodType<I>;
  /** The JSON Schema that the model sees; derived from `input` if absent. */
  inputSchema?: JsonObject;
  readOnly: boolean;
  /** Needs only the workspace: it may execute in another process, without the supervisor. */
  portable?: boolean;
  /** Whether doing it twice equals doing it once: only then is it repeated after a crash. */
  idempotent: boolean;
  /** A shorter timeout than the limit `toolTimeoutMs`; null for a tool that waits for children and keeps its own time. */
  timeoutMs?: number | null;
  maxOutputBytes?: number;
  /** Untrusted sources of all its results. */
  taint?: string[];
  /** Its subjects say everything about a call, so `always allow` covers every call with the same subjects; otherwise only the same call. */
  bySubject?: true;
  /** Called before `subjects`; resolves when that can be called. If it rejects, the call is refused. */
  prepare?(): Promise<void>;
  /**
   * What rules match against, besides the tool's name. Throws RetinueError `denied` for a call that no rule may allow, anything else for a call
   * it cannot read.
   */
  subjects(input: I, context: { workspace: string }): Subject[];
  execute(input: I, context: ToolContext): Promise<ToolResult>;
}

// biome-ignore lint/suspicious/noExplicitAny: a set of tools with different inputs
export type AnyTool = Tool<any>;
