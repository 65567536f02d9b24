import type { Agent } from '../contract/agent.ts';
import type { Json } from '../contract/json.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';

/** A value and where it came from: `built-in`, a file, a variable or a flag. */
export interface Sourced<T> {
  value: T;
  from: string;
}

/** Rules as they were written, and whose they are; their order is the order in which they are matched. */
export interface OwnedRules {
  owner: string;
  rules: string[];
}

export interface Provider {
  kind: 'anthropic' | 'openai' | 'google' | 'ollama' | 'openai-compatible';
  baseURL?: string | undefined;
  /** The name of the variable that holds the key; never the key. */
  apiKeyEnv?: string | undefined;
}

/** USD for a million tokens. */
export interface Price {
  input: number;
  output: number;
  cached?: number | undefined;
  reasoning?: number | undefined;
}

export const sandboxModes = ['required', 'auto', 'off'] as const;
export type SandboxMode = (typeof sandboxModes)[number];

/** What the command line says about the ground a command stands on. */
export interface SettingsFlags {
  workspace?: string | undefined;
  config?: string | undefined;
  db?: string | undefined;
  model?: string | undefined;
  sandbox?: SandboxMode | undefined;
  limits: LimitsGiven;
  /** Whole rules (`allow bash:git log *`) in the order in which `--allow` and `--deny` stood. */
  rules: string[];
}

/** `changed`: another content of the file was trusted once. */
export type TrustState = 'trusted' | 'changed' | 'untrusted';

/** A file of the workspace that says something which counts only where the user trusts it. */
export interface TrustItem {
  /** Absolute. */
  path: string;
  /** Of path and content; what is shown is what is trusted. */
  hash: string;
  state: TrustState;
  /** What counts only with trust, and what holds without it. */
  gives: { what: string; why: string }[];
}

/** The agents there are, and what became of files that define others. */
export interface AgentsFound {
  list: Agent[];
  /** Files that nobody gets an agent from, with the name each would define. */
  refused: { name: string; source: string; problems: string[] }[];
  warnings: { source: string; message: string }[];
  trust: TrustItem[];
  /** Names of those that come from a file of the workspace which is not trusted. */
  untrusted: string[];
}

/** Everything that is configured, after files, variables and flags are put together and what is not trusted is left out. */
export interface Settings {
  /** A real path. */
  workspace: string;
  model: Sourced<string> | null;
  /** Given limits only: the built-in ones are not in here. */
  limits: { config: LimitsGiven; command: LimitsGiven };
  /** One list, last match wins, to be put after the built-in rules. */
  ownerRules: OwnedRules[];
  /** Each a ruleset of its own that can only narrow. */
  narrowingRules: OwnedRules[];
  db: { path: string; from: string };
  sandbox: Sourced<SandboxMode>;
  /** Variables of this process that the shell of an agent gets, by the agent's name. */
  env: Record<string, string[]>;
  durability: Sourced<'normal' | 'full'>;
  providers: Record<string, Provider>;
  prices: Record<string, Price>;
  mcpServers: Record<string, McpServer>;
  /** By dialect, with the names of its source; absent where nothing is set. */
  dialects: Record<string, Record<string, Json>>;
  /** Read from their files at the first call. Throws `invalid_config` where one is refused. */
  agents(): AgentsFound;
  /** The workspace's configuration, where it says something that needs trust. */
  trust: TrustItem[];
  /** What was left out, and why; printed once on standard error. */
  notices: string[];
  /** Every value in force, for `retinue config`. Addresses are without credentials. */
  sources: { key: string; value: Json; from: string }[];
  /** The files that were looked for. */
  files: { path: string; role: 'user' | 'given' | 'workspace'; found: boolean }[];
}
