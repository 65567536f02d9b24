// The inputs of one assembly: everything a front-end decides before `main/assemble.ts` can build a runtime. The command line fills them
// from its settings, the library from its options.
import type { CompactionSettings } from '../contract/compaction.ts';
import type { Effort } from '../contract/effort.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { PromptCache } from '../contract/prompt-cache.ts';
import type { ExternalHomes } from '../externals/homes.ts';
import type { RuntimeOptions } from '../kernel/runtime.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Checkouts } from '../ports/checkouts.ts';
import type { Dialect } from '../ports/dialect.ts';
import type { FlowSource } from '../ports/flow.ts';
import type { Models } from '../ports/model.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Skill } from '../ports/skill.ts';
import type { Store } from '../ports/store.ts';
import type { AnyTool } from '../ports/tool.ts';
import type { Forget } from '../records/erase.ts';
import type { Notes } from '../stores/notes-memory.ts';
import type { BashOptions, SearchBackend } from '../tools/index.ts';
import type { HostName } from './settings.ts';
import type { ShellAccess } from './shell-access.ts';
import type { Telemetry } from './telemetry.ts';
import type { Env } from './user-folders.ts';

/** What an API needs, whether or not it ever drives a run. */
export interface AssemblyInput {
  store: Store;
  catalog: Catalog;
  dialect: Dialect;
  checkRules: RuntimeOptions['settings']['checkRules'];
  /** Why a brief cannot start for lack of a model, with what to do; null if it can. */
  advise?: (brief: { model?: string | undefined; agent?: string | undefined }) => Promise<string | null>;
  /** Finds the dialect of an existing tree that has another one; null if there is none of this name. */
  dialectNamed?: (name: string) => Promise<Dialect | null>;
  /** Removes what belongs to an erased tree outside the store. */
  forget?: Forget;
  /** Files of runs' own. Without them, nothing can be applied and no run can have any. */
  checkouts?: Checkouts;
  /** The homes of external agents. Without them, no agent can be carried out by a program. */
  homes?: ExternalHomes;
  /** The folder that changes are applied to. */
  workspace?: string;
  /** Removes secrets from stored contents that are shown. */
  redact?: Redact;
  /** Finds the programs of recorded flows. Without it, no flow can be resumed. */
  flows?: FlowSource;
  /** Where traces of the runs of this process go. Default: nowhere. */
  telemetry?: Telemetry;
  /** Gets what the user should know about exporting traces. */
  warn?: (message: string) => void;
  /** Called once, when this process starts its first run. */
  prepareRuntime(): Promise<RuntimeInput>;
}

/** What only a process that drives runs needs. */
export interface RuntimeInput {
  env: Env;
  workspace: string;
  /** Real paths of folders outside the workspace that tools may read. */
  readable?: string[] | undefined;
  models: Models;
  /** The model of briefs and agents that name none. */
  model: string | null;
  /** Models in order, by agent name and `*`. */
  routes?: Record<string, string[]> | undefined;
  effort?: Effort | undefined;
  promptCache?: PromptCache | undefined;
  limits: LimitsGiven;
  /** Shared budgets that every new tree draws from. */
  budgets?: string[] | undefined;
  compaction?: CompactionSettings | undefined;
  /** The rulesets of a root run with these delegation tools, the owner's first. */
  rulesets(delegationTools: readonly string[]): Ruleset[];
  shell: ShellAccess;
  /** Environment variables that the owner grants to one agent's shell. */
  grantedVariables?: BashOptions['secrets'];
  /** Environment variables that hold secrets, besides those of MCP servers. */
  secretNames: string[];
  /** Tokens of the HTTP server of this process. */
  serverTokens?: string[] | undefined;
  databasePasswords?: string[] | undefined;
  mcpServers: Record<string, McpServer>;
  search: SearchBackend | null;
  /** Skills that models may load. */
  skills?: readonly Skill[];
  notes: Notes;
  /** Tools besides the built-in ones. */
  programTools: AnyTool[];
  /** Where tools of all runs execute; if absent, in this process, and those of delegated runs where the dialect says. */
  host: HostName | undefined;
  questions: RuntimeOptions['questions'];
}
