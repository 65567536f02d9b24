// What a session needs of the folder that it works in. `cli/commands/acp.ts` and `main/` provide it.
import type { Api } from '../api/api.ts';
import type { BriefFile } from '../config/attachments.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';

export interface WorkspaceRequest {
  /** Absolute. */
  folder: string;
  /** Further folders that tools may read. */
  readable: string[];
}

export interface SessionWorkspace {
  /** A real path. */
  path: string;
  /** Names of the configured MCP servers. */
  serverNames: string[];
  /** The configured model, and others that this machine has a key for. */
  models: { configured: string | null; available: string[] };
  /** Opens the API for driving runs, with further MCP servers of the user. */
  open(servers: Record<string, McpServer>): Promise<Api>;
  /** Uses an API that only reads. Creates no database. */
  read<T>(work: (api: Api) => Promise<T>): Promise<T>;
  /** Null if it is unknown. */
  contextWindow(model: string): Promise<number | null>;
  /** A text as a file of the workspace. */
  attach(name: string, text: string): Promise<BriefFile>;
  /** The run that attached files belong to; null deletes them. */
  claim(files: BriefFile[], runId: string | null): Promise<void>;
}

/** How the sessions of this process start their runs. */
export interface RunDefaults {
  agent: string | undefined;
  limits: LimitsGiven;
}
