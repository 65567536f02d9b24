// Runs the delegation tools of a dialect: turns input into a request, performs it on a `Delegation`, and turns the reply into a result. Parent models and
// clients use the same functions.
import { type ErrorInfo, RetinueError } from '../../contract/error.ts';
import type { LimitsGiven } from '../../contract/limits.ts';
import { renderResultParts } from '../../conversation/result-parts.ts';
import type { Catalog } from '../../ports/catalog.ts';
import type { Delegation, DelegationStart } from '../../ports/delegation.ts';
import type {
  ChildReply,
  DelegationReply,
  DelegationRequest,
  Dialect,
  DialectContext,
  DialectResult,
  DialectTool,
} from '../../ports/dialect.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { computeClientLimits, type GivenLimits } from '../../rules/limits.ts';
import { withAbortReason } from '../../text/abort-reason.ts';

/** Results consist of reports that are cut to their limits already, so this only bounds the largest possible result: 16 reports of 16 MiB. */
const maxResultBytes = 16 * 16_777_216;

/** The reason of a signal whose caller stops waiting, while the runs it started continue. */
export const detachReason = { reason: 'detach' };

/**
 * Carries out what a delegation tool asked for. When the signal fires, what this request started is cancelled, unless its reason is
 * `detachReason`; a mere wait just ends.
 */
async function performRequest(request: DelegationRequest, delegation: Delegation, signal?: AbortSignal): Promise<DelegationReply> {
  const stop = signal ? { signal } : {};
  switch (request.kind) {
    case 'refuse':
      return { kind: 'refused', error: { code: 'invalid_brief', message: request.message, retryable: false } };
    case 'delegate':
      return { kind: 'children', children: await delegateAll(request, delegation, signal) };
    case 'wait': {
      const ids = resolveIds(request, delegation);
      await delegation.wait(
        ids.filter((id) => delegation.view(id)),
        { mode: request.mode, ms: request.waitMs, ...stop },
      );
      return { kind: 'children', children: await loadReplies(ids, delegation) };
    }
    case 'message':
      return sendMessage(request, delegation);
    case 'cancel': {
      const ids = resolveIds(request, delegation);
      const before = ids.map((id) => delegation.view(id));
      await delegation.cancel(ids, request.reason);
      return { kind: 'children', children: await loadReplies(ids, delegation), before };
    }
    case 'apply': {
      const report = await delegation.apply(request.ids, { check: request.check });
      return report.ok ? { kind: 'applied', report } : { kind: 'refused', error: report.error };
    }
    case 'read': {
      const page = await delegation.read(request.id, request.part, request);
      if (!page) return { kind: 'refused', error: unknownChildError(request.id).info };
      return { kind: 'page', id: request.id, page, view: delegation.view(request.id) ?? (await delegation.viewEarlier(request.id)) };
    }
  }
}

type IdsRequest = Extract<DelegationRequest, { kind: 'wait' | 'cancel' }>;

/** The runs that a request is about. Without ids: every open child. */
export function resolveIds(
  { ids, newest }: Pick<IdsRequest, 'ids' | 'newest'>,
  delegation: Pick<Delegation, 'children' | 'newest'>,
): string[] {
  const given = ids ?? delegation.children().flatMap(({ row, outcome }) => (outcome ? [] : [row.runId]));
  return newest ? given.map((id) => delegation.newest(id)) : given;
}

type Message = Extract<DelegationRequest, { kind: 'message' }>;

async function sendMessage({ id: given, text, newest, interrupt }: Message, delegation: Delegation): Promise<DelegationReply> {
  const id = newest ? delegation.newest(given) : given;
  if (interrupt) await delegation.cancel([id], 'interrupted by a message');
  const sent = await delegation.message(given, text, newest ? { newest } : {});
  if (!sent.ok) return { kind: 'children', children: [{ ...sent, asked: given }] };
  const isFollowUp = sent.runId !== id;
  // A run that ended before the cancel is reported as usual.
  const isInterrupted = interrupt && isFollowUp && delegation.view(id)?.outcome?.status === 'cancelled';
  return { kind: 'children', children: await loadReplies(isInterrupted ? [sent.runId, id] : [sent.runId], delegation), isFollowUp };
}

type Delegate = Extract<DelegationRequest, { kind: 'delegate' }>;

async function delegateAll({ briefs, waitMs, atOnce }: Delegate, delegation: Delegation, signal?: AbortSignal): Promise<ChildReply[]> {
  const stop = signal ? { signal } : {};
  const width = atOnce === undefined || waitMs === 0 ? briefs.length : atOnce;
  const started: DelegationStart[] = await delegation.start(briefs.slice(0, width));
  const ids = () => started.flatMap((each) => (each.ok ? [each.runId] : []));
  const isOpen = (id: string) => delegation.view(id)?.outcome === null;
  while (started.length < briefs.length && !signal?.aborted) {
    const open = ids().filter(isOpen);
    if (open.length >= width) await delegation.wait(open, { mode: 'any', ms: waitMs, ...stop });
    if (ids().filter(isOpen).length >= width) break; // the caller's time is over
    started.push(...(await delegation.start(briefs.slice(started.length, started.length + 1))));
  }
  // A caller that stops waiting still gets all its briefs started.
  const cancelled = signal?.aborted && signal.reason !== detachReason;
  if (!cancelled) started.push(...(await delegation.start(briefs.slice(started.length))));
  await delegation.wait(ids(), { mode: 'all', ms: waitMs, ...stop });
  if (signal?.aborted && signal.reason !== detachReason)
    await delegation.cancel(ids(), withAbortReason('the call that delegated it was cancelled', signal.reason));
  return Promise.all(started.map((each) => (each.ok ? loadReply(each.runId, delegation) : { ...each, asked: null })));
}

