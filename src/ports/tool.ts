import type { z } from 'zod';
import type { Artifact } from '../contract/artifact.ts';
import type { Decision } from '../contract/grant.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Delegation } from './delegation.ts';
import type { Subject } from './subject.ts';

/** What the run of a call may do besides that call, at this moment. */
export interface Rights {
  agent: string;
  /** Hash of the agent's definition as it is pinned in the run's facts; null where none is. */
  definition: string | null;
  /** Names of the tools that the run is offered. */
  tools: readonly string[];
  /** By the rules of the run and of all above it. Also for what is no tool of a model: `network` and `git` of a shell. What `without` allows counts as denied. */
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
  /** What the tools of this run remember of it (such as what was last read); gone when the run ends. */
  memo: Map<string, string>;
  rights: Rights;
  /** For the tools of a dialect only. */
  delegation: Delegation;
}

/** What a tool gives back. A failure of the tool is a result that the model reads, not an exception. */
export interface ToolResult {
  output: string;
  isError?: boolean;
  artifacts?: Artifact[];
  /** Where the text comes from, when it is not to be trusted: `web`, `untrusted-file`, `mcp`, `child`. Besides what the tool says of all its results. */
  taint?: string[];
  /** Children whose outcome the output tells. */
  told?: string[];
}

/**
 * A tool. `execute` may reject: the kernel turns that into an error result. It may ignore its signal: the kernel goes
 * on without it and drops what it gives later. Its output is cut to `maxOutputBytes`, head and tail kept.
 */
export interface Tool<I = unknown> {
  name: string;
  description: string;
  /** Checks and types the arguments. */
  input: z.ZodType<I>;
  /** The JSON Schema that the model sees; made from `input` where it is absent. */
  inputSchema?: JsonObject;
  readOnly: boolean;
  /** Needs nothing but files, processes and the network of the machine: it may be executed in the run's own process, without the supervisor. */
  portable?: boolean;
  /** Whether doing it twice is the same as doing it once: only then is it repeated after a crash. */
  idempotent: boolean;
  /** Shorter than the limit `toolTimeoutMs`, or null for a tool that keeps its own time (it waits for children). */
  timeoutMs?: number | null;
  maxOutputBytes?: number;
  /** Where all its results come from, when that is not to be trusted. */
  taint?: string[];
  /** Its subjects say all that matters about a call: an answer for good holds for every call about the same. Else for the same call alone. */
  bySubject?: true;
  /** Resolves when `subjects` can be asked; called before it. What it rejects with refuses the call. */
  prepare?(): Promise<void>;
  /**
   * What rules match against, besides the tool's name. Throws RetinueError `denied` for a call that no rule may allow, anything else for one
   * that it cannot read.
   */
  subjects(input: I, context: { workspace: string }): Subject[];
  execute(input: I, context: ToolContext): Promise<ToolResult>;
}

// biome-ignore lint/suspicious/noExplicitAny: a set of tools with different inputs
export type AnyTool = Tool<any>;
