// What the servers of the command line need: MCP and ACP on the standard streams, and HTTP.
import type { Api } from '../api/api.ts';
import type { BriefFile } from '../config/attachments.ts';
import type { HostName } from '../config/settings.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Dialect } from '../ports/dialect.ts';

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

/** The folder of an ACP session. */
export interface AcpWorkspace {
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
  /** In tokens; null if it is unknown. */
  contextWindow(model: string): Promise<number | null>;
  attach(name: string, text: string): Promise<BriefFile>;
  claim(files: BriefFile[], runId: string | null): Promise<void>;
}

/** What the ACP agent needs to serve one client on the standard streams. */
export interface AcpService {
  /** How sessions start their runs. */
  defaults: { agent: string | undefined; limits: LimitsGiven };
  /** Rejects with `usage` if the folder does not exist, and with `invalid_config`. */
  openWorkspace(request: { folder: string; readable: string[] }): Promise<AcpWorkspace>;
  /** The databases of all workspaces of the user. `read`: null if it cannot be read. */
  sources(): Promise<{ id: string; read<T>(work: (api: Api) => Promise<T>): Promise<T | null> }[]>;
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
    /** Leave what clients delegate to workers that take runs from this queue. */
    queue: string | undefined;
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