function loadReplies(ids: string[], delegation: Delegation): Promise<ChildReply[]> {
  return Promise.all(ids.map((id) => loadReply(id, delegation)));
}

async function loadReply(id: string, delegation: Delegation): Promise<ChildReply> {
  const view = delegation.view(id) ?? (await delegation.viewEarlier(id));
  return view ? { ok: true, view } : { ok: false, error: unknownChildError(id).info, asked: id };
}

export function unknownChildError(id: string): RetinueError {
  return new RetinueError('unknown_run', `${id.trim() === '' ? 'an empty id' : id} is none of your delegated runs`);
}

/** The agents of a dialect: those of the catalog, then those in the dialect's own name space. */
export function catalogForDialect(dialect: Dialect, catalog: Catalog): Catalog {
  const own = dialect.setup?.agents ?? [];
  return { get: (name) => catalog.get(name) ?? own.find((agent) => agent.name === name) ?? null, list: () => catalog.list() };
}

export function dialectToolNames(dialect: Dialect): string[] {
  return dialect.tools.map((tool) => tool.name);
}

/** A dialect's tools for a parent model. They keep their own time, because they wait for children. */
export function createDialectTools(dialect: Dialect, catalog: Catalog, limits: LimitsGiven): AnyTool[] {
  const context = {
    door: 'model' as const,
    agents: listAgentSummaries(catalog),
    ...findContextLimits(dialect, [{ from: 'config', limits }]),
  };
  return dialect.tools.map((tool) => ({
    name: tool.name,
    description: tool.description(context),
    get input() {
      return tool.input;
    },
    ...(tool.inputSchema && { inputSchema: tool.inputSchema }),
    readOnly: tool.readOnly,
    idempotent: tool.repeatable ?? true,
    ...(tool.polls && { polls: true }),
    timeoutMs: null,
    maxOutputBytes: maxResultBytes,
    subjects: () => [],
    ...(tool.output || tool.describeInvalid
      ? { invalidInput: (problem: string) => renderResultParts(refuseInput(tool, problem, { ...context, call: '' }).parts, null) }
      : {}),
    execute: (input, { delegation }) => {
      const { call, maxOutputBytes, maxConcurrent } = delegation;
      return runDialectTool({ tool, input, context: { ...context, call, maxOutputBytes, maxConcurrent } }, delegation);
    },
  }));
}

/** What tools say about limits, before there is a run that they apply to. */
export function findContextLimits(dialect: Dialect, given: GivenLimits[]): Pick<DialectContext, 'maxConcurrent' | 'maxChildMs'> {
  const { maxConcurrent, timeoutMs } = computeClientLimits([{ from: 'dialect', limits: dialect.setup?.limits ?? {} }, ...given]);
  const isChildren = timeoutMs.from === 'command';
  return { maxConcurrent: maxConcurrent.value, maxChildMs: isChildren ? timeoutMs.value : null };
}

/** The agents that models may delegate to. */
export function listAgentSummaries(catalog: Catalog): DialectContext['agents'] {
  return catalog
    .list()
    .filter(({ modelInvocation }) => modelInvocation !== false)
    .map(({ name, description }) => ({ name, description }));
}

/** The result for input that the tool's schema does not accept: the same shape as every other result of the tool. */
export function refuseInput(tool: DialectTool, problem: string, context: DialectContext): DialectResult {
  const message = tool.describeInvalid?.(problem) ?? `invalid arguments for ${tool.name}: ${problem}`;
  return refuseCall(tool, { code: 'invalid_brief', message, retryable: false }, context);
}

/** The result for a call that is not performed. */
export function refuseCall(tool: DialectTool, error: ErrorInfo, context: DialectContext): DialectResult {
  return { ...tool.fromReply({ kind: 'refused', error }, { kind: 'refuse', message: error.message }, context), isError: true };
}

/** One use of a delegation tool. `input` is what its schema has made of the arguments. */
export interface ToolUse {
  tool: DialectTool;
  input: unknown;
  context: DialectContext;
  signal?: AbortSignal | undefined;
}

/** The result of a call, the children whose outcome it reports, and the untrusted sources of what they read. */
export async function useDialectTool({ tool, input, context, signal }: ToolUse, delegation: Delegation): Promise<ToolAnswer> {
  return answerToolRequest({ tool, request: tool.toRequest(input, context), context, signal }, delegation);
}

export interface ToolAnswer {
  result: DialectResult;
  told: string[];
  taint: string[];
}

/** The same for a caller that has made the request of the input already. */
export async function answerToolRequest(
  { tool, request, context, signal }: Omit<ToolUse, 'input'> & { request: DelegationRequest },
  delegation: Delegation,
): Promise<ToolAnswer> {
  const answer = await performRequest(request, delegation, signal);
  const told =
    answer.kind === 'children' ? answer.children.flatMap((child) => (child.ok && child.view.outcome ? [child.view.row.runId] : [])) : [];
  return { result: tool.fromReply(answer, request, context), told, taint: collectTaint(answer, delegation) };
}

function collectTaint(answer: DelegationReply, delegation: Delegation): string[] {
  const views = answer.kind === 'children' ? answer.children.map((child) => (child.ok ? child.view : null)) : [];
  if (answer.kind === 'page') views.push(delegation.view(answer.id));
  return [...new Set(['child', ...views.flatMap((view) => view?.taint ?? [])])];
}

/** The same, down to the text that enters a conversation. */
async function runDialectTool(use: ToolUse, delegation: Delegation) {
  const { result, told, taint } = await useDialectTool(use, delegation);
  return { output: renderResultParts(result.parts, delegation.maxOutputBytes), isError: result.isError, told, taint };
}
