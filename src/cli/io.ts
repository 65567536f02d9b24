import type { Api } from '../api/api.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { Memories } from '../ports/notes.ts';
import type { Explanation, PolicyVerdict } from './explanation.ts';
import type { Settings, SettingsFlags, TrustItem } from './settings.ts';

/** `interrupt`: Ctrl-C. `terminate`: the process is to leave (SIGTERM, the terminal is gone). `closed`: nobody reads standard output any more. */
export type Stop = 'interrupt' | 'terminate' | 'closed';

/** A demonstration: what it shows and runs on. `db` is null where the workspace's own database serves. */
export interface Demo {
  about: string;
  task: string;
  workspace: string;
  model: string;
  db: string | null;
  /** How the reader calls this program, for the hints at the end. */
  command: string;
  /** What the machine has to go on with, and the command for the first of it. */
  found(): Promise<{ here: string[]; next: string | null }>;
}

/** A demonstration of rights and limits: a ground that was made for it, and what is started on it, one after the other. */
export interface RightsDemo extends Pick<Demo, 'about' | 'workspace' | 'model'> {
  db: string;
  rules: string[];
  limits: LimitsGiven;
  briefs: { task: string; agent: string }[];
}

/** What was counted of a tree that was killed in the middle and gone on with. */
export interface CrashDemo {
  db: string;
  runs: number;
  openAtKill: number;
  completed: number;
  /** `asked`: by the model's own record. `repeated`: asked again although the answer was in the journal. */
  model: { asked: number; answered: number; openAtKill: number; repeated: number };
  /** `repeated`: took effect more than once. */
  tools: { finished: number; unknown: number; repeated: number };
  facts: number;
  /** What of the journal does not hold. */
  faults: string[];
}

/** One thing that `doctor` looked at. `broken`: nothing works until it is put right. */
export interface Check {
  name: string;
  state: 'ok' | 'warning' | 'broken';
  found: string;
  /** What to do; null where nothing is to be done. */
  advice: string | null;
}

/** A run for a process of its own. */
export interface DetachRequest {
  flags: SettingsFlags;
  brief: unknown;
  open: Omit<OpenOptions, 'drive'>;
}

export interface Detached {
  runId: string;
  /** Where the process writes what it would have shown. */
  log: string;
}

/** The user's list of trusted files. Calls reject with `invalid_config` or `usage` where it cannot be read or written. */
export interface TrustBook {
  list(): Promise<{ path: string; at: string; state: 'trusted' | 'changed' | 'gone' }[]>;
  add(items: Pick<TrustItem, 'path' | 'hash'>[]): Promise<void>;
  /** The files of the workspace that were trusted. */
  revoke(workspace: string): Promise<string[]>;
}

/** `dialect`: the contract of the delegation tools; the native one where it is absent. */
export interface OpenOptions {
  drive: boolean;
  dialect?: string | undefined;
  /** Where runs execute; the dialect's place for delegated ones where it is absent. */
  host?: 'inline' | 'process' | undefined;
  /** How long a question of a run waits for somebody's word, in milliseconds; absent: nobody is asked, and what asks is denied. */
  askMs?: number | undefined;
  /** Its runs are gone on with though it was not made here. */
  adopted?: boolean | undefined;
}

/** What a client is served with, over standard input and output. */
export interface McpService {
  /** The contract as the configuration of the current folder has it. */
  dialect: Dialect;
  /** Whether the workspace was given by hand: then the client's does not count. */
  fixed: boolean;
  /** For what the client delegates. */
  limits: LimitsGiven;
  /** The API on the client's workspace; null where it names none. Without `drive` only to look. `asks`: somebody answers where rules ask. */
  open(workspace: string | null, options: { drive: boolean; asks: boolean }): Promise<Api>;
  /** Ends it before the client does. */
  stop: AbortSignal;
  /** The end has begun, for whatever reason. Called once. */
  leaving(): void;
}

export const mcpClients = ['claude-code', 'codex', 'cursor', 'vscode', 'zed', 'opencode'] as const;
export type McpClient = (typeof mcpClients)[number];

/** A client's configuration with our server in it. */
export interface McpInstallation {
  client: McpClient;
  /** The file, as a person names it, and whether it is there. */
  file: string;
  exists: boolean;
  /** What is added, as it would stand in a file of its own. */
  snippet: string;
  /** Keys of our entry that go, because they are for another transport. */
  removed: string[];
  /** Whether the file has all of it already. */
  same: boolean;
  /** What it was made from, and what is to be written. */
  before: string;
  after: string;
}

