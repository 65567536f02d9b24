// The public types of the library front-end: its options, and what it returns.
//
// `library/` is Retinue inside another program: a peer of the command line over the same API. It maps its options to the inputs of the one
// assembly, which `main/` passes in; it picks no adapters and reads no environment itself.
import type { Api, EventOptions, Question } from '../api/api.ts';
import type { HostName, SandboxMode } from '../config/settings.ts';
import type { Agent } from '../contract/agent.ts';
import type { Brief, ResultForm } from '../contract/brief.ts';
import type { CompactionSettings } from '../contract/compaction.ts';
import type { Delta } from '../contract/delta.ts';
import type { Effort } from '../contract/effort.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { PromptCache } from '../contract/prompt-cache.ts';
import type { FlowDefinition } from '../flows/definition.ts';
import type { StandardSchema } from '../flows/result.ts';
import type { Price } from '../models/prices.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Store } from '../ports/store.ts';
import type { AiTool } from '../tools/ai-sdk.ts';
import type { AnyModel } from './models.ts';

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
  /**
   * Your own tools: AI SDK `tool()` objects by name. Allowed unless a rule says otherwise; `general` and agents of `agents` without `tools` get them all.
   */
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
  /** Shared budgets of the store that everything delegated draws from. `retinue.api.setBudget` defines them. */
  budgets?: string[];
  /** Names of models by agent, each one name or a list: a run falls back to the next if a provider keeps failing or its budget cannot pay for a call. */
  routes?: Record<string, string | string[]>;
  /** How much models think, unless an agent or a brief says otherwise. */
  effort?: Effort;
  /** How long providers keep their cache of a conversation. Default: `auto`. */
  promptCache?: PromptCache;
  /** When and by which model conversations near the end of the window are summarised. */
  compaction?: CompactionSettings;
  prices?: Record<string, Price>;
  /** Default: in memory. */
  store?: Store;
  /**
   * Where file tools of runs execute: in this process, or in a separate process per run. Default: in this process, except for delegated runs of the
   * dialect ralph. Shell commands and your own tools are always started by this process.
   */
  host?: HostName;
  /** Where external agents (`runs`) keep their settings and sessions while a run needs them. Default: in the user's state folder. */
  externalsFolder?: string;
  /** Whether shell commands run in a sandbox: always (`required`), if one is available (`auto`, the default), or never (`off`). */
  sandbox?: SandboxMode;
  /**
   * Exports traces over OTLP. `true`: as the OTEL_* variables say. An object is used as it is: `endpoint` is the base address of the receiver (default:
   * `http://localhost:4318`), `headers` may have secrets, and `content` adds prompts, answers, arguments and results. Default: nothing is exported.
   */
  telemetry?: boolean | TelemetryOptions;
  /** Flows that `retinue.api.resume` may have to continue. A flow that this program has started need not be listed. */
  // biome-ignore lint/suspicious/noExplicitAny: flows of any input
  flows?: readonly FlowDefinition<any, unknown>[];
  /** The delegation tools: one of `retinue/dialects`, or your own. Default: native. */
  dialect?: Dialect;
}

/** So that briefs may be written `as const`. */
type JsonField = 'result' | 'params';
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** A brief whose `result` may be a schema; `outcome.data` then has the schema's type. */
export type BriefFor<T> = DeepReadonly<Omit<Brief, JsonField>> &
  Readonly<Pick<Brief, Exclude<JsonField, 'result'>>> & { readonly result?: ResultForm | StandardSchema<T> };
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

/** A flow has no conversation, so it reads no messages. */
export type FlowRun<T> = Omit<Run<T>, 'send'>;

/** The trace of your program that runs belong to (W3C Trace Context). Malformed values are ignored. */
export interface TraceOptions {
  traceparent?: string;
  tracestate?: string;
}

export interface Delegating {
  /** Resolves as soon as the run is created. Rejects if the brief is refused. */
  delegate<T>(brief: BriefFor<T>, options?: TraceOptions): Promise<Run<T>>;
  /** Runs all briefs and returns settled results in their order. A refused brief is a rejected result. */
  all<T extends readonly unknown[]>(
    briefs: readonly [...{ [K in keyof T]: BriefFor<T[K]> }],
    options?: { concurrency?: number } & TraceOptions,
  ): Promise<{ -readonly [K in keyof T]: PromiseSettledResult<OutcomeOf<T[K]>> }>;
}

/** How a queued run waits for a worker. */
export interface QueueOptions extends TraceOptions {
  /** Default: `default`. */
  queue?: string;
  /** Higher first; 0 if absent. */
  priority?: number;
  /** Runs of one group share a limit of the workers. */
  group?: string;
  startAfter?: Date;
}

/** A run that a worker drives, now or later. */
export interface QueuedRun<T> {
  id: string;
  /** False if the brief's `idempotencyKey` had been used before: then this is the run that has it. */
  isNew: boolean;
  /** Resolves when the run has ended, also if the agent fails. This process waits for it from the first time that it is read. */
  readonly outcome: Promise<OutcomeOf<T>>;
  events(options?: EventOptions): AsyncIterable<StoredFact | Delta>;
  cancel(reason: string): Promise<void>;
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
  /** Shared budgets that everything of the scope draws from, besides those of the program. */
  budgets?: string[];
  /** Closes the scope when it aborts. */
  signal?: AbortSignal;
}

export interface FlowStartOptions extends TraceOptions {
  label?: string;
  /** Limits of everything that the flow delegates; `timeoutMs` is also that of the flow. */
  limits?: LimitsGiven;
  /** Shared budgets that everything of the flow draws from, besides those of the program. */
  budgets?: string[];
  /** How much the models of its children think, unless a brief or an agent decides it. */
  effort?: Effort;
}

export interface Retinue extends Delegating, AsyncDisposable {
  /** Starts a flow. Resolves as soon as its run is created; `outcome.data` has what its program returns. Rejects if the input does not match its schema. */
  flow<I, O>(definition: FlowDefinition<I, O>, input: I, options?: FlowStartOptions): Promise<FlowRun<O>>;
  scope(options?: ScopeOptions): Scope;
  /**
   * Leaves a brief to a worker (`retinue worker`); needs a store with queues, such as `openPostgresStore()` of `retinue/postgres`. The worker needs
   * the model by its name. Rejects if the brief is refused.
   */
  enqueue<T>(brief: BriefFor<T>, options?: QueueOptions): Promise<QueuedRun<T>>;
  /** Everything else: ps, show, logs, find, wait. */
  api: Api;
  close(): Promise<void>;
}
