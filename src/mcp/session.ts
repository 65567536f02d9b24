// One client's session: its tool calls, the client run that it delegates from, and which ended runs were reported to it.
//
//  1. A tool call never rejects: whatever goes wrong is an error result.
//  2. The client run is created at the first call that needs one. A refused call creates nothing, unless the dialect records every call.
//  3. A client run that ended or was lost is replaced, and the next result says what became of its runs.
//  4. A call of somebody who may not start runs creates no client run.
//  5. Each ended run is reported to the client exactly once: by the call that waited for it, or as an extra block of a later result.
import { randomBytes } from 'node:crypto';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Api } from '../api/api.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Role } from '../contract/http.ts';
import type { Json } from '../contract/json.ts';
import { defaultLimits, type LimitsGiven } from '../contract/limits.ts';
import type { TraceHeaders } from '../contract/trace-context.ts';
import type { CallRecord } from '../kernel/delegation/client-calls.ts';
import { answerToolRequest, findContextLimits, resolveIds } from '../kernel/delegation/dialect-tools.ts';
import type { Delegation } from '../ports/delegation.ts';
import type { DelegationRequest, Dialect, DialectContext } from '../ports/dialect.ts';
import { type ClientRunsOptions, createClientRuns } from './client-runs.ts';
import { emptyDelegation, listEndedRunsRead, listOpenRuns, needsClientRun, observeStarts } from './delegation.ts';
import { formatEndedRuns } from './ended-runs.ts';
import { createReadingDelegation, includeOtherRuns } from './other-runs.ts';
import { createProgressReporter, type ProgressDeps } from './progress.ts';
import { createErrorResult, createInvalidResult, createRefusedResult, readFirstText, toCallToolResult } from './result.ts';
import { describeMissingRole, findRequiredRole, includesRole } from './roles.ts';
import { createToolList, parseArguments } from './tools.ts';
import { createWorkspaceApi, type WorkspaceApiOptions } from './workspace-api.ts';

export interface SessionOptions extends WorkspaceApiOptions, ClientRunsOptions {
  /** The dialect configured for the folder that the server was started in. Its tools are listed if the workspace cannot be opened. */
  dialect: Dialect;
  every: ProgressDeps['every'];
}

export interface ToolCall {
  name: string;
  arguments: unknown;
  /** What the caller may do. */
  role: Role;
  /** Stops waiting and cancels the runs that the call started; with `detach` as its reason they continue. */
  signal: AbortSignal;
  /** Null if the client did not ask for progress. */
  progress: ProgressDeps['send'] | null;
  /** The trace of the client (`_meta.traceparent`, or the header of its request), for the runs that the call starts. */
  trace?: TraceHeaders;
}

export interface Session {
  /** Whether it has a client run, or had one. */
  hasDelegated(): boolean;
  listTools(): Promise<Tool[]>;
  call(call: ToolCall): Promise<CallToolResult>;
  /** The client's roots have changed. The workspace follows them until something was delegated. */
  rootsChanged(): void;
  /**
   * Ends or pauses what the client delegated, as the dialect says, and closes everything. Without `stopReason` the client has disconnected; with it
   * the server stops, and a later process may continue paused runs without being asked.
   */
  close(stopReason?: string): Promise<void>;
}

