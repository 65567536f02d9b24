// Spans that have begun: what is known of a run, a model call or a tool call until the fact that ends it.
import type { FactData, FactOf } from '../contract/fact.ts';
import { isoToMs } from '../text/instant.ts';
import { commonAttributes, type RunLabels, type RunUsage } from './attributes.ts';
import { type Message, maxMessages, messagesToAttribute, shorten, userMessage } from './content.ts';
import { isSampled, type Sampling } from './sampling.ts';
import { type Attributes, type Span, type SpanEvent, type SpanPlace, spanIdOfRun, spanIdOfTool, traceIdOfTree } from './span.ts';

export interface TreeSpansOptions {
  /** With prompts, answers, arguments, results and error messages, and with every name and id that a model or client has chosen. */
  content: boolean;
  sampling: Sampling;
}

/** Pauses and the like on one span; further ones are left out. */
const maxEvents = 64;

export interface OpenSpan extends Pick<Span, 'name' | 'kind' | 'startMs' | 'attributes' | 'events'> {
  place: SpanPlace;
}

export interface OpenRun extends OpenSpan {
  labels: RunLabels;
  isExported: boolean;
  links: Span['links'];
  usage: RunUsage;
  call: OpenSpan | null;
  tools: Map<string, OpenSpan & { rejected: FactData['tool.asked']['rejected'] }>;
  /** Names of the tools that the run was offered. */
  offered: ReadonlySet<string>;
  /** The provider's ids of the calls of the last answer, by index. */
  callIds: string[];
  /** With content: what the next model call gets that the last one did not. */
  input: Message[];
}

/** `parent`: the open run that delegated it, if there is one. */
export function openRun(
  { runId, at, data }: FactOf<'run.created'>,
  parent: OpenRun | null,
  { content, sampling }: TreeSpansOptions,
): OpenRun {
  const { rootId, parentId, parentCall, agent, kind, brief, depth, dialect, model, trace, grant } = data;
  const [, callerTrace = '', callerSpan = '', flags = '00'] = trace?.traceparent.split('-') ?? [];
  const ownParent = parentId === null ? null : parentCall ? spanIdOfTool(parentId, parentCall) : spanIdOfRun(parentId);
  const traceId = trace ? callerTrace : (parent?.place.traceId ?? traceIdOfTree(rootId));
  const place: SpanPlace = {
    traceId,
    spanId: spanIdOfRun(runId),
    parentId: trace ? callerSpan : ownParent,
    isParentRemote: trace !== undefined,
    traceState: trace ? trace.tracestate : parent?.place.traceState,
  };
  const labels: RunLabels = { runId, rootId, depth, kind, agent, dialect, model };
  // The label of a client is what it calls itself.
  const workflow = content && kind !== 'agent' && brief.label !== undefined ? { 'gen_ai.workflow.name': brief.label } : {};
  const texts: Attributes = content
    ? {
        ...(brief.label === undefined ? {} : { 'retinue.run.label': brief.label }),
        ...(kind !== 'agent' ? {} : { 'gen_ai.input.messages': messagesToAttribute([userMessage(brief.task)]) }),
      }
    : {};
  const operation = kind !== 'agent' ? 'invoke_workflow' : 'invoke_agent';
  return {
    name: [operation, agent ?? workflow['gen_ai.workflow.name']].filter(Boolean).join(' '),
    kind: 'internal',
    place,
    startMs: isoToMs(at),
    attributes: { ...workflow, ...texts },
    events: [],
    labels,
    isExported: trace || !parent ? isSampled(traceId, trace ? flags : null, sampling) : parent.isExported,
    // A run in the trace of its caller is still found from the span of its parent.
    links: trace && ownParent !== null ? [{ traceId: parent?.place.traceId ?? traceIdOfTree(rootId), spanId: ownParent }] : [],
    usage: { input: 0, output: 0, cached: 0, reasoning: 0, costUsd: null },
    call: null,
    tools: new Map(),
    offered: new Set(grant.tools),
    callIds: [],
    input: [],
  };
}

/** Nothing for a run that is not exported. `message`: of the error, only with content. */
export function endSpan(
  run: OpenRun,
  open: OpenSpan,
  at: string,
  end: { attributes?: Attributes; error?: string | null; message?: string | undefined },
): Span[] {
  if (!run.isExported) return [];
  const { error = null, message, attributes = {} } = end;
  const span: Span = {
    ...open.place,
    name: open.name,
    kind: open.kind,
    startMs: open.startMs,
    // The clock of a process that continues the tree may be behind.
    endMs: Math.max(open.startMs, isoToMs(at)),
    attributes: { ...open.attributes, ...attributes, ...(error === null ? {} : { 'error.type': error }) },
    error: error === null ? null : { message: message === undefined ? undefined : shorten(message) },
    events: open.events,
    links: open === run ? run.links : [],
  };
  return [span];
}

/** A model call or tool call of a run. */
export function openChild(run: OpenRun, spanId: string, at: string, span: Pick<Span, 'name' | 'kind' | 'attributes'>): OpenSpan {
  const place = { ...run.place, spanId, parentId: run.place.spanId, isParentRemote: false };
  return { ...span, attributes: { ...span.attributes, ...commonAttributes(run.labels) }, place, startMs: isoToMs(at), events: [] };
}

export function addEvent({ events }: { events: SpanEvent[] }, event: SpanEvent): void {
  if (events.length < maxEvents) events.push(event);
}

/** Clients and flows ask no model. */
export function addInput({ labels, input }: OpenRun, message: Message): void {
  if (labels.kind !== 'agent') return;
  input.push(message);
  if (input.length > maxMessages) input.shift();
}

export function addUsage(sum: RunUsage, { input, output, cached, reasoning, costUsd }: RunUsage): void {
  sum.input += input;
  sum.output += output;
  sum.cached += cached;
  sum.reasoning += reasoning;
  if (costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + costUsd;
}
