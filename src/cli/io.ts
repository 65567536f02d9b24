// The outside world as the command line sees it. `main/process-io.ts` implements it on the process, tests implement it in memory.
import type { Api, RunHandle } from '../api/api.ts';
import type { Client } from '../client/client.ts';
import type { AcpInstallation, AcpInstallRequest } from '../config/acp-install/plan.ts';
import type { BriefFile } from '../config/attachments.ts';
import type { WorkerFolders } from '../config/checkouts.ts';
import type { PolicyQuestion } from '../config/explain-call.ts';
import type { Explanation, PolicyVerdict } from '../config/explanation.ts';
import type { ProgramRow as ExternalRow } from '../config/external-programs.ts';
import type { FlowFile } from '../config/flow-files.ts';
import type { McpInstallation, McpInstallRequest } from '../config/mcp-install/install.ts';
import type { ServerVariables } from '../config/mcp-install/variables.ts';
import type { ListedModel, ModelCheck } from '../config/model-choice.ts';
import type { HostName, Settings, SettingsFlags, TrustItem } from '../config/settings.ts';
import type { RegisteredDatabase } from '../config/workspace-registry.ts';
import type { EvalInput } from '../contract/eval.ts';
import type { Rule } from '../contract/grant.ts';
import type { Json } from '../contract/json.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { Check } from '../doctor/check.ts';
import type { EvalChoice } from '../evals/definition.ts';
import type { EarlierEval, ReadRun } from '../evals/replay.ts';
import type { FlowOptions } from '../kernel/runtime.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Memories } from '../ports/notes.ts';
import type { ClusterDemo, CrashDemo, Demo, LongDemo, MergeDemo, RightsDemo } from './demo-io.ts';
import type { AcpService, McpService, RunningServer, ServeRequest } from './serve-io.ts';
import type { RunningWorker, WorkerRequest } from './worker-io.ts';

export type { ProgramRow as ExternalRow } from '../config/external-programs.ts';
export type { McpClient } from '../config/mcp-install/clients.ts';
export type { McpInstallation } from '../config/mcp-install/install.ts';
export type { Check } from '../doctor/check.ts';
export type { ClusterDemo, CrashDemo, Demo, LongDemo, MergeDemo, RightsDemo } from './demo-io.ts';
export type { AcpService, AcpWorkspace, McpService, RunningServer, ServeRequest } from './serve-io.ts';

/** `interrupt`: Ctrl-C. `terminate`: SIGTERM, or the terminal was closed. `closed`: standard output has no reader any more. */
export type Stop = 'interrupt' | 'terminate' | 'closed';

/** A flow to run: the path of its file, and its input. */
export interface FlowRequest {
  file: string;
  input: Json;
  options: FlowOptions;
}

/** A run for a background process. */
export interface DetachRequest {
  flags: SettingsFlags;
  brief: unknown;
  /** A flow instead of the brief. */
  flow?: FlowRequest;
  open: Omit<OpenOptions, 'drive' | 'warn'>;
}

export interface Detached {
  runId: string;
  /** File with the output of the process. */
  log: string;
}

/** The user's list of trusted files. Calls reject with `invalid_config` or `usage` if it cannot be read or written. */
export interface TrustBook {
  list(): Promise<{ path: string; at: string; state: 'trusted' | 'changed' | 'gone' }[]>;
  add(items: Pick<TrustItem, 'path' | 'hash'>[]): Promise<void>;
  /** Returns the files of the workspace that were trusted. */
  revoke(workspace: string): Promise<string[]>;
}

