import type { Agent } from '../contract/agent.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Redact } from '../ports/secrets.ts';

const secretName = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;
const minLength = 8;

// Shapes that are hardly ever anything else than a credential.
const shapes = new RegExp(
  [
    'sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}',
    'gh[pousr]_[A-Za-z0-9]{30,}',
    'github_pat_[A-Za-z0-9_]{40,}',
    'AKIA[0-9A-Z]{16}',
    'AIza[0-9A-Za-z_-]{35}',
    'xox[abprs]-[A-Za-z0-9-]{10,}',
    '-----BEGIN [A-Z ]*PRIVATE KEY-----[\\s\\S]*?-----END [A-Z ]*PRIVATE KEY-----',
  ].join('|'),
  'g',
);

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
    .filter(([name, value]) => (secretName.test(name) || names.includes(name)) && value !== undefined && value.length >= minLength)
    .map(([name, value]) => ({ name, value: value as string }))
    .concat(values.filter((value) => value.length >= minLength).map((value) => ({ name: 'of an MCP server', value })))
    .sort((a, b) => b.value.length - a.value.length);
  return (text, alsoShapes) => {
    let clean = text;
    for (const { name, value } of own) if (clean.includes(value)) clean = clean.replaceAll(value, `[secret ${name}]`);
    return alsoShapes ? clean.replace(shapes, '[secret]') : clean;
  };
}

const secretHeader = /auth|cookie|key|token|secret/i;

/** The secrets in definitions of MCP servers: headers and variables whose names say so. */
export function serverSecrets(servers: McpServer[]): KnownSecrets {
  const texts = servers.flatMap(({ env = {}, headers = {} }) => [
    ...Object.entries(env).flatMap(([name, text]) => (secretName.test(name) ? [text] : [])),
    ...Object.entries(headers).flatMap(([name, text]) => (secretHeader.test(name) ? [text] : [])),
  ]);
  const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/g;
  const names = texts.flatMap((text) => [...text.matchAll(reference)].map(([, name]) => name as string));
  const from = servers.flatMap(({ headersFrom = {} }) => Object.values(headersFrom));
  // `Bearer …`: what follows is the secret.
  return { names: [...names, ...from], values: texts.flatMap((text) => text.replace(reference, ' ').split(' ')) };
}

/** The configured servers, and those that agents bring along. */
export function allServers(configured: Record<string, McpServer>, agents: Pick<Agent, 'mcpServers'>[]): McpServer[] {
  const inline = agents.flatMap(({ mcpServers = [] }) =>
    mcpServers.flatMap((each) => (typeof each === 'string' ? [] : Object.values(each))),
  );
  return [...Object.values(configured), ...inline];
}
