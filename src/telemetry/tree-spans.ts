// Turns the facts of one tree into spans, in the order of the facts. Pure: the same facts give the same spans, with the same ids.
//
// S1. A span is returned with the fact that ends it. Only open spans are kept in memory.
// S2. A run's span ends with `run.ended`; what is still open in the run then ends with it.
// S3. A model call whose process died ends where the run is continued, as `interrupted`: when it really ended is not known.
// S4. A run with a caller's trace context begins in the caller's trace, and its descendants follow it.
// S5. Without content, names and attributes are from closed lists, numbers or ids of Retinue: a model or client cannot put text of its own into them.
import type { Fact, FactData, FactOf } from '../contract/fact.ts';
import type { RecordedOutcome } from '../contract/outcome.ts';
import { isoToMs } from '../text/instant.ts';
import { callAttributes, finishReason, runAttributes, runErrorType, toolErrorType, usageAttributes } from './attributes.ts';
import { answerToAttribute, argumentsToAttribute, messagesToAttribute, shorten, toolMessage, userMessage } from './content.ts';
import { addEvent, addInput, addUsage, endSpan, type OpenRun, openChild, openRun, type TreeSpansOptions } from './open-spans.ts';
import { type Attributes, type Span, spanIdOfModelCall, spanIdOfTool } from './span.ts';

export type { TreeSpansOptions } from './open-spans.ts';

export interface TreeSpans {
  apply(fact: Fact): Span[];
  /** The root has ended: no more spans follow. */
  isEnded(): boolean;
}

export function createTreeSpans(options: TreeSpansOptions): TreeSpans {
  const { content } = options;
  const runs = new Map<string, OpenRun>();
  let hasEnded = false;
  const withContent = <T>(value: T): T | undefined => (content ? value : undefined);

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
      return call ? endSpan(run, call, at, { attributes: used, error: error.code, message: withContent(error.message) }) : [];
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
    const callId = withContent(run.callIds[index]);
    const name = content || isToolName(run, data) ? tool : null;
    const spanName = name === null ? 'execute_tool' : `execute_tool ${name}`;
    const attributes: Attributes = {
      'gen_ai.operation.name': 'execute_tool',
      ...(name === null ? {} : { 'gen_ai.tool.name': name }),
      'gen_ai.tool.type': 'function',
      ...(callId === undefined ? {} : { 'gen_ai.tool.call.id': callId }),
      'retinue.turn': turn,
      ...(content ? { 'gen_ai.tool.call.arguments': argumentsToAttribute(data.arguments) } : {}),
    };
    const span = openChild(run, spanIdOfTool(runId, data), at, { name: spanName, kind: 'internal', attributes });
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
    return endSpan(run, open, at, { attributes, error: toolErrorType(open.rejected, data.status), message: withContent(data.output) });
  }

  function endRun(run: OpenRun, at: string, outcome: RecordedOutcome): Span[] {
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
    return [...cut, ...endSpan(run, run, at, { attributes, error, message: withContent(outcome.error?.message) })];
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
        runs.set(fact.runId, openRun(fact, runs.get(fact.data.parentId ?? '') ?? null, options));
        return [];
      }
      const run = runs.get(fact.runId);
      return run ? applyToRun(run, fact) : [];
    },
  };
}

/** Whether the name is that of a tool. A model can call anything by any name. */
function isToolName({ labels, offered }: OpenRun, { tool, rejected }: FactData['tool.asked']): boolean {
  return rejected === null || rejected === 'submit' || labels.kind === 'client' || offered.has(tool);
}