export function createSession(options: SessionOptions): Session {
  const { log } = options;
  const workspace = createWorkspaceApi(options);
  const sessionId = randomBytes(8).toString('hex');
  const clientRuns = createClientRuns(options);
  let hasDelegated = false;
  let isClosed = false;
  let callCount = 0;
  const reportedRuns = new Set<string>();
  /** Calls that are waiting, and the runs that they will report. */
  const waitingCalls = new Set<{ runs: Set<string>; signal: AbortSignal }>();

  function findLimits(dialect: Dialect, configured: LimitsGiven = {}) {
    return findContextLimits(dialect, [
      { from: 'config', limits: configured },
      { from: 'command', limits: options.limits },
    ]);
  }

  /** Starts the record of a call in dialects that keep one. It needs a client run, even if the call is refused. */
  async function startRecord({ name, arguments: args }: ToolCall): Promise<CallRecord | null> {
    const api = await workspace.open();
    const tool = api.dialect.tools.find((each) => each.name === name);
    if (!tool || !api.dialect.setup?.recordsCalls || isClosed) return null;
    hasDelegated = true;
    const { recordCall } = await clientRuns.get(api);
    return recordCall({ tool: name, arguments: (args ?? {}) as Json, isInvalid: !parseArguments(tool, args).ok });
  }

  async function attemptCall(call: ToolCall, callId: string, isRetry = false): Promise<CallToolResult> {
    const { name, signal, progress } = call;
    const api = await workspace.open();
    const tool = api.dialect.tools.find((each) => each.name === name);
    if (!tool) return createErrorResult(`this workspace has no tool ${name}`);
    const parsed = parseArguments(tool, call.arguments);
    const context: DialectContext = { door: 'mcp', agents: listAgents(api), call: callId };
    if (!parsed.ok) return createInvalidResult(tool, parsed.problem, context);
    const request = tool.toRequest(parsed.input, context);
    if (!needsClientRun(request, api.clientQueue !== undefined) && !(await clientRuns.current())) {
      const { result } = await answerToolRequest({ tool, request, context }, emptyDelegation);
      return toCallToolResult(result, emptyDelegation.maxOutputBytes);
    }
    const advice = request.kind === 'delegate' ? await findAdvice(request, api) : null;
    if (advice !== null) return createRefusedResult(tool, new RetinueError('unknown_model', advice).info, context);
    // The workspace may have changed in the meantime.
    if ((await workspace.open()) !== api) return attemptCall(call, callId);
    if (isClosed) return createErrorResult('the client has disconnected');
    hasDelegated = true;
    const current = await clientRuns.get(api);
    const { delegation } = current;
    const reporter = progress && createProgressReporter({ watch: api.watch, every: options.every, send: progress });
    const waiting = { runs: new Set<string>(), signal };
    const started: string[] = [];
    const follow = (ids: string[]) => {
      for (const id of ids) waiting.runs.add(id);
      reporter?.follow(ids.map((id) => describeFollowed(id, delegation)));
    };
    const onStart = (ids: string[]) => {
      started.push(...ids);
      follow(ids);
    };
    if (request.kind === 'wait') follow(resolveIds(request, delegation));
    waitingCalls.add(waiting);
    try {
      const { maxOutputBytes, maxConcurrent } = delegation;
      const limited = { ...context, maxOutputBytes, maxConcurrent };
      const reaching = options.isProven
        ? includeOtherRuns(delegation, { api, waitIds: request.kind === 'wait' ? request.ids : null, followUpRefusal: null })
        : delegation;
      const { result, told } = await answerToolRequest(
        { tool, request, context: limited, signal },
        observeStarts(reaching, call.trace ?? {}, onStart),
      );
      if (await clientRuns.dropIfEnded(current)) {
        const cut = started.filter((id) => !delegation.view(id)?.outcome);
        const message = `these runs of the call were interrupted: ${cut.join(', ')}`;
        if (cut.length > 0) return createRefusedResult(tool, new RetinueError('fenced', message).info, context);
        if (started.length === 0 && !isRetry && !signal.aborted) return attemptCall(call, callId, true);
      }
      // The client does not read the answer to a call that it gave up.
      if (!signal.aborted) for (const id of [...told, ...listEndedRunsRead(request, delegation)]) reportedRuns.add(id);
      return toCallToolResult(result, delegation.maxOutputBytes);
    } finally {
      waitingCalls.delete(waiting);
      reporter?.end();
    }
  }

  /** The call of a principal that may not start runs. It reads, and gives orders to existing runs if the role allows that. */
  async function answerRestricted({ name, arguments: args, role, signal }: ToolCall, callId: string): Promise<CallToolResult> {
    return workspace.read(async (api) => {
      const tool = api.dialect.tools.find((each) => each.name === name);
      if (!tool) return createErrorResult(`this workspace has no tool ${name}`);
      const parsed = parseArguments(tool, args);
      const context: DialectContext = { door: 'mcp', agents: listAgents(api), call: callId, maxOutputBytes: defaultLimits.maxOutputBytes };
      if (!parsed.ok) return createInvalidResult(tool, parsed.problem, context);
      const request = tool.toRequest(parsed.input, context);
      const needed = findRequiredRole(request);
      if (!includesRole(role, needed))
        return createRefusedResult(tool, new RetinueError('denied', describeMissingRole(name, needed, role)).info, context);
      const delegation = includeOtherRuns(createReadingDelegation(api, { name: options.name() ?? '', seesAllClients: options.share }), {
        api,
        waitIds: request.kind === 'wait' ? request.ids : null,
        followUpRefusal: describeMissingRole('a follow-up to a finished run', 'start', role),
      });
      const { result } = await answerToolRequest({ tool, request, context, signal }, delegation);
      return toCallToolResult(result, delegation.maxOutputBytes);
    });
  }

  async function addEndedRuns(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    const current = await clientRuns.current();
    const api = await workspace.current();
    if (!current || !api || signal.aborted) return result;
    const { delegation } = current;
    const willBeReported = (id: string) => [...waitingCalls].some((each) => !each.signal.aborted && each.runs.has(id));
    const outcomes = [...clientRuns.earlierOutcomes, ...delegation.children().flatMap(({ outcome }) => outcome ?? [])];
    const unreported = outcomes.filter(({ runId }) => !reportedRuns.has(runId) && !willBeReported(runId));
    const block = formatEndedRuns(unreported, api.dialect.reader ?? null, delegation.maxOutputBytes ?? defaultLimits.maxOutputBytes);
    if (block === null) return result;
    for (const id of block.runIds) reportedRuns.add(id);
    return addBlock(result, block.text);
  }

  async function addLosses(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    const api = await workspace.current();
    if (!api || signal.aborted) return result;
    return (await clientRuns.explainLosses(api)).reduce(addBlock, result);
  }

  return {
    hasDelegated: () => hasDelegated,
    async listTools() {
      try {
        return await workspace.read((api) =>
          createToolList(api.dialect, { agents: listAgents(api), ...findLimits(api.dialect, api.limits) }),
        );
      } catch (error) {
        log(`cannot open the workspace: ${messageOf(error)}`);
        return createToolList(options.dialect, { agents: [], ...findLimits(options.dialect, {}) });
      }
    },
    async call(call) {
      try {
        if (!includesRole(call.role, 'start')) return await answerRestricted(call, `${sessionId}/${++callCount}`);
        const record = await startRecord(call);
        const result = await attemptCall(call, record?.id ?? `${sessionId}/${++callCount}`);
        await record?.finish({ output: readFirstText(result), isError: result.isError ?? false });
        return await addEndedRuns(await addLosses(result, call.signal), call.signal);
      } catch (error) {
        if (!isRetinueError(error)) log(`${call.name} failed: ${(error as Error)?.stack ?? String(error)}`);
        const tool = options.dialect.tools.find((each) => each.name === call.name);
        const info = isRetinueError(error) ? error.info : { code: 'internal' as const, message: messageOf(error), retryable: false };
        return tool ? createRefusedResult(tool, info, { door: 'mcp', agents: [], call: '' }) : createErrorResult(messageOf(error));
      }
    },
    rootsChanged() {
      if (hasDelegated) log('the roots of the client have changed; runs stay in the workspace of the first delegation');
      else workspace.reset();
    },
    async close(stopReason) {
      isClosed = true;
      const api = await workspace.current();
      const current = await clientRuns.current();
      if (stopReason !== undefined && api && !api.dialect.setup?.endsWithClient) await api.drain(stopReason);
      let openRuns = 0;
      try {
        // Counted first: a closed client has no delegation to ask.
        openRuns = current ? listOpenRuns(current.delegation).length : 0;
        await current?.close({ gone: true });
      } catch (error) {
        log(describeCloseError(error, openRuns));
      }
      await api?.close();
    },
  };
}

