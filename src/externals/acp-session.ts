// One session of an external agent over the Agent Client Protocol: the client side.
//
//  1. Every permission question is answered once: with the decision of the run, or with `cancelled` when the turn is cancelled. Only `allow_once` and
//     `reject_once` are used, because other options are a memory of the agent outside our facts.
//  2. The agent gets no file system and no terminal of ours.
//  3. A replayed conversation (`session/load`) is not reported again.
import { setTimeout as sleep } from 'node:timers/promises';
import { maxTokenCount } from '../contract/content.ts';
import { RetinueError } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import type { ExternalCall, ExternalHandlers, ExternalTurn } from '../ports/external-agent.ts';
import { type Connection, createConnection } from '../system/rpc-connection.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import { InitializeResponse, NewSessionResponse, PermissionRequest, PromptResponse, SessionUpdate, type ToolCall } from './acp-messages.ts';
import type { LaunchedProgram } from './launch.ts';
import type { AgentCall } from './tool-map.ts';

export interface SessionOptions {
  name: string;
  program: LaunchedProgram;
  cwd: string;
  mcpServers: object[];
  meta: Record<string, unknown> | undefined;
  /** The session of an earlier process. */
  previous: string | null;
  handlers: ExternalHandlers;
  mapCall(call: AgentCall): ExternalCall[];
  signal: AbortSignal;
}

export interface AcpSession {
  id: string;
  version: string | null;
  how: FactData['session.opened']['how'];
  prompt(text: string): Promise<ExternalTurn>;
  cancel(): void;
}

const startMs = 60_000;
/** How long to wait for the exit code of a program that has closed its output. */
const exitMs = 1000;
const never = new AbortController().signal;

/** Rejects with `agent_program`. */
export async function openAcpSession(options: SessionOptions): Promise<AcpSession> {
  const { name, program, signal } = options;
  const connection = createConnection(program.output, program.input, () => {}, 'agent');
  const client = createClient(connection, options);
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(startMs)]);
  const broken = program.exited.then((why): never => {
    throw new RetinueError('agent_program', `${name} broke off: ${why}`);
  });
  broken.catch(() => {});
  const call = async (method: string, params: object, until: AbortSignal) => {
    try {
      return await Promise.race([connection.call(method, params, until), broken]);
    } catch (error) {
      throw await toProgramError(error, method, options);
    }
  };
  const info = InitializeResponse.parse(
    await call('initialize', { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: 'retinue', version: '1' } }, timeout),
  );
  if (info.protocolVersion !== 1)
    throw new RetinueError(
      'agent_program',
      `${name} speaks version ${info.protocolVersion} of the Agent Client Protocol; version 1 is needed`,
    );
  const { id, how } = await startSession(info, client, { ...options, call: (method, params) => call(method, params, timeout) });
  return {
    id,
    how,
    version: info.agentInfo?.version ?? null,
    async prompt(text) {
      client.beginTurn();
      const params = { sessionId: id, prompt: [{ type: 'text', text }] };
      const answer = PromptResponse.parse(await call('session/prompt', params, never));
      return { stop: answer.stopReason, usage: toUsage(answer) };
    },
    cancel() {
      client.cancelQuestions();
      connection.notify('session/cancel', { sessionId: id });
    },
  };
}

interface StartDeps extends SessionOptions {
  call(method: string, params: object): Promise<unknown>;
}

/** The session of the earlier process if the agent still has it, otherwise a new one. */
async function startSession(info: InitializeResponse, client: Client, options: StartDeps): Promise<Pick<AcpSession, 'id' | 'how'>> {
  const { cwd, mcpServers, meta, previous, call } = options;
  const params = { cwd, mcpServers, ...(meta && { _meta: meta }) };
  const { loadSession, sessionCapabilities } = info.agentCapabilities ?? {};
  const ways = [
    ...(sessionCapabilities?.resume ? [{ method: 'session/resume', how: 'resumed' as const }] : []),
    ...(loadSession ? [{ method: 'session/load', how: 'loaded' as const }] : []),
  ];
  for (const { method, how } of previous === null ? [] : ways)
    try {
      client.isReplaying = true;
      await call(method, { ...params, sessionId: previous });
      return { id: previous as string, how };
    } catch (error) {
      // The agent has lost the session; a new one gets the conversation as text.
      if (options.signal.aborted) throw error;
    } finally {
      client.isReplaying = false;
    }
  return { id: NewSessionResponse.parse(await call('session/new', params)).sessionId, how: 'new' };
}

interface Client {
  isReplaying: boolean;
  beginTurn(): void;
  cancelQuestions(): void;
}

