// The MCP server for one client, built on the official SDK's `Server`. This folder is a front-end like cli/: it translates between the
// protocol and the API, and ends when the client disconnects. The program's streams, arguments and configuration belong to main/.
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ErrorCode,
  type JSONRPCRequest,
  McpError,
  type Result,
  RootsListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { Role } from '../contract/http.ts';
import { detachReason } from '../kernel/delegation/dialect-tools.ts';
import { cleanText } from '../text/cut.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { canElicit, createElicitAnswerer } from './elicit.ts';
import { createLineTransport } from './line-transport.ts';
import type { QuestionRoute } from './question-route.ts';
import { createSession, type SessionOptions, type ToolCall } from './session.ts';
import { createInstructions } from './tools.ts';

export interface ServerOptions extends Omit<SessionOptions, 'workspace' | 'label' | 'name' | 'isProven' | 'answerer'> {
  version: string;
  /** Who the client is, if a token proves it. Otherwise the name that it sends identifies it. */
  principal?: string;
  /** How questions reach the client, if it has several streams. */
  route?: QuestionRoute;
  /** Whether the user chose the workspace. The client's roots are ignored then. */
  fixed: boolean;
  isFolder(path: string): boolean;
}

export interface Connection {
  hasDelegated(): boolean;
  /** The client has disconnected: stops asking it anything. */
  leave(): void;
  /** `stopReason`: why the server stops; absent if the client has disconnected. */
  close(stopReason?: string): Promise<void>;
}

/** More tolerant than the protocol's schema: one root with an invalid URI does not invalidate the others. */
const Roots = z.object({ roots: z.array(z.object({ uri: z.string() })) });

/** The name becomes part of a tag, which has at most 200 characters. */
const maxNameChars = 150;

/** Separates principals of tokens from the names that clients choose. */
const principalPrefix = 'principal:';

/** How long a client may take to list its roots. */
const rootsTimeoutMs = 5_000;

/** Serves a client over a pair of streams. Resolves when the client disconnects or `stop` fires, and everything is closed. */
export async function serveStreams(
  streams: { input: Readable; output: Writable },
  options: ServerOptions & { stop: AbortSignal; leaving(): void },
): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const transport = createLineTransport(streams.input, streams.output, ended.resolve);
  options.stop.addEventListener('abort', () => ended.resolve(), { once: true });
  if (options.stop.aborted) ended.resolve();
  const connection = await serve(transport, { ...options, isCongested: transport.isCongested });
  await ended.promise;
  options.leaving();
  connection.leave();
  // A client that sends everything at once and closes its input still gets its answers, except those of tool calls.
  if (!options.stop.aborted) await transport.waitUntilAnswered();
  await connection.close();
}