/** A run that is not known to be active counts as ended. */
function describeFollowed(id: string, { view }: Pick<Delegation, 'view'>) {
  const known = view(id);
  return { id, label: known?.row.label ?? null, hasEnded: known?.outcome !== null };
}

function addBlock(result: CallToolResult, text: string): CallToolResult {
  return { ...result, content: [...result.content, { type: 'text', text }] };
}

function listAgents(api: Api): DialectContext['agents'] {
  const agents = api.agents().filter(({ modelInvocation }) => modelInvocation !== false);
  return agents.map(({ name, description }) => ({ name, description }));
}

/** What the user should change before these briefs can run; null if nothing. */
async function findAdvice({ briefs }: DelegationRequest & { kind: 'delegate' }, api: Api): Promise<string | null> {
  for (const brief of briefs) {
    const advice = await api.advise(brief);
    if (advice !== null) return advice;
  }
  return null;
}

/** `paused` is no failure: another process can continue these runs. */
function describeCloseError(error: unknown, openRuns: number): string {
  if (!isRetinueError(error) || error.code !== 'paused') return `cannot end the delegated runs: ${messageOf(error)}`;
  return `${openRuns} ${openRuns === 1 ? 'run was' : 'runs were'} paused; continue with \`retinue resume\``;
}

function messageOf(error: unknown): string {
  return String((error as Error)?.message ?? error);
}