function createClient(connection: Connection, { handlers, mapCall }: SessionOptions): Client {
  let cancelled = Promise.withResolvers<false>();
  const calls = new Map<string, ToolCall>();
  const client: Client = {
    isReplaying: false,
    beginTurn() {
      cancelled = Promise.withResolvers();
    },
    cancelQuestions: () => cancelled.resolve(false),
  };

  /** Updates have only what has changed. */
  function merge(given: ToolCall): ToolCall {
    const known = calls.get(given.toolCallId);
    const changed = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
    const merged = { ...known, ...changed } as ToolCall;
    calls.set(given.toolCallId, merged);
    return merged;
  }

  async function askPermission({ toolCall, options }: PermissionRequest): Promise<object> {
    const mapped = mapCall(toAgentCall(merge(toolCall)));
    const decisions = Promise.all(mapped.map((call) => handlers.permit(call))).then((all) => (all.every(Boolean) ? 'allow' : 'reject'));
    const answer = await Promise.race([decisions, cancelled.promise]);
    const option = answer === false ? undefined : options.find(({ kind }) => kind === `${answer}_once`);
    return { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } };
  }

  function receiveCall(given: ToolCall): void {
    const call = merge(given);
    const mapped = mapCall(toAgentCall(call));
    const hasEnded = call.status === 'completed' || call.status === 'failed';
    // Some agents send the arguments only with an update.
    if (call.rawInput !== undefined || hasEnded || call.status === 'in_progress') for (const each of mapped) handlers.callStarted(each);
    if (!hasEnded) return;
    for (const { id } of mapped) handlers.callFinished({ id, isError: call.status === 'failed', output: readOutput(call) });
    calls.delete(call.toolCallId);
  }

  connection.start({
    async request(method, params) {
      if (method !== 'session/request_permission') throw new RpcError(rpcCodes.unknownMethod, `${method} is not available`);
      return askPermission(PermissionRequest.parse(params));
    },
    notify(method, params) {
      const parsed = method === 'session/update' && !client.isReplaying ? SessionUpdate.safeParse(params) : null;
      if (!parsed?.success) return;
      const { update } = parsed.data;
      if ('toolCallId' in update) receiveCall(update);
      else if ('content' in update && update.content.text !== undefined)
        handlers.text(update.sessionUpdate === 'agent_message_chunk' ? 'text' : 'reasoning', update.content.text);
    },
  });
  return client;
}

function toAgentCall(call: ToolCall): AgentCall {
  const claude = call._meta?.claudeCode as { toolName?: unknown } | undefined;
  const given = typeof claude?.toolName === 'string' ? claude.toolName : call.name;
  const diffs = (call.content ?? []).flatMap((each) =>
    'newText' in each ? [{ path: each.path, oldText: each.oldText ?? null, newText: each.newText }] : [],
  );
  const { toolCallId: id, kind, title, rawInput: input } = call;
  return { id, name: given ?? null, kind: kind ?? undefined, title: title ?? undefined, input, diffs };
}

function readOutput({ content, rawOutput }: ToolCall): string {
  const texts = (content ?? []).flatMap((each) => ('content' in each && each.content.text !== undefined ? [each.content.text] : []));
  if (texts.length > 0) return texts.join('\n');
  return typeof rawOutput === 'string' ? rawOutput : rawOutput === undefined ? '' : JSON.stringify(rawOutput);
}

function toUsage({ usage }: PromptResponse): ExternalTurn['usage'] {
  if (!usage) return null;
  const whole = (value: number | null | undefined) =>
    Math.min(maxTokenCount, Math.max(0, Math.floor(Number.isFinite(value) ? (value as number) : 0)));
  const cached = whole(usage.cachedReadTokens);
  return {
    cached,
    estimated: true,
    input: whole(usage.inputTokens) + cached,
    output: whole(usage.outputTokens),
    reasoning: whole(usage.thoughtTokens),
  };
}

async function toProgramError(error: unknown, method: string, { name, program, signal }: SessionOptions): Promise<Error> {
  if (signal.aborted || (error instanceof RetinueError && error.code === 'agent_program')) return error as Error;
  if (error instanceof RpcError) {
    const isLogin = /auth|login|log in|api key/i.test(error.message);
    const advice = isLogin ? `; start ${name} once by hand and log in, or use an API key without \`login: own\`` : '';
    return new RetinueError('agent_program', `${name} refused ${method}: ${error.message.slice(0, 500)}${advice}`);
  }
  const isTimeout = (error as Error)?.name === 'TimeoutError';
  const why = isTimeout
    ? `it did not answer within ${startMs / 1000} s`
    : await Promise.race([program.exited, sleep(exitMs, (error as Error)?.message ?? String(error), { ref: false })]);
  return new RetinueError('agent_program', `${name} broke off at ${method}: ${why}`);
}
