// The connection to one server: opened on first use, reopened after it has died, shared by all runs of the process.
//
// 1. At most one connection is open or being opened at a time.
// 2. A call is sent at most once. If the connection dies during it, the call has failed; the next call opens a new connection.
// 3. Repeated failures are retried with growing pauses; during a pause calls fail at once and say so.
// 4. After `close` nothing is opened, and no process or connection is left when it resolves.
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import type { JsonObject } from '../../contract/json.ts';
import { maxMs } from '../../contract/limits.ts';
import type { McpServer } from '../../contract/mcp-server.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Redact } from '../../ports/secrets.ts';
import { cleanText } from '../../text/cut.ts';
import { createHttpTransport } from './http-transport.ts';
import { listTools, type ToolListing } from './list-tools.ts';
import { resolveTarget, type TargetDeps } from './resolve-target.ts';
import type { ServerTransport } from './server-transport.ts';
import { createStdioTransport } from './stdio-transport.ts';

export interface ConnectionDeps extends TargetDeps {
  clock: Clock;
  redact: Redact;
  /** Variables by which the processes of a server are found again after this process has died. */
  marks?: (() => Record<string, string>) | undefined;
}

export interface McpConnection {
  /** Rejects with an Error whose message says why the server cannot be used. */
  list(): Promise<ToolListing>;
  /** The answer of the server, unchecked. Rejects with an Error that the model can read. */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

interface OpenConnection {
  client: Client;
  server: ServerTransport;
  listing: Promise<ToolListing> | null;
  isOver: boolean;
}

const defaultStartMs = 10_000;
const firstPauseMs = 1000;
const longestPauseMs = 30_000;
const maxProblemChars = 500;
const closedMessage = 'the connection is closed';
const Anything = z.looseObject({});

export function createMcpConnection(definition: McpServer, deps: ConnectionDeps): McpConnection {
  const { clock } = deps;
  const startMs = definition.startupTimeout === undefined ? defaultStartMs : definition.startupTimeout * 1000;
  const closing = new AbortController();
  const ending = new Set<Promise<void>>();
  let current: Promise<OpenConnection> | null = null;
  let live: OpenConnection | null = null;
  let failures = 0;
  let lastProblem = '';
  let notBefore = Number.NEGATIVE_INFINITY;

  function open(): Promise<OpenConnection> {
    if (closing.signal.aborted) return Promise.reject(new Error(closedMessage));
    if (current) return current;
    const wait = Math.ceil((notBefore - clock.monotonic()) / 1000);
    if (wait > 0) return Promise.reject(new Error(`${lastProblem} (next attempt in ${wait} s)`));
    const opening = connect();
    current = opening;
    opening.catch((error: Error) => recordFailure(error.message));
    return opening;
  }

  /** The first failure after a success causes no pause: it may be an accident. */
  function recordFailure(problem: string): void {
    current = null;
    live = null;
    failures++;
    lastProblem = problem;
    notBefore = failures < 2 ? Number.NEGATIVE_INFINITY : clock.monotonic() + Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 2));
  }

  async function connect(): Promise<OpenConnection> {
    const target = resolveTarget(definition, deps);
    const [{ Client }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    const parse = (value: unknown) => types.JSONRPCMessageSchema.parse(value);
    const server =
      target.kind === 'command'
        ? createStdioTransport({ ...target, env: { ...target.env, ...deps.marks?.() } }, parse)
        : await createHttpTransport(target);
    const client = new Client({ name: 'retinue', version: '0' }, { capabilities: { roots: {} } });
    const opened: OpenConnection = { client, server, listing: null, isOver: false };
    const root = { uri: pathToFileURL(deps.workspace).href, name: basename(deps.workspace) };
    client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [root] }));
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => {
      opened.listing = null;
    });
    client.onclose = () => endConnection(opened, null);
    try {
      await withDeadline((signal) => client.connect(server.transport, { signal, timeout: maxMs }), 'it did not answer');
      if (opened.isOver) throw new Error('the connection ended');
      live = opened;
      return opened;
    } catch (error) {
      const problem = describeProblem(error, server);
      endConnection(opened, null);
      throw new Error(problem);
    }
  }

  /** Marks a connection as over and ends its process or session. */
  function endConnection(opened: OpenConnection, problem: string | null): void {
    if (opened.isOver) return;
    opened.isOver = true;
    if (live === opened) recordFailure(problem ?? describeProblem(null, opened.server));
    const ended = opened.server.end().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  /** Ends with the work, after `startMs` or with `close`, whichever comes first. */
  async function withDeadline<T>(work: (signal: AbortSignal) => Promise<T>, lateMessage: string): Promise<T> {
    const limit = new AbortController();
    const stopTimer = clock.at(clock.monotonic() + startMs, () => limit.abort(new Error(`${lateMessage} within ${startMs / 1000} s`)));
    const signal = AbortSignal.any([limit.signal, closing.signal]);
    try {
      return await Promise.race([work(signal), rejectOnAbort(signal)]);
    } finally {
      stopTimer();
    }
  }

  /** One line for people and models, without secrets and control characters. `server` adds its own end reason. */
  function describeProblem(error: unknown, server: Pick<ServerTransport, 'endReason'> | null): string {
    const message = error === null ? '' : errorMessage(error);
    const reason = server?.endReason() ?? null;
    const isVague = message === '' || /connection (closed|ended)/i.test(message);
    const text = [isVague && reason !== null ? [] : message || 'the connection ended', reason ?? []].flat().join('; ');
    const clean = cleanText(deps.redact(text, true)).replace(/\s+/g, ' ');
    return clean.length > maxProblemChars ? `${clean.slice(0, maxProblemChars).toWellFormed()}…` : clean;
  }

  return {
    async list() {
      const opened = await open();
      opened.listing ??= withDeadline((signal) => listTools(opened.client, signal), 'it did not list its tools').catch((error) => {
        opened.listing = null;
        const problem = describeProblem(error, opened.server);
        endConnection(opened, problem);
        throw new Error(problem);
      });
      return opened.listing;
    },

    async call(tool, args, signal) {
      const opened = await Promise.race([open(), rejectOnAbort(signal)]);
      try {
        const params = { name: tool, arguments: args };
        const result = await opened.client.request({ method: 'tools/call', params }, Anything, { signal, timeout: maxMs });
        failures = 0;
        return result;
      } catch (error) {
        if (signal.aborted) throw error;
        if (!opened.isOver && isServerError(error)) throw new Error(`it answered with an error: ${describeProblem(error, null)}`);
        const problem = describeProblem(error, opened.server);
        endConnection(opened, problem);
        throw new Error(`the connection ended during this call, so its effect is unknown: ${problem}`);
      }
    },

    async close() {
      closing.abort(new Error(closedMessage));
      const opened = await current?.catch(() => null);
      if (opened) endConnection(opened, null);
      await Promise.all(ending);
    },
  };
}

/** Whether the server itself answered with an error (JSON-RPC), as opposed to a broken connection. */
function isServerError(error: unknown): boolean {
  return error instanceof Error && error.name === 'McpError';
}

function errorMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${text.replace(/^MCP error -?\d+: /, '')}${cause}`;
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
