import type { z } from 'zod';
import type { Artifact } from '../contract/artifact.ts';
import type { FileState } from '../contract/change-set.ts';
import type { ClosedPaths } from '../contract/closed-paths.ts';
import type { Decision } from '../contract/grant.ts';
import type { JsonObject } from '../contract/json.ts';
import type { PreparedWorkspace } from './checkouts.ts';
import type { Delegation } from './delegation.ts';
import type { Subject } from './subject.ts';

/** The current rights of a call's run. */
export interface Rights {
  agent: string;
  /** Hash of the agent's definition as pinned in the run's facts; null if none is. */
  definition: string | null;
  /** Names of the tools offered to the run. */
  tools: readonly string[];
  /**
   * Decides by the rules of the run and its ancestors; also for the shell's capabilities `network` and `git`. `without`: an owner whose rules
   * do not allow anything for this decision.
   */
  decide(tool: string, subjects: Subject[], options?: { without: string }): Decision;
  /** Paths that the rules close, for tools that meet paths on their way: searches, lists and commands. */
  closedPaths: ClosedPaths;
}

/** What the tools of a run remember, by key. Entries last as long as the run and pass on to a run that continues it. */
export interface Memo {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
}

/** What a tool gets besides its arguments. */
export interface ToolContext {
  runId: string;
  rootId: string;
  /** Identifies the call, also after a resume: its run, turn and index. For tools of the program only. */
  callId?: string;
  /** Absolute path of the directory that the tool may touch. */
  workspace: string;
  /** The workspace that memories belong to, if it is another folder. */
  project?: string | undefined;
  /** The checkout that the workspace is, if it is one. */
  files?: Pick<PreparedWorkspace, 'objects' | 'mounts'> | undefined;
  /** Real paths of folders outside the workspace that the tool may read, and never change. */
  readable?: readonly string[] | undefined;
  /** Fires at the tool's timeout, at the run's deadline and at a cancel; the tool must stop soon after. */
  signal: AbortSignal;
  /** Shared by the tools of this run, such as versions of files they have read. Recorded with the result of the call. */
  memo: Memo;
  rights: Rights;
  /** For the tools of a dialect only. */
  delegation: Delegation;
  /**
   * Judges by the current rules what the call has actually opened: links can change between judging and executing, so resolved paths may differ
   * from those in the arguments. Rejects with RetinueError `denied`; the tool must then do nothing.
   */
  confirmTarget(subjects: Subject[]): Promise<void>;
}

/** `before`: null if there was no file; `content` is base64. A file whose content before is not known is not listed. */
export interface ChangedFile {
  path: string;
  before: { mode: FileState['mode']; content: string } | null;
  after: FileState;
}

/** A failure of the tool is a result that the model reads, not an exception. */
export interface ToolResult {
  output: string;
  isError?: boolean;
  artifacts?: Artifact[];
  /** Files of the workspace that it changed, so that this can be taken back. */
  changes?: ChangedFile[];
  /** Untrusted sources of the text (`web`, `untrusted-file`, `mcp`, `child`, `memory`), in addition to the tool's own `taint`. */
  taint?: string[];
  /** Children whose outcome is part of the output. */
  told?: string[];
}

/**
 * A tool. `execute` may reject: the kernel turns that into an error result. If it ignores its signal, the kernel continues without it and ignores
 * its result. The kernel cuts the output to `maxOutputBytes`, keeping head and tail.
 */
export interface Tool<I = unknown> {
  name: string;
  description: string;
  /** Checks and types the arguments. Built-in tools have a getter, so that a start makes no schema of a tool that is not called. */
  input: z.ZodType<I>;
  /** Checks of `input` may be asynchronous. Such a tool has no subjects. */
  hasAsyncInput?: true;
  /** Whether this call needs approval even if the rules allow it. Awaited once, before the call is recorded. If it rejects, the call is denied. */
  needsApproval?(input: I, context: { callId: string }): Promise<boolean>;
  /** The result of a call that `input` does not accept; `problem` names the parameter. */
  invalidInput?(problem: string): string;
  /** Equal calls in a row are normal and no sign of a loop. */
  polls?: boolean;
  /** The JSON Schema that the model sees; derived from `input` if absent. */
  inputSchema?: JsonObject;
  readOnly: boolean;
  /** A tool of an external agent that Retinue has no name for: rules alone decide. */
  isExternal?: true;
  /** Needs only the workspace, so it may execute in another process. */
  portable?: boolean;
  /** Whether executing it twice has the same effect as once. Only then is it repeated after a crash. */
  idempotent: boolean;
  /** A shorter timeout than the limit `toolTimeoutMs`; null for a tool that waits for children and keeps its own time. */
  timeoutMs?: number | null;
  maxOutputBytes?: number;
  /** Untrusted sources of all its results. */
  taint?: string[];
  /** Its subjects fully describe a call, so `always allow` covers every call with the same subjects; otherwise only the same call. */
  bySubject?: true;
  /** Its subjects are paths: the result of a call carries the rules of the folders it works in. */
  hasPaths?: true;
  /** Awaited before `subjects` is called. If it rejects, the call is refused. */
  prepare?(): Promise<void>;
  /**
   * What rules match against, besides the tool's name. Throws RetinueError `denied` for a call that no rule may allow, and anything else for
   * invalid arguments.
   */
  subjects(input: I, context: { workspace: string }): Subject[];
  /** Why the call would be refused whatever the rules say, such as a protected path; null if it would not. Changes nothing. For `retinue policy test`. */
  preview?(input: I, context: { workspace: string }): Promise<string | null>;
  execute(input: I, context: ToolContext): Promise<ToolResult>;
}

// biome-ignore lint/suspicious/noExplicitAny: a set of tools with different inputs
export type AnyTool = Tool<any>;
