// What a role allows over MCP. On standard input and output everything is allowed: the client runs as the user.
import { Role } from '../contract/http.ts';
import type { DelegationRequest } from '../ports/dialect.ts';

/** A refusal asks for nothing, so every role may get it. */
export function findRequiredRole({ kind }: Pick<DelegationRequest, 'kind'>): Role {
  if (kind === 'delegate') return 'start';
  return kind === 'message' || kind === 'cancel' ? 'steer' : 'read';
}

/**
 * The role that the messages of an HTTP request need before a tool is looked at. An answer decides about a call. Giving up a call, or the session, ends
 * what it has delegated; if it has delegated nothing, everybody may.
 */
export function findRoleOfMessages(method: string, body: unknown, hasDelegated: boolean): Role {
  const messages = Array.isArray(body) ? body : [body];
  if (messages.some(isAnswer)) return 'steer';
  const givesUp = method === 'DELETE' || messages.some((message) => message?.method === 'notifications/cancelled');
  return givesUp && hasDelegated ? 'steer' : 'read';
}

function isAnswer(message: unknown): boolean {
  return typeof message === 'object' && message !== null && ('result' in message || 'error' in message);
}

export function includesRole(role: Role, needed: Role): boolean {
  return Role.options.indexOf(role) >= Role.options.indexOf(needed);
}

export function describeMissingRole(what: string, needed: Role, role: Role): string {
  return `${what} needs a token with the role \`${needed}\`; this token has the role \`${role}\``;
}