export interface McpInstallRequest {
  client: McpClient;
  /** Flags for the server. */
  flags: string[];
  /** Into the project's own file: that of the workspace. */
  project: boolean;
  workspace: string | undefined;
}

/** Where many lines go: a file, or standard output. Written piece by piece, as fast as it takes them. */
export interface Output {
  write(text: string): Promise<void>;
  end(): Promise<void>;
  /** Instead of `end`: a file that is not whole does not stay. */
  drop(): Promise<void>;
}

/** The world as the command line sees it. `main/` makes it from the process, tests make it from memory. */
export interface Io {
  version: string;
  out(text: string): void;
  err(text: string): void;
  outTTY: boolean;
  errTTY: boolean;
  colour: { out: boolean; err: boolean };
  /** Size of the terminal; some default where there is none. */
  columns(): number;
  rows(): number;
  /** Rejects with `usage` when there is more than a brief can hold. */
  readStdin(): Promise<string>;
  /** Text of a file named on the command line. Rejects with `usage`, naming the file and the nearest there is. */
  readFile(path: string): Promise<string>;
  /** Lines of a file named on the command line, or of standard input for `-`, bounded in length. Rejects with `usage`. */
  lines(path: string): AsyncIterable<string>;
  /** A new file, or standard output for null. Rejects with `usage` where the file is there already. */
  output(path: string | null): Promise<Output>;
  /** The path of a file for a brief, as seen from the workspace. Rejects like `readFile`. */
  findFile(workspace: string, path: string): Promise<string>;
  /** While a handler is registered, the process is not ended by Ctrl-C. The returned function takes it away again. */
  onInterrupt(handler: (why: Stop) => void): () => void;
  exitNow(code: number): never;
  now(): number;
  every(ms: number, run: () => void): () => void;
  settings(flags: SettingsFlags): Promise<Settings>;
  /** `drive`: the command may start runs here, or end those that nobody drives. Without it the command only reads. */
  open(settings: Settings, options: OpenOptions): Promise<Api>;
  /** The contract of that name, as the settings shape it. Rejects with `unknown_dialect`. */
  dialect(name: string | undefined, settings: Settings): Promise<Dialect>;
  /** Resolves when the client is gone and everything is closed. */
  serveMcp(service: McpService): Promise<void>;
  mcpInstall: {
    /** Rejects with `invalid_config` where the file cannot be understood, and so cannot be changed safely. */
    plan(request: McpInstallRequest): Promise<McpInstallation>;
    /** The path of the file as it was before; null where there was none. Rejects with `usage` where it has changed since the plan. */
    apply(installation: McpInstallation): Promise<string | null>;
  };
  /** Rejects with `usage` for a name that there is none of. */
  demo(name: string): Promise<Demo>;
  /** Makes the ground in a temporary folder. */
  rightsDemo(name: 'hostile' | 'runaway'): Promise<RightsDemo>;
  /** Kills real processes of this program; `say` is told how it goes. */
  crashDemo(say: (text: string) => void): Promise<CrashDemo>;
  /** What a run of this agent would get. Rejects with `unknown_agent` or `invalid_config`. */
  explain(settings: Settings, name: string): Promise<Explanation>;
  /** How a call would be decided. Rejects with `unknown_agent`, `unknown_tool` or `invalid_config`. */
  policy(settings: Settings, question: { call: string; agent: string }): Promise<PolicyVerdict>;
  /** `drive`: the command may write. Without it there need be no database. */
  memories(settings: Settings, options: { drive: boolean }): Promise<Memories & { close(): Promise<void> }>;
  trust: TrustBook;
  /** Databases that this user has made here; others may have come with a folder. */
  origin: {
    /** Rejects with `usage` where it was not made here. */
    assert(settings: Settings): Promise<void>;
    /** Takes it for one's own from now on. Rejects with `usage` where that cannot be kept. */
    adopt(settings: Settings): Promise<void>;
  };
  /** Looks at the ground; what is wrong with it is an answer, not an error. */
  doctor(flags: SettingsFlags): Promise<Check[]>;
  /** Whether somebody sits at a terminal who can be asked. */
  interactive: boolean;
  /**
   * A line from the terminal; null where nobody sits at one, or the signal fires first. Ctrl-C counts as a signal to the process. What was typed before
   * the question could be read is no part of it, and one question is shown at a time.
   */
  ask(question: string, options?: { signal: AbortSignal }): Promise<string | null>;
  /** Resolves when the run is created. Rejects with its refusal, and with `crashed` where the process came to nothing. */
  detach(request: DetachRequest, settings: Settings): Promise<Detached>;
}
