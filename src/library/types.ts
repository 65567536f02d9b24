// The public types of the library front-end: its options, and what it returns.
//
// `library/` is Retinue inside another program: a peer of the command line over the same API. It maps its options to the inputs of the one
// assembly, which `main/` passes in; it picks no adapters and reads no environment itself.
import type { Api, EventOptions, Question } from '../api/api.ts';
import type { HostName, SandboxMode } from '../config/settings.ts';
import type { Agent } from '../contract/agent.ts';
import type { Brief, ResultForm } from '../contract/brief.ts';
import type { Delta } from '../contract/delta.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Price } from '../models/prices.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Store } from '../ports/store.ts';
import type { AiTool } from '../tools/ai-sdk.ts';
import type { AnyModel } from './models.ts';
import type { StandardSchema } from './result.ts';

export interface TelemetryOptions {
  endpoint?: string;
  headers?: Record<string, string>;
  protocol?: 'http/protobuf' | 'http/json';
  serviceName?: string;
  content?: boolean;
}

export interface RetinueOptions {
  /** A model object of the AI SDK (V2 to V4), or a model name (`anthropic/…`). */
  model: AnyModel;
  /** Your own tools: AI SDK `tool()` objects by name. Allowed unless a rule says otherwise. */
  tools?: Record<string, AiTool>;
  agents?: Omit<Agent, 'source'>[];
  /** MCP servers by name. Their tools are offered as `mcp__NAME__TOOL`. */
  mcpServers?: Record<string, McpServer>;
  /** The directory that tools may touch. Default: the current directory. */
  workspace?: string;
  /** Folders outside the workspace that tools and commands may read, and never change. */
  addDirs?: string[];
  rules?: string[];
  /**
   * Answers calls for which a rule says `ask`: true, false, `always` (also allows the same call later in that run and below it), or the
   * reason of a refusal. A rejected promise refuses the call. Without this option every `ask` is a deny.
   */
  approve?(question: Question, signal: AbortSignal): Promise<boolean | 'always' | { refused: string }>;
  /** How long a call waits for `approve`. Default: ten minutes. */
  approveMs?: number;
  limits?: LimitsGiven;
  prices?: Record<string, Price>;
  /** Default: in memory. */
  store?: Store;
  /**
   * Where file tools of runs execute: in this process, or in a separate process per run. Default: in this process, except for delegated runs of the
   * dialect ralph. Shell commands and your own tools are always started by this process.
   */
  host?: HostName;
  /** Whether shell commands run in a sandbox: always (`required`), if one is available (`auto`, the default), or never (`off`). */
  sandbox?: SandboxMode;
  /**
   * Exports traces over OTLP. `true`: as the OTEL_* variables say. An object is used as it is: `endpoint` is the base address of the receiver (default:
   * `http://localhost:4318`), `headers` may have secrets, and `content` adds prompts, answers, arguments and results. Default: nothing is exported.
   */
  telemetry?: boolean | TelemetryOptions;
  /** The delegation tools: one of `retinue/dialects`, or your own. Default: native. */
  dialect?: Dialect;
}

/** A brief whose `result` may be a schema; `outcome.data` then has the schema's type. */
export type BriefFor<T> = Omit<Brief, 'result'> & { result?: ResultForm | StandardSchema<T> };
export type OutcomeOf<T> = Omit<Outcome, 'data'> & { data?: T };

export interface Run<T> {
  id: string;
  /** Resolves also if the agent fails. */
  outcome: Promise<OutcomeOf<T>>;
  events(options?: EventOptions): AsyncIterable<StoredFact | Delta>;
  /** `rules` narrow the run and everything below it from now on. */
  send(text: string, rules?: string[]): Promise<void>;
  cancel(reason: string): Promise<void>;
}

/** The trace of your program that runs belong to (W3C Trace Context). Malformed values are ignored. */
export interface TraceOptions {
  traceparent?: string;
  tracestate?: string;
}

export interface Delegating {
  /** Resolves as soon as the run is created. Rejects if the brief is refused. */
  delegate<T>(brief: BriefFor<T>, options?: TraceOptions): Promise<Run<T>>;
  /** Runs all briefs and returns settled results in their order. A refused brief is a rejected result. */
  all<T>(briefs: BriefFor<T>[], options?: { concurrency?: number } & TraceOptions): Promise<PromiseSettledResult<OutcomeOf<T>>[]>;
}

/** A group of runs: when the scope closes, everything delegated through it ends. */
export interface Scope extends Delegating, AsyncDisposable {
  /** Delegation tools for your own agent: for the AI SDK's `ToolLoopAgent`, `generateText` and the like. */
  tools(): Record<string, ScopeTool>;
  close(): Promise<void>;
}

export interface ScopeTool {
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for tools of any input
  inputSchema: any;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  execute(input: any, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>;
}

export interface ScopeOptions extends TraceOptions {
  label?: string;
  limits?: LimitsGiven;
  /** Closes the scope when it aborts. */
  signal?: AbortSignal;
}

export interface Retinue extends Delegating, AsyncDisposable {
  scope(options?: ScopeOptions): Scope;
  /** Everything else: ps, show, logs, find, wait. */
  api: Api;
  close(): Promise<void>;
}
