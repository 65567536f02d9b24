// Tools of MCP servers, with Retinue as the client. (Retinue as an MCP server is in src/mcp.)
//
//   select-servers.ts   which servers an agent may use
//   resolve-target.ts   a server definition to the command or address
//   connection.ts       one connection per server: opening, calling, backoff; over stdio-transport.ts or http-transport.ts
//   create-tools.ts     the list of a server to tools; with list-tools.ts, tool-names.ts and call-result.ts
import type { McpServer } from '../../contract/mcp-server.ts';
import type { AnyTool } from '../../ports/tool.ts';
import type { ToolSource, ToolSourceResult } from '../../ports/tool-source.ts';
import { canonical } from '../../text/canonical.ts';
import type { ConnectionDeps, McpConnection } from './connection.ts';
import type { ServerTools } from './create-tools.ts';
import type { ToolListing } from './list-tools.ts';
import { findToolPatterns, type Servers, selectServers } from './select-servers.ts';

export { findToolPatterns, type Servers, selectServers };

export interface McpOptions extends ConnectionDeps {
  /** The configured servers by name. */
  servers: Servers;
}

export interface Mcp extends ToolSource {
  /** The tools of one server. Rejects with an Error whose message says why it cannot be used. */
  probe(name: string, server: McpServer): Promise<ServerTools>;
}

interface ConnectedServer {
  connection: McpConnection;
  /** The tools made from the last listing. */
  made: { from: ToolListing; tools: Promise<ServerTools> } | null;
}

/** Connections are opened on first use, and what opens them is loaded then. */
export function createMcp(options: McpOptions): Mcp {
  const connected = new Map<string, ConnectedServer>();
  let isClosed = false;

  async function findOrCreate(name: string, server: McpServer): Promise<ConnectedServer> {
    const { createMcpConnection } = await import('./connection.ts');
    if (isClosed) throw new Error('the connection is closed');
    const key = canonical([name, server]);
    const found = connected.get(key) ?? { connection: createMcpConnection(server, options), made: null };
    connected.set(key, found);
    return found;
  }

  async function probe(name: string, server: McpServer): Promise<ServerTools> {
    const [found, { createServerTools }] = await Promise.all([findOrCreate(name, server), import('./create-tools.ts')]);
    const listing = await found.connection.list();
    if (found.made?.from !== listing) found.made = { from: listing, tools: createServerTools(name, server, listing, found.connection) };
    return found.made.tools;
  }

  async function findTools(name: string, server: McpServer): Promise<ToolSourceResult> {
    try {
      const { tools, problems } = await probe(name, server);
      return { tools, absent: [], notices: problems.map((problem) => `MCP server ${name}: ${problem}`) };
    } catch (error) {
      const notice = `MCP server ${name} cannot be used, so its tools are left out: ${(error as Error).message}`;
      return { tools: [] as AnyTool[], absent: [toolGroup(name)], notices: [notice] };
    }
  }

  return {
    probe,
    async tools(agent, allow) {
      const { servers, missing } = selectServers(agent, options.servers);
      const isWanted = (name: string) =>
        findToolPatterns(agent, name).length > 0 && (allow === undefined || findToolPatterns({ tools: allow }, name).length > 0);
      const wanted = Object.entries(servers).filter(([name]) => isWanted(name));
      const all = await Promise.all(wanted.map(([name, server]) => findTools(name, server)));
      const unused = [...new Set([...Object.keys(options.servers), ...Object.keys(servers)])].filter(
        (name) => !wanted.some(([other]) => other === name),
      );
      const unknown = missing.map((name) => `MCP server ${name}, which the agent ${agent.name} names, is not configured`);
      return {
        tools: all.flatMap(({ tools }) => tools),
        absent: [...all.flatMap(({ absent }) => absent), ...[...unused, ...missing].map(toolGroup)],
        notices: [...unknown, ...all.flatMap(({ notices }) => notices)],
      };
    },
    async close() {
      isClosed = true;
      await Promise.all([...connected.values()].map(({ connection }) => connection.close()));
    },
  };
}

/** All tools of a server, as rules and lists name them. */
function toolGroup(server: string): string {
  return `mcp__${server}__*`;
}
