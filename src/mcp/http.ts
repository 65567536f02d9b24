// MCP over Streamable HTTP, for the server of `retinue serve`: finds or opens the session of a request. Who the caller is and what it may do was decided
// before, from its token.
//
//  1. A session belongs to the token that opened it. For any other token it does not exist, also for one of the same name.
//  2. Answers to questions, and what ends runs, need the role `steer` (roles.ts).
//  3. The number of sessions is bounded, in all and for each token.
//  4. A session whose client was not seen for a long time ends as if the client had disconnected.
import type { Role } from '../contract/http.ts';
import type { Dialect } from '../ports/dialect.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { readBody } from './http-body.ts';
import { createHttpSession, type HttpSession, type HttpSessionDeps } from './http-session.ts';
import { describeMissingRole, findRoleOfMessages, includesRole } from './roles.ts';
import { createRpcError, rpcCodes } from './rpc-error.ts';

export interface Principal {
  /** Of the token. */
  id: string;
  /** Decides which runs a client sees. */
  name: string;
  role: Role;
}

export interface McpHandler {
  /** `/mcp` or `/mcp/DIALECT`, at the end of the path. */
  handle(request: Request, principal: Principal): Promise<Response>;
  /** Ends all sessions. Native runs are paused, for `reason`; those of other dialects end. */
  close(reason: string): Promise<void>;
}

export interface McpHandlerDeps extends HttpSessionDeps {
  /** Names of the dialects that are offered. */
  dialects: readonly string[];
  /** The dialect at `/mcp`. */
  defaultDialect: string;
  /** The dialect of a name, as configured. */
  dialect(name: string): Promise<Dialect>;
  bounds?: Partial<Bounds>;
}

export interface Bounds {
  sessions: number;
  sessionsOfPrincipal: number;
  /** A session without a request or an open stream ends after this time. */
  idleMs: number;
  /** One that has delegated nothing may end after this time, if there is no room for a new one. */
  evictableMs: number;
}

const defaultBounds: Bounds = { sessions: 128, sessionsOfPrincipal: 64, idleMs: 30 * 60_000, evictableMs: 60_000 };
const sweepMs = 60_000;

export function createMcpHandler(deps: McpHandlerDeps): McpHandler {
  const bounds = { ...defaultBounds, ...deps.bounds };
  const sessions = new Map<string, HttpSession>();
  const ending = new Set<Promise<void>>();
  /** Tokens of requests that may start a session. They count as sessions, so that requests at the same time do not exceed the bounds. */
  const opening: { owner: string }[] = [];
  let isClosed = false;
  const stopSweep = deps.every(sweepMs, endIdleSessions);

  function endSession(session: HttpSession, stopReason?: string): void {
    const end = session
      .close(stopReason)
      .catch((error: unknown) => deps.log(`cannot end an MCP session: ${(error as Error)?.message ?? error}`))
      .finally(() => ending.delete(end));
    ending.add(end);
  }

  function endIdleSessions(): void {
    for (const session of sessions.values()) if (isIdleFor(session, bounds.idleMs)) endSession(session);
  }

  function isIdleFor(session: HttpSession, ms: number): boolean {
    const since = session.idleSince();
    return since !== null && deps.now() - since >= ms;
  }

  /** Ends the session that was idle longest, if a new one has no room. False if there is still none. */
  function makeRoom(owner: string): boolean {
    const all = [...sessions.values()];
    const own = all.filter((session) => session.owner === owner);
    const ownOpening = opening.filter((each) => each.owner === owner);
    if (own.length + ownOpening.length >= bounds.sessionsOfPrincipal) return evictOne(own);
    return all.length + opening.length < bounds.sessions || evictOne(all);
  }

  function evictOne(candidates: HttpSession[]): boolean {
    const [oldest] = candidates
      .filter((session) => !session.hasDelegated() && isIdleFor(session, bounds.evictableMs))
      .sort((a, b) => (a.idleSince() ?? 0) - (b.idleSince() ?? 0));
    if (oldest) endSession(oldest);
    return oldest !== undefined;
  }

  /** Handles a request without a session id. Only an `initialize` request starts a session. */
  async function openSession(request: Request, dialect: string, principal: Principal): Promise<Response> {
    if (!makeRoom(principal.id))
      return createRpcError(429, rpcCodes.unavailable, 'too many MCP sessions are open; end one, or try again later');
    const entry = { owner: principal.id };
    opening.push(entry);
    try {
      const read = await readBody(request);
      if (read instanceof Response) return read;
      if (isClosed) return createClosedResponse();
      const session = await createHttpSession(
        {
          dialect: await deps.dialect(dialect),
          principal,
          onStart: (id, started) => void sessions.set(id, started),
          onEnd: (id) => void (id !== null && sessions.delete(id)),
        },
        deps,
      );
      const response = await session.handle(request, principal.role, read.body);
      if (!session.hasStarted() || isClosed) endSession(session);
      return response;
    } finally {
      opening.splice(opening.indexOf(entry), 1);
    }
  }

  function findSession(id: string, dialect: string, { id: owner }: Principal): HttpSession | null {
    const session = sessions.get(id);
    return session?.owner === owner && session.dialect === dialect ? session : null;
  }

  return {
    async handle(request, principal) {
      const dialect = findDialectName(request, deps.defaultDialect);
      if (!deps.dialects.includes(dialect)) return createUnknownDialectResponse(dialect, deps.dialects);
      if (isClosed) return createClosedResponse();
      const id = request.headers.get('mcp-session-id');
      if (id === null) {
        if (request.method === 'POST') return openSession(request, dialect, principal);
        if (request.method === 'GET' || request.method === 'DELETE')
          return createRpcError(400, rpcCodes.unavailable, 'the header Mcp-Session-Id is missing; start a session with `initialize`');
        return createRpcError(405, rpcCodes.unavailable, 'use GET, POST or DELETE', { allow: 'GET, POST, DELETE' });
      }
      const session = findSession(id, dialect, principal);
      if (!session) return createUnknownSessionResponse();
      const read = await readBody(request);
      if (read instanceof Response) return read;
      // The body may have taken its time.
      if (isClosed) return createClosedResponse();
      if (!findSession(id, dialect, principal)) return createUnknownSessionResponse();
      const needed = findRoleOfMessages(request.method, read.body, session.hasDelegated());
      if (!includesRole(principal.role, needed))
        return createRpcError(403, rpcCodes.unavailable, describeMissingRole('this message', needed, principal.role));
      return session.handle(request, principal.role, read.body);
    },
    async close(reason) {
      isClosed = true;
      stopSweep();
      for (const session of sessions.values()) endSession(session, reason);
      await Promise.all(ending);
    },
  };
}

function findDialectName(request: Request, defaultDialect: string): string {
  const name = /\/mcp\/([^/]+)\/?$/.exec(new URL(request.url).pathname)?.[1];
  return name === undefined ? defaultDialect : safeDecode(name);
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function createClosedResponse(): Response {
  return createRpcError(503, rpcCodes.unavailable, 'the server is shutting down');
}

function createUnknownSessionResponse(): Response {
  return createRpcError(404, rpcCodes.unknownSession, 'there is no such session; start a new one with `initialize`');
}

function createUnknownDialectResponse(name: string, names: readonly string[]): Response {
  const message = `${unknownNameMessage('dialect', name, [...names])}; paths: ${names.map((each) => `/mcp/${each}`).join(', ')}`;
  return Response.json({ error: { code: 'unknown_dialect', message } }, { status: 404, headers: { 'cache-control': 'no-store' } });
}