export interface OpenOptions {
  /** The command may start runs, or end runs that no process drives. */
  drive: boolean;
  /** The command changes stored data. Default: only if it drives runs; otherwise it only reads. */
  writes?: boolean | undefined;
  /** The command creates no database: without one there are no runs to act on. Default: for every command that does not drive runs. */
  existingOnly?: boolean | undefined;
  /** Called with what the user should know about the database. */
  warn?: ((message: string) => void) | undefined;
  /** Called when the API is closed, with what can wait: a live display stays intact. Default: `warn`, at once. */
  warnAtEnd?: ((message: string) => void) | undefined;
  /** The command certainly starts a run, so preparations for it may begin at once. */
  startsRuns?: boolean | undefined;
  /** Name of the dialect. Default: native. */
  dialect?: string | undefined;
  /** Where runs execute. Default: here, and delegated runs where the dialect says. */
  host?: HostName | undefined;
  /** For a worker: where its trees get their files. Absent: trees use the workspace. */
  worker?: WorkerFolders | undefined;
  /** Clients leave what they delegate to workers that take runs from this queue. */
  queue?: string | undefined;
  /** How long a call that needs approval waits for an answer. Absent: such calls are denied. */
  askMs?: number | undefined;
  /** Tokens of the HTTP server of this process. They are secrets: asked for when the first run starts. */
  serverTokens?: (() => string[]) | undefined;
}

/** A server to use instead of this machine. */
export interface ServerChoice {
  url: string;
  tokenFile: string | undefined;
  insecureHttp: boolean;
  /** A workspace of the server, by its id or path. Default: the one that it was started for. */
  workspace: string | undefined;
}

export interface MemoryOptions {
  /** `read` and `write` create no database. */
  access: 'read' | 'write' | 'create';
  warn?: ((message: string) => void) | undefined;
}

/** Where many lines go: a file or standard output. `write` waits until the text is taken. */
export interface Output {
  write(text: string): Promise<void>;
  end(): Promise<void>;
  /** Instead of `end`: deletes the incomplete file. */
  drop(): Promise<void>;
}

/** `attach`: the tree to show and the run to select in it; null: all live trees. */
export interface ScreenRequest {
  attach: { rootId: string; runId: string } | null;
  /** Roots of trees that this process drives already. */
  driven?: string[];
  /** When it resolves, the screen closes without a key, unless the user has opened a run. */
  until?: Promise<void>;
  signal: AbortSignal;
}

/** `live`: runs that were live when the user left. `driven`: roots of live trees that this process drives. */
export interface ScreenResult {
  live: number;
  driven: string[];
  /** The user left with Ctrl-C. */
  isInterrupted: boolean;
}

