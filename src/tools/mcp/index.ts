// The tools of MCP servers, which somebody else wrote and runs: Retinue is their client here.
import type { McpServer } from '../../contract/mcp-server.ts';
import type { AnyTool } from '../../ports/tool.ts';
import type { ToolSource, ToolSourceResult } from '../../ports/tool-source.ts';
import { createLink, type Link, type LinkGround } from './connection.ts';
import { type Made, makeTools } from './create-tools.ts';
import type { Listed } from './list-tools.ts';
import { namedOf, type Servers, serversOf } from './select-servers.ts';

export { namedOf, type Servers, serversOf };

export interface McpOptions extends LinkGround {
  /** The configured servers by name. */
  servers: Servers;
}

export interface Mcp extends ToolSource {
  /** The tools of one server. Rejects with an Error whose message says why it cannot be reached. */
  probe(name: string, server: McpServer): Promise<Made>;
}

interface Known {
  link: Link;
  made: { of: Listed; tools: Promise<Made> } | null;
}

/** Nothing is opened before somebody needs it. */
export function createMcp(options: McpOptions): Mcp {
  const known = new Map<string, Known>();
  let closed = false;

  function knownOf(name: string, server: McpServer): Known {
    const key = JSON.stringify([name, Object.entries(server).sort(([a], [b]) => (a < b ? -1 : 1))]);
    const found = known.get(key) ?? { link: createLink(server, options), made: null };
    known.set(key, found);
    return found;
  }

  async function probe(name: string, server: McpServer): Promise<Made> {
    if (closed) throw new Error('it is closed');
    const one = knownOf(name, server);
    const listed = await one.link.list();
    if (one.made?.of !== listed) one.made = { of: listed, tools: makeTools(name, server, listed, one.link) };
    return one.made.tools;
  }

  async function sourced(name: string, server: McpServer): Promise<ToolSourceResult> {
    try {
      const { tools, problems } = await probe(name, server);
      return { tools, absent: [], notices: problems.map((problem) => `MCP server ${name}: ${problem}`) };
    } catch (error) {
      const notice = `MCP server ${name} cannot be used, so its tools are left out: ${(error as Error).message}`;
      return { tools: [] as AnyTool[], absent: [groupOf(name)], notices: [notice] };
    }
  }

  return {
    probe,
    async tools(agent, allow) {
      const { servers, missing } = serversOf(agent, options.servers);
      const isWanted = (name: string) =>
        namedOf(agent, name).length > 0 && (allow === undefined || namedOf({ tools: allow }, name).length > 0);
      const wanted = Object.entries(servers).filter(([name]) => isWanted(name));
      const all = await Promise.all(wanted.map(([name, server]) => sourced(name, server)));
      const idle = [...new Set([...Object.keys(options.servers), ...Object.keys(servers)])].filter(
        (name) => !wanted.some(([other]) => other === name),
      );
      const unknown = missing.map((name) => `MCP server ${name}, which the agent ${agent.name} names, is not configured`);
      return {
        tools: all.flatMap(({ tools }) => tools),
        absent: [...all.flatMap(({ absent }) => absent), ...[...idle, ...missing].map(groupOf)],
        notices: [...unknown, ...all.flatMap(({ notices }) => notices)],
      };
    },
    async close() {
      closed = true;
      await Promise.all([...known.values()].map(({ link }) => link.close()));
    },
  };
}

/** All that a server has, as rules and lists name it. */
function groupOf(server: string): string {
  return `mcp__${server}__*`;
}
