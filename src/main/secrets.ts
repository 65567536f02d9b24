import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Settings } from '../cli/settings.ts';
import type { Agent } from '../contract/agent.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import { agentDefinition } from '../kernel/pinned-agent.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Rights } from '../ports/tool.ts';
import { withoutShapes } from './secret-shapes.ts';

const secretName =
  /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|COOKIE|_PAT|_DSN|_PW)$|(?:API|ACCESS|PRIVATE|SECRET)_?KEY|SECRET|TOKEN|PASSWORD/i;
/** `scheme://name:password@host`, whatever the variable is called. */
const passwordInAddress = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;
const minLength = 8;
/** What every command sees anyway; taken out, paths in results would lead nowhere. */
const openName = /^(PATH|HOME|LANG|TERM|TMPDIR|USER|LOGNAME|SHELL|PWD)$/;

export interface KnownSecrets {
  /** Of variables that hold one, whatever they are called. */
  names: string[];
  /** What stands in a file. */
  values: string[];
}

/** Knows the secrets of this process by value: variables whose names say that they hold one, and those that are `known` as such. */
export function createRedact(env: Record<string, string | undefined>, known: Partial<KnownSecrets> = {}): Redact {
  const { names = [], values = [] } = known;
  const own = Object.entries(env)
    .filter(([name, value]) => (secretName.test(name) || (names.includes(name) && !isOpen(name, value))) && isLong(value))
    .map(([name, value]) => ({ name, value: value as string }))
    .concat(passwordsIn(env))
    .concat(values.filter(isLong).map((value) => ({ name: 'of an MCP server', value })))
    .sort((a, b) => b.value.length - a.value.length);
  return (text, alsoShapes) => {
    let clean = text;
    for (const { name, value } of own) if (clean.includes(value)) clean = clean.replaceAll(value, `[secret ${name}]`);
    return alsoShapes ? withoutShapes(clean) : clean;
  };
}

function passwordsIn(env: Record<string, string | undefined>): { name: string; value: string }[] {
  return Object.entries(env).flatMap(([name, text]) => {
    const value = passwordInAddress.exec(text ?? '')?.[1];
    return isLong(value) ? [{ name, value: value as string }] : [];
  });
}

function isLong(value: string | undefined): boolean {
  return value !== undefined && value.length >= minLength;
}

/** A file or a folder of this machine is no secret, whatever the variable is for. */
function isOpen(name: string, value: string | undefined): boolean {
  return openName.test(name) || (value !== undefined && isAbsolute(value) && existsSync(value));
}

/**
 * The variables that the owner has granted to an agent's shell. A name is not enough: the run's agent is, by content, the one that has the
 * name today, and that is none of an untrusted workspace.
 */
export function grantedTo(
  { agent, definition }: Pick<Rights, 'agent' | 'definition'>,
  { env, agents, catalog }: Pick<Settings, 'env' | 'agents'> & { catalog: Catalog },
  own: Record<string, string | undefined>,
): Record<string, string> {
  if (!Object.hasOwn(env, agent) || agents().untrusted.includes(agent)) return {};
  const today = catalog.get(agent);
  const names = today !== null && agentDefinition(today).hash === definition ? (env[agent] as string[]) : [];
  return Object.fromEntries(names.flatMap((name) => (own[name] ? [[name, own[name]]] : [])));
}

const secretHeader = /auth|cookie|key|token|secret/i;
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/g;

/**
 * The secrets in definitions of MCP servers: every variable that they name, for a server can give back what it was given, and what stands
 * in headers and variables whose names say so.
 */
export function serverSecrets(servers: McpServer[]): KnownSecrets {
  const texts = servers.flatMap(({ env = {}, headers = {} }) => [
    ...Object.entries(env).flatMap(([name, text]) => (secretName.test(name) ? [text] : [])),
    ...Object.entries(headers).flatMap(([name, text]) => (secretHeader.test(name) ? [text] : [])),
  ]);
  // `Bearer …`: what follows is the secret.
  return { names: servers.flatMap(variablesOf), values: texts.flatMap((text) => text.replace(reference, ' ').split(' ')) };
}

function variablesOf({ args = [], env = {}, envFrom = [], url = '', headers = {}, headersFrom = {} }: McpServer): string[] {
  const texts = [...args, ...Object.values(env), url, ...Object.values(headers)];
  const referred = texts.flatMap((text) => [...text.matchAll(reference)].map(([, name]) => name as string));
  return [...referred, ...envFrom, ...Object.values(headersFrom)];
}

/** The configured servers, and those that agents bring along. */
export function allServers(configured: Record<string, McpServer>, agents: Pick<Agent, 'mcpServers'>[]): McpServer[] {
  const inline = agents.flatMap(({ mcpServers = [] }) =>
    mcpServers.flatMap((each) => (typeof each === 'string' ? [] : Object.values(each))),
  );
  return [...Object.values(configured), ...inline];
}
