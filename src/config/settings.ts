// The settings of one command or program: the types that loading produces and that front-ends read.
//
// `config/` turns files, variables and flags into settings, and decides what is trusted and what is secret. It gets the working directory
// and the environment as values: only `main/` reads them from the process. It never drives a run.
import type { Agent } from '../contract/agent.ts';
import type { CompactionSettings } from '../contract/compaction.ts';
import type { Effort } from '../contract/effort.ts';
import type { Json } from '../contract/json.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { PromptCache } from '../contract/prompt-cache.ts';
import type { Price } from '../models/prices.ts';
import type { ProviderSettings } from '../models/providers.ts';
import type { Skill } from '../ports/skill.ts';
import type { DatabaseSetting } from './database-setting.ts';
import type { NotifySettings } from './notify-settings.ts';
import type { Telemetry } from './telemetry.ts';
import type { FoundWorkspace } from './workspace.ts';

/** A value and its source: `built-in`, a file, a variable or a flag. */
export interface Sourced<T> {
  value: T;
  from: string;
}

/** Rules as written, in matching order, with the name of their owner. */
export interface OwnedRules {
  owner: string;
  rules: string[];
}

/** The owner of rules that were given as flags. */
export const commandLineOwner = 'command line';

export const sandboxModes = ['required', 'auto', 'off'] as const;
export type SandboxMode = (typeof sandboxModes)[number];

/** Where runs execute: in this process, or each in a child process. */
export const hostNames = ['inline', 'process'] as const;
export type HostName = (typeof hostNames)[number];

/** Command-line flags that change the settings. */
export interface SettingsFlags {
  workspace?: string | undefined;
  /** The workspace is a folder that an MCP client works in, not the user's choice. */
  isClientFolder?: boolean;
  config?: string | undefined;
  db?: string | undefined;
  /** `--adopt`: accept a database that the user did not create on this machine. */
  adopt?: boolean | undefined;
  model?: string | undefined;
  sandbox?: SandboxMode | undefined;
  /** Folders outside the workspace that tools may read. */
  addDirs?: string[] | undefined;
  limits: LimitsGiven;
  /** Shared budgets of every new tree, besides those of the configuration. */
  budgets?: string[] | undefined;
  /** Whole rules (`allow bash:git log *`), in the order of the `--allow` and `--deny` flags. */
  rules: string[];
}

/** `changed`: the file was trusted with a different content. */
export type TrustState = 'trusted' | 'changed' | 'untrusted';

/** A workspace file with settings that apply only if the user trusts it. */
export interface TrustItem {
  /** Absolute. */
  path: string;
  /** Hash of path and content, so that the user trusts exactly what was shown. */
  hash: string;
  state: TrustState;
  /** Each setting that needs trust, and why it is ignored without it. */
  gives: { what: string; why: string }[];
}

/** All available agents, and the files that could not be used. */
export interface ConfiguredAgents {
  list: Agent[];
  /** Files that define no usable agent, with the name that each would define. */
  refused: { name: string; source: string; problems: string[] }[];
  warnings: { source: string; message: string }[];
  /** Parts of files of other programs that have no effect, by the source of the agent. */
  leftOut: { source: string; what: string; why: string }[];
  /** What agents of workspace files that are not trusted would get with trust. */
  needTrust: { name: string; source: string; what: string; why: string }[];
  /** Definitions that are not used, because the one from `by` has the name. */
  hidden: { name: string; source: string; by: string }[];
  /** The program whose format a file has, by the source of the agent. */
  programs: Map<string, string>;
  trust: TrustItem[];
  /** Names of agents from untrusted workspace files. */
  untrusted: string[];
}

/** All skills that are offered, and what is not used of their files. */
export interface ConfiguredSkills {
  list: Skill[];
  hidden: { name: string; source: string; by: string }[];
  warnings: { source: string; message: string }[];
  leftOut: { source: string; what: string; why: string }[];
}

/** All configuration after merging files, variables and flags and dropping what is not trusted. */
export interface Settings {
  /** A real path. */
  workspace: string;
  workspaceFrom: FoundWorkspace['from'];
  model: Sourced<string> | null;
  /** Models in order, by agent; `*` for all others, beginning with `model`. */
  routes: Record<string, Sourced<string[]>>;
  effort: Sourced<Effort> | null;
  promptCache: Sourced<PromptCache>;
  /** Limits that were set; built-in defaults are not included. */
  limits: { config: LimitsGiven; command: LimitsGiven };
  /** Shared budgets that every new tree draws from. */
  budgets: string[];
  compaction: CompactionSettings;
  /** One list after the built-in rules; the last match wins. */
  ownerRules: OwnedRules[];
  /** Each a separate ruleset that can only narrow. */
  narrowingRules: OwnedRules[];
  /** Real paths of folders outside the workspace that tools may read. */
  readable: string[];
  db: DatabaseSetting;
  sandbox: Sourced<SandboxMode>;
  /** Names of environment variables that an agent's shell gets, by agent. */
  env: Record<string, string[]>;
  durability: Sourced<'normal' | 'full'>;
  providers: Record<string, ProviderSettings>;
  prices: Record<string, Price>;
  mcpServers: Record<string, McpServer>;
  /** Only from the user's own configuration, or from a file given with `--config`. */
  notify: Sourced<NotifySettings> | null;
  /** From the OTEL_* variables, the user's own configuration, or a file given with `--config`. */
  telemetry: Telemetry;
  /** Options by dialect, with the dialect's original key names. */
  dialects: Record<string, Record<string, Json>>;
  /** Reads the agent files at the first call. Throws `invalid_config` if one of Retinue's own agent folders has an invalid file. */
  agents(): ConfiguredAgents;
  /** Reads the skill files at the first call. */
  skills(): ConfiguredSkills;
  /** The workspace's configuration file, if it has settings that need trust. */
  trust: TrustItem[];
  /** The same for the files of flows. */
  flowTrust(): TrustItem[];
  /** Settings that were ignored, and why. Commands print them once on standard error. */
  notices: string[];
  /** Every effective value, for `retinue config`. Addresses are without credentials. */
  sources: { key: string; value: Json; from: string }[];
  /** Configuration files that were looked for. */
  files: { path: string; role: 'user' | 'given' | 'workspace'; found: boolean }[];
}
