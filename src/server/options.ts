// What the HTTP server needs from outside.
import type { Api } from '../api/api.ts';
import type { Workspace } from '../contract/http.ts';
import type { Memory } from '../ports/notes.ts';
import type { OwnAddresses } from './check-origin.ts';
import type { TokenBook } from './tokens.ts';

/** The workspaces of this user. */
export interface Workspaces {
  list(): Promise<Workspace[]>;
  /** Rejects with `usage` for an unknown id. */
  open(id: string): Promise<Api>;
}

/** What depends on the settings of a workspace. */
export interface WorkspaceSetup {
  models(): Promise<object[]>;
  memories(): Promise<Memory[]>;
  /** Rejects with `unknown_agent`, `unknown_tool` or `invalid_config`. */
  policy(question: { call: string; agent: string }): Promise<object>;
}

export interface ServerOptions {
  version: string;
  /** The API of the workspace that the server was started for. */
  api: Api;
  /** The id of that workspace. */
  workspace: string;
  workspaces: Workspaces;
  /** Rejects with `usage` for an unknown id. */
  setup(workspace: string): Promise<WorkspaceSetup>;
  /** The process that executes the tools of a run; null if none is found. */
  findToolProcess(runId: string): Promise<number | null>;
  tokens: TokenBook;
  own: OwnAddresses;
  /** Folder of the built dashboard. */
  web: string;
  /** Answers /metrics without a token. */
  publicMetrics: boolean;
  now(): number;
  /** A line for whoever runs the server. */
  log(line: string): void;
}
