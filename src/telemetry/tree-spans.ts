// Turns the facts of one tree into spans, in the order of the facts. Pure: the same facts give the same spans, with the same ids.
//
// S1. A span is returned with the fact that ends it. Only open spans are kept in memory.
// S2. A run's span ends with `run.ended`; what is still open in the run then ends with it.
// S3. A model call whose process died ends where the run is continued, as `interrupted`: when it really ended is not known.
// S4. A run with a caller's trace context begins in the caller's trace, and its descendants follow it.
import type { Fact, FactData, FactOf } from '../contract/fact.ts';
import type { Outcome } from '../contract/outcome.ts';
import { isoToMs } from '../text/instant.ts';
import {
  callAttributes,
  commonAttributes,
  finishReason,
  type RunLabels,
  type RunUsage,
  runAttributes,
  runErrorType,
  toolErrorType,
  usageAttributes,
} from './attributes.ts';
import {
  answerToAttribute,
  argumentsToAttribute,
  type Message,
  maxMessages,
  messagesToAttribute,
  shorten,
  toolMessage,
  userMessage,
} from './content.ts';
import { isSampled, type Sampling } from './sampling.ts';
import {
  type Attributes,
  type Span,
  type SpanEvent,
  type SpanPlace,
  spanIdOfModelCall,
  spanIdOfRun,
  spanIdOfTool,
  traceIdOfTree,
} from './span.ts';

export interface TreeSpansOptions {
  content: boolean;
  sampling: Sampling;
}

export interface TreeSpans {
  apply(fact: Fact): Span[];
  /** The root has ended: no more spans follow. */
  isEnded(): boolean;
}

/** Pauses and the like on one span; further ones are left out. */
const maxEvents = 64;

interface OpenSpan extends Pick<Span, 'name' | 'kind' | 'startMs' | 'attributes' | 'events'> {
  place: SpanPlace;
}

interface OpenRun extends OpenSpan {
  labels: RunLabels;
  isExported: boolean;
  links: Span['links'];
  usage: RunUsage;
  call: OpenSpan | null;
  tools: Map<string, OpenSpan & { rejected: FactData['tool.asked']['rejected'] }>;
  /** The provider's ids of the calls of the last answer, by index. */
  callIds: string[];
  /** With content: what the next model call gets that the last one did not. */
  input: Message[];
}

