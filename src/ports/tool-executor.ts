import type { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import type { StopSignal } from './stop.ts';
import type { AnyTool, ToolContext } from './tool.ts';

/** A tool call that was judged and recorded. `input` is `arguments` as parsed by the tool's schema. */
export interface ExecutorCall {
  tool: AnyTool;
  arguments: Json;
  input: unknown;
  /** Its signal cancels this call. The tool calls `confirmTarget` before it uses what it opened. */
  context: ToolContext;
}

/** The run of a session. */
export interface ToolSessionOptions {
  runId: string;
  workspace: string;
  readable?: readonly string[] | undefined;
  /** What the run's tools remembered before the session began. */
  memo: ReadonlyMap<string, string>;
  /** Fires when the run is stopped. */
  signal: StopSignal;
}

/** Executes the tool calls of one run. The kernel judges and orders the calls, enforces timeouts and records facts. */
export interface ToolSession {
  /**
   * Executes one call. Resolves with the tool's result, unchecked; rejects with what the tool threw. If the session fails, all open calls reject
   * with the error that `failed` resolves to, and it is unknown whether they took effect.
   */
  call(call: ExecutorCall): Promise<unknown>;
  /** Resolves if the session breaks down (`crashed`, `no_result`, `invalid_reply`), which ends the run; otherwise stays pending. */
  failed: Promise<RetinueError>;
  /** Ends the session. When it resolves, none of its processes exists. Never rejects. */
  close(): Promise<void>;
}

/** Where the tools of runs execute: in this process, in one process per run, or on another machine. */
export interface ToolExecutor {
  /** Recorded as `host` in `run.created`. */
  name: string;
  /** Returns at once; the session may still be starting. Never throws: a start that fails resolves `failed`. */
  open(options: ToolSessionOptions): ToolSession;
}
