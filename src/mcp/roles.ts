// What a role allows over MCP. On standard input and output everything is allowed: the client runs as the user.
import { Role } from '../contract/http.ts';
import type { DelegationRequest } from '../ports/dialect.ts';

/** A refusal asks for nothing, so every role may get it. */
export function findRequiredRole({ kind }: Pick<DelegationRequest, 'kind'>): Role {
  if (kind === 'delegate') return 'start';
  return kind === 'message' || kind === 'cancel' ? 'steer' : 'read';
}

export function includesRole(role: Role, needed: Role): boolean {
  return Role.options.indexOf(role) >= Role.options.indexOf(needed);
}

export function describeMissingRole(what: string, needed: Role, role: Role): string {
  return `${what} needs a token with the role \`${needed}\`; this token has the role \`${role}\``;
}
