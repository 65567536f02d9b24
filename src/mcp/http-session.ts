// One MCP session over HTTP: the official transport, a server for one client, and the bounds of what it keeps.
import { randomBytes } from 'node:crypto';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Api } from '../api/api.ts';
import type { Role } from '../contract/http.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import type { Dialect } from '../ports/dialect.ts';
import { boundStream } from './bounded-stream.ts';
import { createEventStore } from './event-store.ts';
import { findBatchFault, findInitializeFault, negotiateVersion } from './initialize.ts';
import { createQuestionRoute } from './question-route.ts';
import { createFaultResponse } from './rpc-error.ts';
import { serve } from './serve.ts';

/** Of one stream, not yet read by the client. */
const maxQueuedBytes = 4 * 1024 * 1024;
const maxBlockedMs = 30_000;
const defaultHeartbeatMs = 15_000;
const keptEvents = { maxEvents: 500, maxBytes: 1024 * 1024 };

export interface HttpSessionDeps {
  version: string;
  /** Limits for what a session delegates. */
  limits: LimitsGiven;
  /** Lets clients see the runs of all clients. */
  share: boolean;
  /** The server's API, to read and to give orders. It stays open. */
  api: Api;
  /** An API that one session delegates with. The session closes it, so that other processes can resume what it leaves paused. */
  open(dialect: string): Promise<Api>;
  every(ms: number, run: () => void): () => void;
  /** Comments on open streams: a proxy does not close them, and the system notices a client that has vanished. */
  heartbeatMs?: number;
  now(): number;
  log(line: string): void;
}

export interface HttpSessionOptions {
  dialect: Dialect;
  principal: { id: string; name: string };
  onStart(id: string, session: HttpSession): void;
  /** Called once, when it begins to end. */
  onEnd(id: string | null): void;
}

export interface HttpSession {
  /** The id of the token that it belongs to. */
  owner: string;
  dialect: string;
  /** `role`: of the token of this request. `body`: of a POST, parsed. */
  handle(request: Request, role: Role, body?: unknown): Promise<Response>;
  /** When the client was last seen; null while a request or a stream is open. */
  idleSince(): number | null;
  hasStarted(): boolean;
  hasDelegated(): boolean;
  /** Ends or pauses what it delegated, as its dialect says. `stopReason`: why the server stops; absent if the client has disconnected. */
  close(stopReason?: string): Promise<void>;
}

export async function createHttpSession(options: HttpSessionOptions, deps: HttpSessionDeps): Promise<HttpSession> {
  const { dialect } = options;
  const { id: owner, name: principal } = options.principal;
  const { now } = deps;
  const log = (line: string) => deps.log(`MCP client of ${principal}: ${line}`);
  const route = createQuestionRoute();
  const streams = new Set<{ isCongested(): boolean }>();
  let openRequests = 0;
  let lastSeen = now();
  let closing: Promise<void> | null = null;
  let version: string | null = null;

  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomBytes(24).toString('base64url'),
    eventStore: createEventStore(keptEvents),
    keepAliveMs: deps.heartbeatMs ?? defaultHeartbeatMs,
    onsessioninitialized: (id) => options.onStart(id, session),
    // The answer to DELETE says that everything has stopped.
    onsessionclosed: () => session.close(),
  });
  const connection = await serve(transport, {
    ...{ version: deps.version, limits: deps.limits, share: deps.share, every: deps.every, log, dialect, principal, route },
    // The client's roots are folders of another machine.
    fixed: true,
    isFolder: () => false,
    isCongested: () => [...streams].some((stream) => stream.isCongested()),
    open: async (_, { drive }) => (drive ? deps.open(dialect.name) : { ...deps.api, dialect, close: async () => {} }),
  });

  function endRequest(): void {
    openRequests--;
    lastSeen = now();
  }

  /** A stream counts as an open request until it ends. */
  function trackBody(request: Request, response: Response): Response {
    if (!response.body) {
      endRequest();
      return response;
    }
    const closeStream = request.method === 'GET' && !isContinuedCall(request) && response.ok ? route.openStream() : () => {};
    const stream = boundStream(response.body, { maxBytes: maxQueuedBytes, maxBlockedMs, now }, () => {
      streams.delete(stream);
      closeStream();
      endRequest();
    });
    streams.add(stream);
    return new Response(stream.body, { status: response.status, headers: response.headers });
  }

  const session: HttpSession = {
    owner,
    dialect: dialect.name,
    async handle(request, role, body) {
      const fault = Array.isArray(body) ? findBatchFault(body, version) : findInitializeFault(body);
      if (fault) return createFaultResponse(400, fault);
      version ??= negotiateVersion(body);
      openRequests++;
      try {
        const authInfo = { token: '', clientId: principal, scopes: [role] };
        return trackBody(
          request,
          await transport.handleRequest(request, { authInfo, ...(body === undefined ? {} : { parsedBody: body }) }),
        );
      } catch (error) {
        endRequest();
        throw error;
      }
    },
    idleSince: () => (openRequests > 0 ? null : lastSeen),
    hasStarted: () => transport.sessionId !== undefined,
    hasDelegated: connection.hasDelegated,
    close(stopReason) {
      if (!closing) {
        options.onEnd(transport.sessionId ?? null);
        connection.leave();
        closing = connection.close(stopReason);
      }
      return closing;
    },
  };
  return session;
}

/** Whether the client continues the stream of a call instead of the one for messages. */
function isContinuedCall(request: Request): boolean {
  const lastId = request.headers.get('last-event-id');
  return lastId !== null && !lastId.startsWith('_GET_stream/');
}
