// Extensions of a Goose recipe: MCP servers, and groups of tools that Goose has built in. A recipe that lists extensions has only these.
import type { Json } from '../../contract/json.ts';
import { isObject, isTextList, type Translation } from './format.ts';
import { readServer, type TranslatedServer } from './servers.ts';
import { delegation } from './tools.ts';

const files = ['read', 'list', 'glob', 'grep'];

/** By extension: the tools of Retinue, by the tool's name there. `*`: all of them. */
const builtIn: Record<string, Record<string, readonly string[]>> = {
  developer: {
    '*': [...files, 'write', 'edit', 'bash'],
    shell: ['bash'],
    write: ['write'],
    edit: ['edit'],
    tree: ['list'],
    text_editor: ['read', 'write', 'edit'],
    read_image: ['read'],
    analyze: files,
  },
  analyze: { '*': files, analyze: files },
  todo: { '*': ['todo'] },
  memory: { '*': ['memory'] },
  skills: { '*': ['skill'] },
  summon: { '*': [delegation, 'skill'], delegate: [delegation], load: ['skill'] },
};

export function addExtensions(value: Json, to: Translation): void {
  if (!Array.isArray(value)) return void to.refuse('`extensions` must be a list');
  const servers: Json[] = [];
  to.add('tools', []);
  for (const item of value) {
    const extension: Json = typeof item === 'string' ? { type: 'builtin', name: item } : item;
    if (!isObject(extension) || typeof extension.name !== 'string') {
      to.refuse('`extensions`: each needs a name');
      continue;
    }
    const { type, name } = extension;
    if (type === 'builtin' || type === 'platform') to.add('tools', toolsOf(name, extension.available_tools, to));
    else {
      const server = readServer(name, extension, translateServer, to);
      if (server === null) continue;
      servers.push(server);
      to.add('tools', [`mcp__${Object.keys(server)[0]}__*`]);
    }
  }
  to.set('mcpServers', servers);
}

function toolsOf(name: string, available: Json | undefined, to: Translation): string[] {
  const group = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
  const what = `extension ${name}`;
  if (group === undefined) {
    to.leaveOut(what, 'Retinue has no such tools');
    return [];
  }
  const wanted = isTextList(available) && available.length > 0 ? available : ['*'];
  return wanted.flatMap((tool) => {
    const found = Object.hasOwn(group, tool) ? group[tool] : undefined;
    if (found === undefined) to.leaveOut(`${what}: ${tool}`, 'Retinue has no such tool');
    return found ?? [];
  });
}

function translateServer(fields: { [key: string]: Json }): TranslatedServer | string {
  const { type, cmd, args, envs, env_keys, uri, headers, timeout, available_tools } = fields;
  const only = isTextList(available_tools) && available_tools.length > 0 ? available_tools : undefined;
  if (type === 'stdio') return { server: { command: cmd, args, env: envs, envFrom: env_keys, timeout }, only };
  if (type === 'streamable_http' || type === 'sse')
    return { server: { type: type === 'sse' ? 'sse' : 'http', url: uri, headers, timeout }, only };
  return `extensions of the type ${String(type)} are not supported`;
}