export interface Io {
  version: string;
  out(text: string): void;
  /** Bytes for standard output, as they are. */
  outBytes(bytes: Uint8Array): void;
  /** The absolute form of a path that was named on the command line. */
  resolvePath(path: string): string;
  err(text: string): void;
  outTTY: boolean;
  errTTY: boolean;
  colour: { out: boolean; err: boolean };
  /** Size of the terminal, or a default. */
  columns(): number;
  rows(): number;
  /** Rejects with `usage` if there is more than a brief can contain. */
  readStdin(): Promise<string>;
  /** The trace that this process belongs to, from the variables TRACEPARENT and TRACESTATE. */
  trace: TraceHeaders;
  /** Text of a file named on the command line. Rejects with `usage`, with the nearest existing name. */
  readFile(path: string): Promise<string>;
  /** Lines of a file named on the command line, or of standard input for `-`, bounded in length. Rejects with `usage`. */
  lines(path: string): AsyncIterable<string>;
  /** A new file, or standard output for null. Rejects with `usage` if the file exists. */
  output(path: string | null): Promise<Output>;
  /** Files and long texts for a brief. `prepare` and `attach` reject with `usage`. */
  files: {
    /** A file that the user named; one from outside the workspace is copied into it. */
    prepare(workspace: string, path: string): Promise<BriefFile>;
    /** A text as a file of the workspace. */
    attach(workspace: string, name: string, text: string): Promise<BriefFile>;
    /** The run that the copies belong to; null if it was not started, which deletes them. */
    claim(workspace: string, files: BriefFile[], runId: string | null): Promise<void>;
  };
  /** While a handler is registered, Ctrl-C does not end the process. Returns a function that removes the handler. */
  onInterrupt(handler: (why: Stop) => void): () => void;
  exitNow(code: number): never;
  now(): number;
  /** Calls `run` every `ms` milliseconds until the returned function is called. */
  repeat(ms: number, run: () => void): () => void;
  /** Rejects with `depth` if a run has started this process, which then must not act for the user. */
  assertNotBelowRun(): Promise<void>;
  settings(flags: SettingsFlags): Promise<Settings>;
  /**
   * For servers, which start runs only later. Rejects with what all runs of these settings would be refused for. `database`: whether it has to be
   * usable, too.
   */
  assertRunnable(settings: Settings, options: { database: boolean }): Promise<void>;
  /** The process that executes the tools of a run; null if none is found. */
  findToolProcess(runId: string): Promise<number | null>;
  open(settings: Settings, options: OpenOptions): Promise<Api>;
  /** RETINUE_SERVER; null without one, and for commands that work only on this machine. */
  serverUrl: string | null;
  /** A client with the user's token. Rejects with `usage` if there is none, or if the address cannot be used. */
  connect(server: ServerChoice, warn?: (message: string) => void): Promise<Client>;
  /** Rejects with `unknown_dialect`. */
  dialect(name: string | undefined, settings: Settings): Promise<Dialect>;
  /** Resolves when the client has disconnected and everything is closed. */
  serveMcp(service: McpService): Promise<void>;
  /** Resolves when the client has disconnected and everything is closed. */
  serveAcp(service: AcpService): Promise<void>;
  acpInstall: {
    /** Rejects with `invalid_config` if the file cannot be parsed and so cannot be changed safely. */
    plan(request: AcpInstallRequest): Promise<AcpInstallation>;
    /** Starts the agent as the editor would, opens a session and ends it. */
    test(server: { command: string; args: string[] }): Promise<{ ok: true } | { ok: false; reason: string }>;
  };
  /** Starts the HTTP server over an open API. Rejects with `usage` if the address, the tokens or the certificate cannot be used. */
  serve(request: ServeRequest, api: Api, settings: Settings): Promise<RunningServer>;
  /** Starts a worker on the PostgreSQL database of the settings. Rejects with `usage` and `store_*`. */
  work(request: WorkerRequest, settings: Settings): Promise<RunningWorker>;
  mcpInstall: {
    /** Rejects with `invalid_config` if the file cannot be parsed and so cannot be changed safely. */
    plan(request: McpInstallRequest): Promise<McpInstallation>;
    /** Returns the path of the backup; null if there was no file. Rejects with `usage` if the file has changed since the plan. */
    apply(installation: McpInstallation): Promise<string | null>;
    /** Which variables the server needs. */
    variables(settings: Settings): Promise<ServerVariables>;
    /** Starts the server as the client would, asks for its tools and ends it. */
    test(installation: McpInstallation): Promise<{ ok: true; tools: string[] } | { ok: false; reason: string }>;
  };
  /** `slow`: at the pace of a language model, so that people can watch. Rejects with `usage` for an unknown name. */
  demo(name: string, options?: { slow: boolean }): Promise<Demo>;
  /** Prepares a temporary folder. */
  rightsDemo(name: 'hostile' | 'runaway'): Promise<RightsDemo>;
  /** Prepares a temporary folder. */
  mergeDemo(): Promise<MergeDemo>;
  /** Starts and kills real processes of this program; `report` gets a line at each stage. */
  crashDemo(report: (line: string) => void): Promise<CrashDemo>;
  /** Runs in this process, in a temporary folder; `report` gets a line every hundred turns. */
  longDemo(report: (line: string) => void): Promise<LongDemo>;
  /** Starts a PostgreSQL server and two workers, and kills one. Rejects if this machine has no PostgreSQL server. */
  clusterDemo(report: (line: string) => void): Promise<ClusterDemo>;
  /** What a run of this agent would get. Rejects with `unknown_agent` or `invalid_config`. */
  explain(settings: Settings, name: string): Promise<Explanation>;
  /** Which external agents can be started here, and what is enforced for them. */
  externalPrograms(settings: Settings): Promise<ExternalRow[]>;
  /** How a call would be decided. Rejects with `unknown_agent`, `unknown_tool` or `invalid_config`. */
  policy(settings: Settings, question: PolicyQuestion): Promise<PolicyVerdict>;
  memories(settings: Settings, options: MemoryOptions): Promise<Memories & { close(): Promise<void> }>;
  models: {
    list(settings: Settings): Promise<ListedModel[]>;
    /** What to do if there are none. */
    advice(): Promise<string>;
    /** Models that this machine has a key for, without asking a server. */
    keyed(): Promise<string[]>;
    /** In tokens; null if it is unknown. */
    contextWindow(settings: Settings, name: string): Promise<number | null>;
    /** Makes one short call. Rejects with `unknown_model`. */
    check(settings: Settings, name: string): Promise<ModelCheck>;
    /** Makes it the user's default and returns the file. Rejects with `invalid_config` or `usage`. */
    save(name: string): Promise<string>;
  };
  trust: TrustBook;
  /** Flows of the workspace, and how one is started. */
  flows: {
    list(settings: Settings): Promise<FlowFile[]>;
    /** The file of a flow, by name or path. Rejects with `usage`. */
    find(settings: Settings, given: string): Promise<string>;
    /** Rejects with `usage` if the file may not be run or has no flow, and with `invalid_brief` if the input does not match. */
    start(api: Api, settings: Settings, request: FlowRequest): Promise<RunHandle>;
  };
  evals: {
    /** The cases of a file as the input of their flow. Rejects with `invalid_config` or `usage`. */
    prepare(request: { file: string; text: string; choice: EvalChoice; settings: Settings }): Promise<EvalInput>;
    /** The input that judges recorded runs again. Rejects with `usage` if none can be. */
    planReplay(input: EvalInput, last: EarlierEval, read: ReadRun): Promise<EvalInput>;
    /** Rejects with `unknown_agent`, `unknown_model` or `invalid_config` for the name of an agent or model that no case could use. */
    checkNames(api: Api, input: EvalInput, settings: Settings): Promise<void>;
    /** The rules of --allow and --deny, as the runs of an eval record them. */
    commandRules(settings: Settings): Promise<Rule[]>;
    start(api: Api, input: EvalInput, options: FlowOptions): Promise<RunHandle>;
  };
  /** When the user last saw a list of the open questions of a database (ISO 8601). `source`: its path, or the address of the server. */
  questionList: {
    /** Null if never. */
    shownAt(source: string): Promise<string | null>;
    /**
     * `at`: a moment before the list was read. Rejects with `usage` if it cannot be recorded. Records nothing below a run: the user has not
     * seen that list.
     */
    save(source: string, at: string): Promise<void>;
  };
  /** Sends a test notification as configured. One result for each receiver; empty if there is none. `failure`: null if it was sent. */
  testNotification(settings: Settings): Promise<{ to: 'command' | 'webhook'; failure: string | null }[]>;
  /** The databases of all workspaces of this user. */
  workspaces: {
    /** The last used first. */
    list(): Promise<RegisteredDatabase[]>;
    /** Opens the database only for reading, and closes it afterwards. Rejects with `usage` if it is not the user's own, and with `store_*`. */
    read<T>(database: RegisteredDatabase, work: (api: Api) => Promise<T>): Promise<T>;
  };
  /** A failed check is a result, not an error. */
  doctor(flags: SettingsFlags): Promise<Check[]>;
  /** Whether a user at a terminal can be asked. */
  interactive: boolean;
  /**
   * A line from the terminal; null if there is no terminal, or if the signal aborts first. Ctrl-C is passed on as a signal to the process.
   * Keys typed before the question could be read are ignored. One question is shown at a time.
   */
  ask(question: string, options?: { signal: AbortSignal }): Promise<string | null>;
  /** Shows runs on the whole terminal until the user leaves or the signal fires. Only where `interactive`. */
  screen(api: Api, options: ScreenRequest): Promise<ScreenResult>;
  /** Resolves when the run is created. Rejects if the brief is refused, and with `crashed` if the process did not start it. */
  detach(request: DetachRequest, settings: Settings): Promise<Detached>;
}
