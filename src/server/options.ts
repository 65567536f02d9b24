// What the HTTP server needs from outside.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api } from '../api/api.ts';
import type { Workspace } from '../contract/http.ts';
import type { Memory } from '../ports/notes.ts';
import type { OwnAddresses } from './check-origin.ts';
import type { Principal, TokenBook } from './tokens.ts';

/** The workspaces of this user. */
export interface Workspaces {
  /** The workspace of the server first. `others`: with the user's other workspaces. */
  list(options: { others: boolean }): Promise<Workspace[]>;
  /** Rejects with `usage` for an unknown id. */
  open(id: string): Promise<Api>;
}

/** What depends on the settings of a workspace. */
export interface WorkspaceSetup {
  /** The model of runs whose brief names none. */
  model: string | null;
  models(): Promise<object[]>;
  memories(): Promise<Memory[]>;
  /** Rejects with `unknown_agent`, `unknown_tool` or `invalid_config`. */
  policy(question: { call: string; agent: string }): Promise<object>;
}

/**
 * A protocol of its own on the same server, such as MCP. The server has checked host, origin and token; the handler answers, checks the
 * principal's role and bounds the body.
 */
export interface Mount {
  /** Without a trailing slash; paths below it belong to the mount too. */
  path: string;
  handle(incoming: IncomingMessage, outgoing: ServerResponse, principal: Principal): Promise<void>;
  /** Ends what is open when the server stops. */
  close(): Promise<void>;
  /** For the OpenAPI document. */
  summary?: string;
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
  mounts?: Mount[];
  /** Folder of the built dashboard. */
  web: string;
  /** Answers /metrics without a token. */
  publicMetrics: boolean;
  now(): number;
  /** A line for whoever runs the server. */
  log(line: string): void;
}
