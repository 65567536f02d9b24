// The agent's side of a connection: its methods and its sessions. Several sessions work at the same time.
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { Connection, Handlers } from '../system/rpc-connection.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { parseClientServers } from './client-servers.ts';
import { findSession } from './history.ts';
import * as protocol from './protocol.ts';
import { createSession, type Session, type SessionOptions } from './session.ts';
import { listPage, type SessionSource } from './session-list.ts';
import type { SessionWorkspace, WorkspaceRequest } from './workspace.ts';

const maxSessions = 100;

export interface AgentOptions extends Pick<SessionOptions, 'defaults' | 'after' | 'log'> {
  version: string;
  /** Rejects if the folder does not exist or its configuration is invalid. */
  openWorkspace(request: WorkspaceRequest): Promise<SessionWorkspace>;
  /** The databases of all workspaces of the user. */
  sources(): Promise<SessionSource[]>;
}

export interface Agent extends Handlers {
  /** Leaves open runs for another process to continue, and returns their ids. */
  close(): Promise<string[]>;
}

export function createAgent(connection: Connection, options: AgentOptions): Agent {
  const { log } = options;
  const sessions = new Map<string, Session>();
  let client: { hasNotices: boolean } | null = null;
  let isClosed = false;

  function initialize(params: unknown): unknown {
    const { clientCapabilities } = parse(protocol.Initialize, params);
    client = { hasNotices: Boolean(clientCapabilities?.session?.notices) };
    return {
      protocolVersion: protocol.protocolVersion,
      agentInfo: { name: 'retinue', title: 'Retinue', version: options.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, additionalDirectories: {} },
      },
      authMethods: [],
    };
  }

  async function openSession(id: string, { cwd, mcpServers, additionalDirectories }: protocol.NewSession): Promise<OpenedSession> {
    if (sessions.size >= maxSessions) throw new RpcError(rpcCodes.invalidRequest, `${maxSessions} sessions are open; close one first`);
    const workspace = await options.openWorkspace({ folder: cwd, readable: additionalDirectories ?? [] });
    const servers = parseClientServers(mcpServers, workspace.serverNames);
    const session = createSession({
      ...options,
      ...{ id, workspace, servers, connection },
      hasNotices: client?.hasNotices ?? false,
    });
    return { session, workspace };
  }

  async function newSession(params: unknown): Promise<unknown> {
    const { session } = await openSession(randomBytes(16).toString('hex'), parse(protocol.NewSession, params));
    sessions.set(session.id, session);
    return { sessionId: session.id, ...session.choices() };
  }

  /** `replays`: sends the history before the answer. */
  async function loadSession(id: string, setup: protocol.NewSession, { replays }: { replays: boolean }): Promise<unknown> {
    if (sessions.get(id)?.isBusy())
      throw new RpcError(rpcCodes.invalidRequest, `session ${id} is open and works on a prompt; cancel it first`);
    const { session, workspace } = await openSession(id, setup);
    const isFound = await workspace.read(async (api) => {
      const history = await findSession(api, id);
      if (history?.workspace !== workspace.path) return false;
      await session.restore(history, api, { replays });
      return true;
    });
    if (!isFound) throw new RpcError(rpcCodes.notFound, `there is no session ${id} in ${workspace.path}`);
    await sessions.get(id)?.close({ gone: false });
    sessions.set(id, session);
    return session.choices();
  }

  async function list(params: unknown): Promise<unknown> {
    const { cwd = null, cursor = null } = parse(protocol.ListSessions, params);
    if (cwd === null) return listPage(await options.sources(), { workspace: null, cursor });
    const workspace = await options.openWorkspace({ folder: cwd, readable: [] });
    return listPage([{ id: 'folder', read: workspace.read }], { workspace: workspace.path, cursor });
  }

  function find(id: string): Session {
    const session = sessions.get(id);
    if (session) return session;
    throw new RpcError(rpcCodes.notFound, `session ${id} is not open; open it with session/new, session/load or session/resume`);
  }

  /** The client may give up the request instead of cancelling the session. */
  async function prompt(params: unknown, signal: AbortSignal): Promise<protocol.PromptResult> {
    const { sessionId, prompt: blocks } = parse(protocol.Prompt, params);
    const session = find(sessionId);
    const onAbort = () => session.cancel();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await session.prompt(blocks);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  const methods: Record<string, (params: unknown, signal: AbortSignal) => unknown> = {
    initialize,
    authenticate() {
      throw new RpcError(rpcCodes.invalidParams, 'no authentication is needed; Retinue uses the keys of its environment');
    },
    'session/new': newSession,
    'session/load'(params) {
      const { sessionId, ...setup } = parse(protocol.LoadSession, params);
      return loadSession(sessionId, setup, { replays: true });
    },
    'session/resume'(params) {
      const { sessionId, mcpServers, ...setup } = parse(protocol.ResumeSession, params);
      return loadSession(sessionId, { ...setup, mcpServers: mcpServers ?? [] }, { replays: false });
    },
    'session/list': list,
    'session/prompt': prompt,
    async 'session/set_mode'(params) {
      const { sessionId, modeId } = parse(protocol.SetMode, params);
      await find(sessionId).setMode(modeId);
    },
    async 'session/set_config_option'(params) {
      const { sessionId, configId, value } = parse(protocol.SetConfigOption, params);
      const session = find(sessionId);
      if (configId === 'mode') await session.setMode(value);
      else if (configId === 'model') session.setModel(value);
      else throw new RpcError(rpcCodes.invalidParams, unknownNameMessage('option', configId.slice(0, 80), ['mode', 'model']));
      return { configOptions: session.choices().configOptions };
    },
    async 'session/close'(params) {
      const session = find(parse(protocol.SessionRef, params).sessionId);
      sessions.delete(session.id);
      await session.close({ gone: false });
    },
  };

  return {
    async request(method, params, signal) {
      const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (!handler) throw new RpcError(rpcCodes.unknownMethod, unknownNameMessage('method', method.slice(0, 80), Object.keys(methods)));
      if (client === null && method !== 'initialize')
        throw new RpcError(rpcCodes.invalidRequest, `\`initialize\` must come before \`${method}\``);
      if (isClosed) throw new RpcError(rpcCodes.invalidRequest, 'the agent is closing');
      return handler(params, signal);
    },
    notify(method, params) {
      if (method === 'session/cancel') {
        const cancelled = protocol.SessionRef.safeParse(params);
        if (cancelled.success) sessions.get(cancelled.data.sessionId)?.cancel();
        else log('session/cancel without a sessionId was ignored');
      } else if (!method.startsWith('$/') && !method.startsWith('_'))
        log(`the notification ${method.slice(0, 80)} is unknown; it was ignored`);
    },
    async close() {
      isClosed = true;
      const closed = await Promise.allSettled([...sessions.values()].map((session) => session.close({ gone: true })));
      for (const each of closed) if (each.status === 'rejected') log(`a session cannot be closed: ${each.reason?.message ?? each.reason}`);
      return closed.flatMap((each) => (each.status === 'fulfilled' && each.value !== null ? [each.value] : []));
    },
  };
}

interface OpenedSession {
  session: Session;
  workspace: SessionWorkspace;
}

function parse<T extends z.ZodType>(schema: T, params: unknown): z.infer<T> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new RpcError(rpcCodes.invalidParams, `params.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`);
}
