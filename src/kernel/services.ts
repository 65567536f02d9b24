// Everything that the runs of a process share. One record, built once by `createRuntime` and passed as it is.
import type { CompactionSettings } from '../contract/compaction.ts';
import type { Effort } from '../contract/effort.ts';
import type { FactData } from '../contract/fact.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { Image } from '../contract/image.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { PromptCache } from '../contract/prompt-cache.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { CallRef } from '../conversation/tool-calls.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { ExternalAgents } from '../ports/external-agent.ts';
import type { FlowSource } from '../ports/flow.ts';
import type { Ids } from '../ports/ids.ts';
import type { ModelCaller, Models } from '../ports/model.ts';
import type { RunFolders } from '../ports/run-folders.ts';
import type { ProgramCheck, SchemaCompiler } from '../ports/schema.ts';
import type { Redact, RedactStream } from '../ports/secrets.ts';
import type { Owner, Store } from '../ports/store.ts';
import type { ToolExecutor } from '../ports/tool-executor.ts';
import type { ToolSource } from '../ports/tool-source.ts';
import type { Deadlines } from '../scheduling/deadlines.ts';
import type { Lanes } from '../scheduling/lanes.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import type { TextMemo } from '../text/text-memo.ts';
import type { DialectDeps, LoadDialect } from './delegation/dialect-services.ts';
import type { Journal } from './journal.ts';
import type { Run, RunDeps } from './run.ts';

/** What the owner of this process decided for all runs. */
export interface RuntimeSettings {
  workspace: string;
  /** Real paths of folders outside the workspace that tools may read. */
  readable?: readonly string[] | undefined;
  model: string | null;
  /** Models by agent name, in order; `*` for all others, beginning with `model`. */
  routes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** How much models think, unless a brief, an agent or a parent run decides it. */
  effort?: Effort | undefined;
  /** How long providers keep their cache of a conversation: minutes, about an hour, or (`auto`) longer once a run has waited long. */
  promptCache?: PromptCache | undefined;
  limits: LimitsGiven;
  /** Shared budgets that every new tree draws from. */
  budgets?: readonly string[] | undefined;
  compaction?: CompactionSettings | undefined;
  /** For roots: the owner's ruleset, then those that only narrow it. The owner's allows the given delegation tools. */
  rulesets(delegationTools: readonly string[]): Ruleset[];
  /** Throws `invalid_rule` for a rule that names no tool. `owner`: where the rules are. `more`: tools that not every process has. */
  checkRules(rules: readonly string[], owner: string, more: Iterable<string>): void;
}

/** Approvals. Without them every `ask` is a deny. */
export interface Questions {
  /** Whether anybody can answer for this tree now. */
  canAnswer(rootId: string): boolean;
  /** How long a question stays open; ten minutes by default. */
  timeoutMs?: number | undefined;
}

/** What a runtime is made of. */
export interface RuntimeOptions extends DialectDeps {
  store: Store;
  ids: Ids;
  settings: RuntimeSettings;
  toolSource?: ToolSource | undefined;
  models: Models;
  callModel: ModelCaller;
  compileSchema: SchemaCompiler;
  redact: Redact;
  /** For what streams to watchers before it is recorded. */
  redactStream: RedactStream;
  questions?: Questions | undefined;
  /** Finds the program of a recorded flow. Without it, flows cannot be resumed. */
  flows?: FlowSource | undefined;
  /** Files of runs' own. Without it, briefs with `repository` or `isolation` are refused. */
  checkouts?: Checkouts | undefined;
  /** Programs that do the work of runs. Without it, agents with `runs` are refused. */
  externals?: ExternalAgents | undefined;
  /** The homes of external agents, which are deleted when their runs have ended. */
  homes?: RunFolders | undefined;
  /** Finds a tool executor by name; null if there is none. `inline` must exist. */
  findExecutor(name: string): ToolExecutor | null;
  /** The executor of every run; otherwise delegated runs use their dialect's and roots `inline`. */
  host?: string | undefined;
  /** Gets what the user should know about limits of providers. */
  warn?: ((message: string) => void) | undefined;
  /** The queues that this process takes trees from, if it is a worker. */
  queues?: string[];
  /** Runs that may work at the same time in this process. */
  slots?: number;
  maxQueued?: number;
}

/** How a brief is started. */
export interface StartOptions {
  /** The run that delegates; null for a root. */
  parent?: Run | null;
  /** The parent's tool call, and the index of the brief among those of the call. */
  call?: (CallRef & { n: number }) | null;
  /** The acceptance check of the parent that it carries out. */
  review?: FactData['child.created']['check'];
  /** Given for the brief of a model or an MCP client (`ModelRequester`). */
  rootModel?: string | null;
  /** A further check of a submitted result, after its schema. */
  check?: ProgramCheck | undefined;
  /** The dialect of a new tree; the default one if absent. Children have their parent's. */
  dialect?: string | undefined;
  /** The trace of the caller. Malformed values are ignored. */
  trace?: TraceHeaders | undefined;
  /** Images for the model, beside the text of the brief. */
  images?: readonly Image[] | undefined;
}

export interface Services
  extends Pick<
    RuntimeOptions,
    | 'store'
    | 'clock'
    | 'ids'
    | 'settings'
    | 'toolSource'
    | 'models'
    | 'callModel'
    | 'compileSchema'
    | 'redact'
    | 'redactStream'
    | 'questions'
    | 'flows'
    | 'checkouts'
    | 'externals'
    | 'homes'
    | 'findExecutor'
    | 'host'
  > {
  owner: Owner;
  /** Pins arguments that are not stored. It lives as long as the process, like the arguments. */
  originalsKey: string;
  journal: Journal;
  deadlines: Deadlines;
  scheduler: Scheduler;
  lanes: Lanes;
  /** System prompts without secrets, and their hashes. Siblings mostly share theirs. */
  systems: TextMemo<{ text: string; hash: string }>;
  shareBudgets: RunDeps['shareBudgets'];
  /** Live runs of this process by id. */
  runs: Map<string, Run>;
  dialect: LoadDialect;
  /** Admits a brief and starts its run. Rejects with the refusal. */
  startRun(input: unknown, options?: StartOptions): Promise<Run>;
}