export async function serve(transport: Transport, options: ServerOptions & { isCongested?: () => boolean }): Promise<Connection> {
  const { dialect, version, log, isCongested = () => false } = options;
  const server = new Server(
    { name: 'retinue', title: 'Retinue', version },
    { capabilities: { tools: {} }, instructions: createInstructions(dialect) },
  );
  const disconnected = new AbortController();
  const { principal, route } = options;
  const session = createSession({
    ...options,
    isProven: principal !== undefined,
    workspace: findWorkspace,
    label: createLabel,
    name: findName,
    answerer: () => (canElicit(server) ? createElicitAnswerer(server, disconnected.signal, route) : null),
  });

  function createLabel(): string {
    const { name = 'client', version: clientVersion = '' } = server.getClientVersion() ?? {};
    const label = cleanText(`${name} ${clientVersion}`.replace(/\s+/g, ' ').trim()).slice(0, 150) || 'client';
    return principal === undefined ? label : `${label} (${principal})`;
  }

  /** A client that skips the handshake, or whose name is empty, has none. A name cannot pass for a principal's. */
  function findName(): string | null {
    if (principal !== undefined) return `${principalPrefix}${principal}`;
    const name = cleanText((server.getClientVersion()?.name ?? '').replace(/\s+/g, ' ').trim()).slice(0, maxNameChars);
    return name === '' || name.startsWith(principalPrefix) ? null : name;
  }

  /** The first existing folder among the client's roots. */
  async function findWorkspace(): Promise<string | null> {
    if (options.fixed || disconnected.signal.aborted || !server.getClientCapabilities()?.roots) return null;
    try {
      const { roots } = await server.request({ method: 'roots/list' }, Roots, { timeout: rootsTimeoutMs, signal: disconnected.signal });
      const folders = roots.flatMap(({ uri }) => uriToPath(uri) ?? []);
      const found = folders.find(options.isFolder);
      if (found === undefined && roots.length > 0) log('none of the client’s roots is a folder on this machine; using the current folder');
      return found ?? null;
    } catch (error) {
      if (disconnected.signal.aborted) return null;
      log(`the client did not list its roots (${(error as Error).message}); using the current folder`);
      return null;
    }
  }

  // The SDK's own request handlers would turn wrong arguments into protocol errors. Here they are results that name the problem.
  server.fallbackRequestHandler = async ({ method, params }: JSONRPCRequest, extra): Promise<Result> => {
    if (method === 'tools/list') return { tools: await session.listTools() };
    if (method !== 'tools/call') throw new McpError(ErrorCode.MethodNotFound, `unknown method ${method.slice(0, 80)}`);
    const { name, arguments: args } = params ?? {};
    if (typeof name !== 'string') throw new McpError(ErrorCode.InvalidParams, 'params.name: the name of the tool is missing');
    const names = dialect.tools.map((tool) => tool.name);
    if (!names.includes(name)) throw new McpError(ErrorCode.InvalidParams, unknownNameMessage('tool', name, names));
    const token = extra._meta?.progressToken;
    const notifier = token === undefined ? null : { token, notify: extra.sendNotification };
    // Clients that trace MCP itself name the call's span; otherwise that of the HTTP request is the nearest.
    const { traceparent, tracestate } = (extra._meta?.traceparent === undefined ? extra.requestInfo?.headers : extra._meta) ?? {};
    // Only transports that know no tokens have no role: their client runs as the user.
    const role = Role.parse(extra.authInfo ? extra.authInfo.scopes[0] : 'start');
    route?.beginCall(extra.requestId);
    try {
      return await callTool({ name, arguments: args, role, signal: extra.signal, trace: { traceparent, tracestate } }, notifier);
    } finally {
      route?.endCall(extra.requestId);
    }
  };

  /** A call that the client cancels stops its runs. A timeout or a disconnect leaves them running. */
  async function callTool(call: Omit<ToolCall, 'progress'>, notifier: Notifier | null): Promise<Result> {
    const stop = new AbortController();
    const onAbort = () => stop.abort(disconnected.signal.aborted || isTimeout(call.signal.reason) ? detachReason : 'cancelled');
    call.signal.addEventListener('abort', onAbort, { once: true });
    if (call.signal.aborted) onAbort();
    try {
      return await session.call({ ...call, signal: stop.signal, progress: notifier && createSender(notifier, isCongested) });
    } finally {
      call.signal.removeEventListener('abort', onAbort);
    }
  }

  server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
    if (!options.fixed) session.rootsChanged();
  });
  server.onerror = (error) => {
    if (!disconnected.signal.aborted) log(error.message.slice(0, 500));
  };
  transport.onclose = () => disconnected.abort();
  await server.connect(transport);
  return {
    hasDelegated: () => session.hasDelegated(),
    leave: () => disconnected.abort(),
    async close(stopReason) {
      disconnected.abort();
      await server.close();
      await session.close(stopReason);
    },
  };
}

interface Notifier {
  token: string | number;
  notify(notification: {
    method: 'notifications/progress';
    params: { progressToken: string | number; progress: number; message: string };
  }): Promise<void>;
}

function createSender({ token, notify }: Notifier, isCongested: () => boolean) {
  return (progress: { progress: number; message: string }): boolean => {
    if (isCongested()) return false;
    void notify({ method: 'notifications/progress', params: { progressToken: token, ...progress } }).catch(() => {});
    return true;
  };
}

/** The official client's reason is `McpError: MCP error -32001: Request timed out`; others use similar wording. */
function isTimeout(reason: unknown): boolean {
  return typeof reason === 'string' && /time(d)?[ -]?out/i.test(reason);
}

function uriToPath(uri: string): string | null {
  try {
    return fileURLToPath(uri);
  } catch {
    return null;
  }
}
