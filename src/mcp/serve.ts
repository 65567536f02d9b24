// The server of one client: its requests to a session and back. It ends when the client goes, and leaves nothing behind.
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
import { detach } from '../kernel/dialect-tools.ts';
import { cleanText } from '../text/cut.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { canElicit, elicitingAnswerer } from './elicit.ts';
import { createLineTransport } from './lines.ts';
import { createSession, type Session, type SessionOptions } from './session.ts';
import { instructionsOf } from './tools.ts';

export interface ServerOptions extends Omit<SessionOptions, 'workspace' | 'label' | 'answerer'> {
  version: string;
  /** Whether the workspace was given by hand: then the client's roots do not count. */
  fixed: boolean;
  isFolder(path: string): boolean;
}

/** A server on its transport, with what is left to do when the client is gone. */
export interface Connection {
  /** The client will say nothing more: nothing is asked of it from now on. */
  leave(): void;
  close(): Promise<void>;
}

/** Laxer than the protocol: a root that is no file does not spoil the others. */
const Roots = z.object({ roots: z.array(z.object({ uri: z.string() })) });

/** How long a client may take to say which roots it has. */
const rootsMs = 5_000;

/** Serves a client over a pair of streams. Resolves when it is gone, or `stop` fires, and everything is closed. */
export async function serveStreams(
  streams: { input: Readable; output: Writable },
  options: ServerOptions & { stop: AbortSignal; leaving(): void },
): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const transport = createLineTransport(streams.input, streams.output, ended.resolve);
  options.stop.addEventListener('abort', () => ended.resolve(), { once: true });
  if (options.stop.aborted) ended.resolve();
  const connection = await serve(transport, { ...options, congested: transport.congested });
  await ended.promise;
  options.leaving();
  connection.leave();
  // Whoever sends all at once and closes gets what can be answered at once.
  if (!options.stop.aborted) await transport.answered();
  await connection.close();
}

export async function serve(transport: Transport, options: ServerOptions & { congested?: () => boolean }): Promise<Connection> {
  const { dialect, version, log } = options;
  const server = new Server(
    { name: 'retinue', title: 'Retinue', version },
    { capabilities: { tools: {} }, instructions: instructionsOf(dialect) },
  );
  const gone = new AbortController();
  const session = createSession({
    ...options,
    workspace,
    label,
    answerer: () => (canElicit(server) ? elicitingAnswerer(server, gone.signal) : null),
  });

  function label(): string {
    const { name = 'client', version: of = '' } = server.getClientVersion() ?? {};
    return cleanText(`${name} ${of}`.replace(/\s+/g, ' ').trim()).slice(0, 200) || 'client';
  }

  /** The first folder among the client's roots that is there. */
  async function workspace(): Promise<string | null> {
    if (options.fixed || gone.signal.aborted || !server.getClientCapabilities()?.roots) return null;
    try {
      const { roots } = await server.request({ method: 'roots/list' }, Roots, { timeout: rootsMs, signal: gone.signal });
      const folders = roots.flatMap(({ uri }) => folderOf(uri) ?? []);
      const found = folders.find(options.isFolder);
      if (found === undefined && roots.length > 0) log('none of the client’s roots is a folder here; the workspace is the current folder');
      return found ?? null;
    } catch (error) {
      if (gone.signal.aborted) return null;
      log(`the client did not say which roots it has (${(error as Error).message}); the workspace is the current folder`);
      return null;
    }
  }

  // Not by the SDK's own handlers: what is wrong with a call is to be named, and a wrong call is no failure of the server.
  server.fallbackRequestHandler = async ({ method, params }: JSONRPCRequest, extra): Promise<Result> => {
    if (method === 'tools/list') return { tools: await session.tools() };
    if (method !== 'tools/call') throw new McpError(ErrorCode.MethodNotFound, `there is no method ${method.slice(0, 80)} here`);
    const { name, arguments: args } = params ?? {};
    if (typeof name !== 'string') throw new McpError(ErrorCode.InvalidParams, 'params.name: the name of the tool is missing');
    const names = dialect.tools.map((tool) => tool.name);
    if (!names.includes(name)) throw new McpError(ErrorCode.InvalidParams, unknownNameMessage('tool', name, names));
    const token = extra._meta?.progressToken;
    const progress = token === undefined ? null : { token, notify: extra.sendNotification };
    return called(session, { name, arguments: args, signal: extra.signal, progress });
  };

  async function called(to: Session, call: { name: string; arguments: unknown; signal: AbortSignal; progress: Notifier | null }) {
    const stop = new AbortController();
    const onAbort = () => stop.abort(gone.signal.aborted || isTimeout(call.signal.reason) ? detach : 'cancelled');
    call.signal.addEventListener('abort', onAbort, { once: true });
    if (call.signal.aborted) onAbort();
    const send = call.progress && sender(call.progress, options.congested ?? (() => false));
    try {
      return await to.call({ name: call.name, arguments: call.arguments, signal: stop.signal, progress: send });
    } finally {
      call.signal.removeEventListener('abort', onAbort);
    }
  }

  server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
    if (!options.fixed) session.moved();
  });
  server.onerror = (error) => {
    if (!gone.signal.aborted) log(error.message.slice(0, 500));
  };
  transport.onclose = () => gone.abort();
  await server.connect(transport);
  return {
    leave: () => gone.abort(),
    async close() {
      gone.abort();
      await server.close();
      await session.close();
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

function sender({ token, notify }: Notifier, congested: () => boolean) {
  return (progress: { progress: number; message: string }): boolean => {
    if (congested()) return false;
    void notify({ method: 'notifications/progress', params: { progressToken: token, ...progress } }).catch(() => {});
    return true;
  };
}

/** The official client says `McpError: MCP error -32001: Request timed out`; others say it in other words. */
function isTimeout(reason: unknown): boolean {
  return typeof reason === 'string' && /time(d)?[ -]?out/i.test(reason);
}

function folderOf(uri: string): string | null {
  try {
    return fileURLToPath(uri);
  } catch {
    return null;
  }
}
