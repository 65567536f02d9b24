// MCP servers that the client passes for a session, as servers of the user's own configuration.
import { McpServer } from '../contract/mcp-server.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import type { ClientMcpServer } from './protocol.ts';

const maxNameChars = 32;
/** A reference to a variable that is not set, with the default `$`, and the bracket after it. */
const literalDollar = ['${', 'RETINUE_LITERAL_DOLLAR:-$}', '{'].join('');

/** Names are made to fit into names of tools, and differ from each other and from `taken`. Throws an RpcError that names the server. */
export function parseClientServers(given: ClientMcpServer[], taken: string[]): Record<string, McpServer> {
  const servers: Record<string, McpServer> = {};
  for (const server of given) {
    const parsed = McpServer.safeParse(toDefinition(server));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const where = issue?.path.length ? ` (${issue.path.join('.')})` : '';
      throw new RpcError(rpcCodes.invalidParams, `the MCP server ${JSON.stringify(server.name)} cannot be used${where}: ${issue?.message}`);
    }
    servers[findFreeName(server.name, [...taken, ...Object.keys(servers)])] = parsed.data;
  }
  return servers;
}

function toDefinition(server: ClientMcpServer): unknown {
  if ('url' in server) return { type: server.type, url: keepLiteral(server.url), headers: toRecord(server.headers) };
  return { command: server.command, args: server.args.map(keepLiteral), env: toRecord(server.env) };
}

function toRecord(list: { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, keepLiteral(value)]));
}

/** Configured definitions may refer to variables with `${NAME}`. Texts of a client are final: a reference whose default is `$` keeps them so. */
function keepLiteral(text: string): string {
  return text.split('${').join(literalDollar);
}

function findFreeName(given: string, taken: string[]): string {
  const plain =
    given
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, maxNameChars) || 'server';
  if (!taken.includes(plain)) return plain;
  for (let n = 2; ; n++) {
    const name = `${plain.slice(0, maxNameChars - 4)}-${n}`;
    if (!taken.includes(name)) return name;
  }
}
