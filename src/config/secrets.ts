// Which values are secret, how they are removed from texts, and which environment variables an agent's shell gets.
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Agent } from '../contract/agent.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import { agentDefinition } from '../kernel/pinned-agent.ts';
import type { Catalog } from '../ports/catalog.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Rights } from '../ports/tool.ts';
import { redactSecretShapes } from './secret-shapes.ts';
import type { Settings } from './settings.ts';
import type { Env } from './user-folders.ts';

const secretName =
  /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|COOKIE|_PAT|_DSN|_PW)$|(?:API|ACCESS|PRIVATE|SECRET)_?KEY|SECRET|TOKEN|PASSWORD/i;
/** The password in `scheme://name:password@host`, in any variable. */
const passwordInAddress = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;
/** Shorter values would match ordinary text. */
const minLength = 8;
/** Visible to every command anyway; redacting them would break the paths in results. */
const publicName = /^(PATH|HOME|LANG|TERM|TMPDIR|USER|LOGNAME|SHELL|PWD)$/;

export interface KnownSecrets {
  /** Variables that hold a secret although their names do not say so. */
  names: string[];
  /** Values written in a file. */
  values: string[];
}

/** Redacts secrets of this process by value: variables whose names mark them as secret, and those listed in `known`. */
export function createRedact(env: Env, known: Partial<KnownSecrets> = {}): Redact {
  const { names = [], values = [] } = known;
  const secrets = Object.entries(env)
    .filter(([name, value]) => (secretName.test(name) || (names.includes(name) && !isPublic(name, value))) && isLongEnough(value))
    .map(([name, value]) => ({ name, value: value as string }))
    .concat(findPasswords(env))
    .concat(values.filter(isLongEnough).map((value) => ({ name: 'of an MCP server', value })))
    // Longest first, so that a secret that contains another is replaced as a whole.
    .sort((a, b) => b.value.length - a.value.length);
  return (text, alsoShapes) => {
    let clean = text;
    for (const { name, value } of secrets) if (clean.includes(value)) clean = clean.replaceAll(value, `[secret ${name}]`);
    return alsoShapes ? redactSecretShapes(clean) : clean;
  };
}

function findPasswords(env: Env): { name: string; value: string }[] {
  return Object.entries(env).flatMap(([name, text]) => {
    const value = passwordInAddress.exec(text ?? '')?.[1];
    return isLongEnough(value) ? [{ name, value: value as string }] : [];
  });
}

function isLongEnough(value: string | undefined): boolean {
  return value !== undefined && value.length >= minLength;
}

/** The path of an existing file or folder is not a secret. */
function isPublic(name: string, value: string | undefined): boolean {
  return publicName.test(name) || (value !== undefined && isAbsolute(value) && existsSync(value));
}

/**
 * The variables that the owner grants to an agent's shell. The name alone is not enough: the run's agent must have the same content as
 * today's agent of that name, and must not come from an untrusted workspace.
 */
export function grantedVariables(
  { agent, definition }: Pick<Rights, 'agent' | 'definition'>,
  { env, agents, catalog }: Pick<Settings, 'env' | 'agents'> & { catalog: Catalog },
  processEnv: Env,
): Record<string, string> {
  if (!Object.hasOwn(env, agent) || agents().untrusted.includes(agent)) return {};
  const today = catalog.get(agent);
  const names = today !== null && agentDefinition(today).hash === definition ? (env[agent] as string[]) : [];
  return Object.fromEntries(names.flatMap((name) => (processEnv[name] ? [[name, processEnv[name]]] : [])));
}

const secretHeader = /auth|cookie|key|token|secret/i;
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/g;

/**
 * The secrets in MCP server definitions: every variable they refer to, because a server can return what it received, and the values of
 * headers and variables with secret-sounding names.
 */
export function findServerSecrets(servers: McpServer[]): KnownSecrets {
  const texts = servers.flatMap(({ env = {}, headers = {} }) => [
    ...Object.entries(env).flatMap(([name, text]) => (secretName.test(name) ? [text] : [])),
    ...Object.entries(headers).flatMap(([name, text]) => (secretHeader.test(name) ? [text] : [])),
  ]);
  // In `Bearer …` the secret is the second part.
  return { names: servers.flatMap(listVariables), values: texts.flatMap((text) => text.replace(reference, ' ').split(' ')) };
}

function listVariables({ args = [], env = {}, envFrom = [], url = '', headers = {}, headersFrom = {} }: McpServer): string[] {
  const texts = [...args, ...Object.values(env), url, ...Object.values(headers)];
  const referred = texts.flatMap((text) => [...text.matchAll(reference)].map(([, name]) => name as string));
  return [...referred, ...envFrom, ...Object.values(headersFrom)];
}

/** The configured servers, and those defined inside agents. */
export function listServers(configured: Record<string, McpServer>, agents: Pick<Agent, 'mcpServers'>[]): McpServer[] {
  const inline = agents.flatMap(({ mcpServers = [] }) =>
    mcpServers.flatMap((server) => (typeof server === 'string' ? [] : Object.values(server))),
  );
  return [...Object.values(configured), ...inline];
}
