// MCP servers in the definitions of other programs. One that cannot be expressed is left out.
import type { Json } from '../../contract/json.ts';
import { McpServer, McpServerName } from '../../contract/mcp-server.ts';
import { isObject, isTextList, type Translation } from './format.ts';

type Fields = { [key: string]: Json };

/** A server with the keys of Retinue, and which of its tools count. */
export interface TranslatedServer {
  server: { [key: string]: Json | undefined };
  only?: Json | undefined;
  without?: Json | undefined;
  /** Keys without an effect, for the user. */
  leftOut?: string[];
}

/** Servers by name. `[]` of `mcpServers` means none, so a server that is left out does not open the configured ones. */
export function addServers(value: Json, translate: (fields: Fields, name: string) => TranslatedServer | string, to: Translation): void {
  if (!isObject(value)) return void to.refuse('the MCP servers must be keys with a definition each');
  const servers = Object.entries(value).flatMap(([given, fields]) => {
    const found = readServer(given, fields, translate, to);
    return found === null ? [] : [found];
  });
  to.set('mcpServers', servers);
}

/** The definition under its name; null if it is left out. */
export function readServer(
  given: string,
  fields: Json,
  translate: (fields: Fields, name: string) => TranslatedServer | string,
  to: Translation,
): { [name: string]: Json } | null {
  const leaveOut = (why: string) => {
    to.leaveOut(`MCP server ${given}`, why);
    return null;
  };
  const name = serverName(given);
  if (name === null) return leaveOut('its name cannot be part of a tool name');
  if (!isObject(fields)) return leaveOut('it has no definition');
  if (JSON.stringify(fields).includes('{{')) return leaveOut('Retinue does not fill in its placeholders');
  const translated = translate(fields, name);
  if (typeof translated === 'string') return leaveOut(translated);
  const { only, without, leftOut = [] } = translated;
  const checked = McpServer.safeParse(Object.fromEntries(Object.entries(translated.server).filter(([, each]) => each !== undefined)));
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const at =
      issue?.code === 'unrecognized_keys' ? `\`${issue.keys[0]}\` is not supported` : `\`${issue?.path.join('.')}\` ${issue?.message}`;
    return leaveOut(at);
  }
  for (const key of leftOut) to.leaveOut(`MCP server ${given}: \`${key}\``, 'Retinue does not support it');
  if (only !== undefined && !(isTextList(only) && only.includes('*'))) {
    if (!isTextList(only)) return leaveOut('its list of tools cannot be read');
    to.add('rules', [`deny mcp__${name}__*`, ...toolNames(name, only).map((tool) => `allow ${tool}`)]);
  }
  if (without !== undefined) {
    if (!isTextList(without)) return leaveOut('its list of excluded tools cannot be read');
    to.add('disallowedTools', toolNames(name, without));
  }
  return { [name]: checked.data as Json };
}

/** A server's name as it is part of tool names; null if it cannot be. */
export function serverName(given: string): string | null {
  const name = given
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/__+/g, '_')
    .replace(/^[-_]+|_+$/g, '')
    .slice(0, 32);
  return McpServerName.safeParse(name).success ? name : null;
}

function toolNames(server: string, tools: string[]): string[] {
  return tools.filter((tool) => /^[\w-]{1,100}$/.test(tool)).map((tool) => `mcp__${server}__${tool}`);
}