export function createTreeSpans({ content, sampling }: TreeSpansOptions): TreeSpans {
  const runs = new Map<string, OpenRun>();
  let hasEnded = false;

  function openRun({ runId, at, data }: FactOf<'run.created'>): void {
    const { rootId, parentId, parentCall, agent, kind, brief, depth, dialect, model, trace } = data;
    const parent = runs.get(parentId ?? '') ?? null;
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
    const workflow = kind === 'client' && brief.label !== undefined ? { 'gen_ai.workflow.name': brief.label } : {};
    const texts: Attributes = content
      ? {
          ...(brief.label === undefined ? {} : { 'retinue.run.label': brief.label }),
          ...(kind === 'client' ? {} : { 'gen_ai.input.messages': messagesToAttribute([userMessage(brief.task)]) }),
        }
      : {};
    const operation = kind === 'client' ? 'invoke_workflow' : 'invoke_agent';
    runs.set(runId, {
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
      callIds: [],
      input: [],
    });
  }

  function endSpan(
    run: OpenRun,
    open: OpenSpan,
    at: string,
    end: { attributes?: Attributes; error?: string | null; message?: string },
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
      error: error === null ? null : { message: content && message ? shorten(message) : undefined },
      events: open.events,
      links: open === run ? run.links : [],
    };
    return [span];
  }

  function openChild(run: OpenRun, spanId: string, at: string, span: Pick<Span, 'name' | 'kind' | 'attributes'>): OpenSpan {
    const place = { ...run.place, spanId, parentId: run.place.spanId, isParentRemote: false };
    return { ...span, attributes: { ...span.attributes, ...commonAttributes(run.labels) }, place, startMs: isoToMs(at), events: [] };
  }

  function openCall(run: OpenRun, { runId, seq, at, data }: FactOf<'model.asked'>): Span[] {
    const lost = loseCall(run, at);
    const input: Attributes = content && run.input.length > 0 ? { 'gen_ai.input.messages': messagesToAttribute(run.input) } : {};
    run.input = [];
    const attributes = callAttributes(data);
    const name = `chat ${attributes['gen_ai.request.model']}`;
    run.call = openChild(run, spanIdOfModelCall(runId, seq), at, { name, kind: 'client', attributes: { ...attributes, ...input } });
    return lost;
  }

  function loseCall(run: OpenRun, at: string): Span[] {
    const { call } = run;
    run.call = null;
    return call ? endSpan(run, call, at, { error: 'interrupted' }) : [];
  }

  function endCall(run: OpenRun, { at, data, type }: FactOf<'model.answered'> | FactOf<'model.failed'>): Span[] {
    const { call } = run;
    run.call = null;
    const usage = data.usage && { ...data.usage, costUsd: data.costUsd };
    if (usage) addUsage(run.usage, usage);
    const used: Attributes = usage ? { ...usageAttributes(usage), ...(usage.estimated ? { 'retinue.usage.estimated': true } : {}) } : {};
    if (type === 'model.failed') {
      const { error } = data as FactData['model.failed'];
      return call ? endSpan(run, call, at, { attributes: used, error: error.code, message: error.message }) : [];
    }
    const { content: parts, finish } = data as FactData['model.answered'];
    run.callIds = parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
    const reason = finishReason(finish);
    const attributes: Attributes = {
      ...used,
      'gen_ai.response.finish_reasons': [reason],
      ...(content ? { 'gen_ai.output.messages': answerToAttribute(parts, reason) } : {}),
    };
    return call ? endSpan(run, call, at, { attributes }) : [];
  }

  function openTool(run: OpenRun, { runId, at, data }: FactOf<'tool.asked'>): void {
    const { tool, turn, index, rejected } = data;
    const callId = run.callIds[index];
    const attributes: Attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.type': 'function',
      ...(callId === undefined ? {} : { 'gen_ai.tool.call.id': callId }),
      'retinue.turn': turn,
      ...(content ? { 'gen_ai.tool.call.arguments': argumentsToAttribute(data.arguments) } : {}),
    };
    const span = openChild(run, spanIdOfTool(runId, data), at, { name: `execute_tool ${tool}`, kind: 'internal', attributes });
    run.tools.set(`${turn}.${index}`, { ...span, rejected });
  }

  function endTool(run: OpenRun, { at, data }: FactOf<'tool.finished'>): Span[] {
    const key = `${data.turn}.${data.index}`;
    const open = run.tools.get(key);
    run.tools.delete(key);
    if (content) addInput(run, toolMessage(run.callIds[data.index] ?? key, data.output));
    if (!open) return [];
    const attributes: Attributes = {
      'retinue.tool.status': data.status,
      ...(content ? { 'gen_ai.tool.call.result': shorten(data.output) } : {}),
    };
    return endSpan(run, open, at, { attributes, error: toolErrorType(open.rejected, data.status), message: data.output });
  }

  function endRun(run: OpenRun, at: string, outcome: Outcome): Span[] {
    const error = runErrorType(outcome);
    const left = [...(run.call ? [run.call] : []), ...run.tools.values()];
    const cut = left.flatMap((open) => endSpan(run, open, at, { error: error ?? 'cancelled' }));
    const { labels, usage } = run;
    const output = answerToAttribute([{ type: 'text', text: outcome.summary }], outcome.success ? 'stop' : 'error');
    const attributes: Attributes = {
      ...runAttributes(labels, outcome, usage),
      ...(content && labels.kind === 'agent' ? { 'gen_ai.output.messages': output } : {}),
    };
    runs.delete(labels.runId);
    if (labels.runId === labels.rootId) hasEnded = true;
    return [...cut, ...endSpan(run, run, at, { attributes, error, message: outcome.error?.message ?? '' })];
  }

  function applyToRun(run: OpenRun, fact: Fact): Span[] {
    const { at } = fact;
    switch (fact.type) {
      case 'run.started':
        run.labels.model = fact.data.model ?? run.labels.model;
        if (content && fact.data.first !== null) addInput(run, userMessage(fact.data.first));
        return [];
      case 'model.asked':
        return openCall(run, fact);
      case 'model.answered':
      case 'model.failed':
        return endCall(run, fact);
      case 'tool.asked':
        openTool(run, fact);
        return [];
      case 'tool.finished':
        return endTool(run, fact);
      case 'approval.asked':
      case 'approval.answered': {
        const allowed: Attributes = fact.type === 'approval.answered' ? { 'retinue.approval.allowed': fact.data.allowed } : {};
        const tool = run.tools.get(`${fact.data.turn}.${fact.data.index}`);
        if (tool) addEvent(tool, { name: `retinue.${fact.type}`, ms: isoToMs(at), attributes: allowed });
        return [];
      }
      case 'message.received':
      case 'model.nudged':
        if (content) addInput(run, userMessage(fact.data.text));
        return [];
      case 'run.paused':
      case 'cancel.asked':
        addEvent(run, { name: `retinue.${fact.type}`, ms: isoToMs(at), attributes: {} });
        return [];
      case 'run.resumed':
        addEvent(run, { name: `retinue.${fact.type}`, ms: isoToMs(at), attributes: {} });
        return loseCall(run, at);
      case 'run.ended':
        return endRun(run, at, fact.data.outcome);
      default:
        return [];
    }
  }

  return {
    isEnded: () => hasEnded,
    apply(fact) {
      if (fact.type === 'run.created') {
        openRun(fact);
        return [];
      }
      const run = runs.get(fact.runId);
      return run ? applyToRun(run, fact) : [];
    },
  };
}

function addEvent({ events }: { events: SpanEvent[] }, event: SpanEvent): void {
  if (events.length < maxEvents) events.push(event);
}

/** A client asks no model. */
function addInput({ labels, input }: OpenRun, message: Message): void {
  if (labels.kind === 'client') return;
  input.push(message);
  if (input.length > maxMessages) input.shift();
}

function addUsage(sum: RunUsage, { input, output, cached, reasoning, costUsd }: RunUsage): void {
  sum.input += input;
  sum.output += output;
  sum.cached += cached;
  sum.reasoning += reasoning;
  if (costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + costUsd;
}
