import type { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { AnyTool, ToolContext } from './tool.ts';

/** A tool call that was judged and recorded. `input` is what the tool's schema made of `arguments`. */
export interface ExecutorCall {
  tool: AnyTool;
  arguments: Json;
  input: unknown;
  /** Its signal cancels this one call. `confirmTarget` is asked before the call proceeds on what it opened. */
  context: ToolContext;
}

/** What a session may know about its run. */
export interface ToolSessionOptions {
  runId: string;
  workspace: string;
  /** Fires when the run is stopped. */
  signal: AbortSignal;
}

/** The tool calls of one run, executed in one place. Judging, ordering, timeouts and facts stay with the kernel. */
export interface ToolSession {
  /**
   * Executes one call and resolves with what the tool returned, unchecked. Rejects with what the tool threw. If the session fails, all open
   * calls reject with the error that `failed` resolves to; whether they took effect is unknown.
   */
  call(call: ExecutorCall): Promise<unknown>;
  /** Resolves if the place of execution breaks down (`crashed`, `no_result`, `invalid_reply`); otherwise it stays pending. Ends the run. */
  failed: Promise<RetinueError>;
  /** Ends what is left of the session. When it resolves, no process of it exists. Never rejects. */
  close(): Promise<void>;
}

/** Where the tools of runs execute: this process, a process per run, or another machine. */
export interface ToolExecutor {
  /** Recorded as `host` in run.created. */
  name: string;
  /** Returns at once; the session may still be starting. Never throws: a start that fails resolves `failed`. */
  open(options: ToolSessionOptions): ToolSession;
}
