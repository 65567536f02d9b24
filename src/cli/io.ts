// The outside world as the command line sees it. `main/process-io.ts` implements it on the process, tests implement it in memory.
import type { Api } from '../api/api.ts';
import type { Client } from '../client/client.ts';
import type { BriefFile } from '../config/attachments.ts';
import type { PolicyQuestion } from '../config/explain-call.ts';
import type { Explanation, PolicyVerdict } from '../config/explanation.ts';
import type { McpInstallation, McpInstallRequest } from '../config/mcp-install/install.ts';
import type { ServerVariables } from '../config/mcp-install/variables.ts';
import type { ListedModel, ModelCheck } from '../config/model-choice.ts';
import type { HostName, Settings, SettingsFlags, TrustItem } from '../config/settings.ts';
import type { RegisteredDatabase } from '../config/workspace-registry.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { Check } from '../doctor/check.ts';
import type { MachineSummary } from '../doctor/machine.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Memories } from '../ports/notes.ts';

export type { McpClient } from '../config/mcp-install/clients.ts';
export type { McpInstallation } from '../config/mcp-install/install.ts';
export type { Check } from '../doctor/check.ts';

/** `interrupt`: Ctrl-C. `terminate`: SIGTERM, or the terminal was closed. `closed`: standard output has no reader any more. */
export type Stop = 'interrupt' | 'terminate' | 'closed';

/** A demo that is one run. */
export interface Demo {
  about: string;
  task: string;
  workspace: string;
  model: string;
  /** Null: the database of the workspace. */
  db: string | null;
  /** How the user calls this program, for the hints at the end. */
  program: string;
  /** What the machine offers for a real run. */
  inspectMachine(): Promise<MachineSummary>;
}

/** A demo of rights and limits: a prepared workspace and the briefs that run in it, one after the other. */
export interface RightsDemo extends Pick<Demo, 'about' | 'workspace' | 'model'> {
  db: string;
  rules: string[];
  limits: LimitsGiven;
  briefs: { task: string; agent: string }[];
}

/** Counts of a tree that was killed halfway and resumed. */
export interface CrashDemo {
  db: string;
  runs: number;
  openAtKill: number;
  completed: number;
  /** `asked`: requests that the model received. `repeated`: requests made again although their answer was in the log. */
  model: { asked: number; answered: number; openAtKill: number; repeated: number };
  /** `repeated`: calls that took effect more than once. */
  tools: { finished: number; unknown: number; repeated: number };
  facts: number;
  /** Violated invariants of the log. */
  faults: string[];
}

/** A run for a background process. */
export interface DetachRequest {
  flags: SettingsFlags;
  brief: unknown;
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

/** What the MCP server needs to serve one client on the standard streams. */
export interface McpService {
  /** The dialect as configured for the current folder. */
  dialect: Dialect;
  /** Whether the workspace was given as a flag; the client's workspace is ignored then. */
  fixed: boolean;
  /** Limits for what the client delegates. */
  limits: LimitsGiven;
  /** Lets the client see the runs of all clients. */
  share: boolean;
  /** Opens the API for the client's workspace; null if it names none. `asks`: the client can answer calls that need approval. */
  open(workspace: string | null, options: { drive: boolean; asks: boolean }): Promise<Api>;
  /** Ends the service before the client does. */
  stop: AbortSignal;
  /** Called once, when the service begins to end for any reason. */
  leaving(): void;
}

/** Where the HTTP server listens, and how it is protected. Paths are relative to the current folder. */
export interface ServeRequest {
  host: string;
  /** 0: a free one. */
  port: number;
  /** Without one, the server makes a token. */
  tokenFile: string | undefined;
  tlsCert: string | undefined;
  tlsKey: string | undefined;
  /** A proxy in front of the server does TLS. */
  behindProxy: boolean;
  /** The address that browsers use. */
  publicUrl: string | undefined;
  publicMetrics: boolean;
  /** Who may use the user's other workspaces: nobody, browsers that opened the link, or every token too. */
  otherWorkspaces: 'never' | 'link' | 'always';
  /** How long a call that needs approval waits for an answer, in runs of other workspaces that the server drives. */
  askMs: number;
  /** MCP at `/mcp` and `/mcp/DIALECT`. */
  mcp: {
    /** The dialect at `/mcp`. Default: native. */
    dialect: string | undefined;
    /** Lets clients see the runs of all clients. */
    share: boolean;
    /** Limits for what one session delegates. */
    limits: LimitsGiven;
    /** How long a call that needs approval waits for an answer. */
    askMs: number;
    /** Where runs execute. Default: depends on the dialect. */
    host: HostName | undefined;
  };
}

export interface RunningServer {
  /** Origin without a trailing slash. */
  url: string;
  /** The token for programs that the server made; null with a token file. */
  token: string | null;
  /** Opens the dashboard in a browser, with a code that is no token; null with a token file. */
  link: string | null;
  /** Ends streams and requests. */
  close(): Promise<void>;
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
  /** When it resolves, the screen closes by itself, unless the user has opened a run. */
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
  /** The process that executes the tools of a run; null if none is found. */
  findToolProcess(runId: string): Promise<number | null>;
  open(settings: Settings, options: OpenOptions): Promise<Api>;
  /** RETINUE_SERVER; null without one, and for commands that work only on this machine. */
  serverUrl: string | null;
  /** A client with the user's token. Rejects with `usage` if there is none, or if the address cannot be used. */
  connect(server: ServerChoice): Promise<Client>;
  /** Rejects with `unknown_dialect`. */
  dialect(name: string | undefined, settings: Settings): Promise<Dialect>;
  /** Resolves when the client has disconnected and everything is closed. */
  serveMcp(service: McpService): Promise<void>;
  /** Starts the HTTP server over an open API. Rejects with `usage` if the address, the tokens or the certificate cannot be used. */
  serve(request: ServeRequest, api: Api, settings: Settings): Promise<RunningServer>;
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
  /** Starts and kills real processes of this program; `report` gets a line at each stage. */
  crashDemo(report: (line: string) => void): Promise<CrashDemo>;
  /** What a run of this agent would get. Rejects with `unknown_agent` or `invalid_config`. */
  explain(settings: Settings, name: string): Promise<Explanation>;
  /** How a call would be decided. Rejects with `unknown_agent`, `unknown_tool` or `invalid_config`. */
  policy(settings: Settings, question: PolicyQuestion): Promise<PolicyVerdict>;
  memories(settings: Settings, options: MemoryOptions): Promise<Memories & { close(): Promise<void> }>;
  models: {
    list(settings: Settings): Promise<ListedModel[]>;
    /** What to do if there are none. */
    advice(): Promise<string>;
    /** Makes one short call. Rejects with `unknown_model`. */
    check(settings: Settings, name: string): Promise<ModelCheck>;
    /** Makes it the user's default and returns the file. Rejects with `invalid_config` or `usage`. */
    save(name: string): Promise<string>;
  };
  trust: TrustBook;
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
