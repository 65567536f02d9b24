// The attributes of each kind of span: those of the GenAI conventions where there is one, `retinue.*` for the rest. docs/traces.md lists them.
import type { FactData } from '../contract/fact.ts';
import type { RecordedOutcome } from '../contract/outcome.ts';
import type { Attributes } from './span.ts';

/** What of a run its spans show. */
export interface RunLabels {
  runId: string;
  rootId: string;
  depth: number;
  kind: 'agent' | 'client' | 'flow';
  agent: string | null;
  dialect: string;
  model: string | null;
}

/** Tokens and cost of the model calls of one run, without its descendants. */
export interface RunUsage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
  costUsd: number | null;
}

/** The names of the conventions for providers that Retinue calls otherwise. */
const providerNames: Record<string, string> = { google: 'gcp.gemini' };

function modelAttributes(model: string): Attributes {
  const slash = model.indexOf('/');
  // Model objects of the AI SDK name the interface too, as in `openai.responses`.
  const provider = (slash < 0 ? model : model.slice(0, slash)).replace(/\..*$/, '');
  return { 'gen_ai.provider.name': providerNames[provider] ?? provider, 'gen_ai.request.model': model.slice(slash + 1) };
}

/** On every span, so that each can be found by run. */
export function commonAttributes({ runId, rootId, agent }: RunLabels): Attributes {
  return {
    ...(agent === null ? {} : { 'gen_ai.agent.name': agent }),
    'gen_ai.conversation.id': runId,
    'retinue.run.id': runId,
    'retinue.root.id': rootId,
  };
}

export function runAttributes(run: RunLabels, outcome: RecordedOutcome, usage: RunUsage): Attributes {
  const { tokens, costUsd, status, turns, terminated } = outcome;
  return {
    'gen_ai.operation.name': run.kind !== 'agent' ? 'invoke_workflow' : 'invoke_agent',
    ...commonAttributes(run),
    ...(run.model === null ? {} : modelAttributes(run.model)),
    ...(run.kind !== 'agent' ? {} : usageAttributes(usage)),
    'retinue.run.depth': run.depth,
    'retinue.run.status': status,
    'retinue.run.turns': turns,
    ...(terminated === null ? {} : { 'retinue.run.terminated': terminated }),
    'retinue.dialect': run.dialect,
    'retinue.tree.input_tokens': tokens.input,
    'retinue.tree.output_tokens': tokens.output,
    ...(costUsd === null ? {} : { 'retinue.tree.cost_usd': costUsd }),
  };
}

export function callAttributes(asked: FactData['model.asked']): Attributes {
  const { model, maxOutputTokens, turn, attempt, purpose } = asked;
  return {
    'gen_ai.operation.name': 'chat',
    ...modelAttributes(model),
    ...(maxOutputTokens === null ? {} : { 'gen_ai.request.max_tokens': maxOutputTokens }),
    'retinue.turn': turn,
    'retinue.attempt': attempt,
    'retinue.purpose': purpose,
  };
}

/** `cached` is a part of the input tokens and `reasoning` one of the output tokens, as in the conventions. */
export function usageAttributes({ input, output, cached, reasoning, costUsd }: RunUsage): Attributes {
  return {
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    ...(cached > 0 ? { 'gen_ai.usage.cache_read.input_tokens': cached } : {}),
    ...(reasoning > 0 ? { 'gen_ai.usage.reasoning.output_tokens': reasoning } : {}),
    ...(costUsd === null ? {} : { 'retinue.cost_usd': costUsd }),
  };
}

export function finishReason(finish: FactData['model.answered']['finish']): string {
  return finish.replace('-', '_');
}

const rejections: Record<NonNullable<FactData['tool.asked']['rejected']>, string> = {
  unknown: 'unknown_tool',
  malformed: 'malformed_arguments',
  duplicate: 'duplicate_call',
  denied: 'denied',
  repeated: 'repeated_call',
  submit: 'invalid_result',
};
const failures: Record<Exclude<FactData['tool.finished']['status'], 'ok'>, string> = {
  error: 'tool_error',
  denied: 'denied',
  timeout: 'timeout',
  cancelled: 'cancelled',
  unknown: 'effect_unknown',
};

/** `error.type` of a tool call; null if it worked. */
export function toolErrorType(rejected: FactData['tool.asked']['rejected'], status: FactData['tool.finished']['status']): string | null {
  if (status === 'ok') return null;
  return rejected === null ? failures[status] : rejections[rejected];
}

/** `error.type` of a run; null if it succeeded. */
export function runErrorType({ success, error, terminated, status }: RecordedOutcome): string | null {
  return success ? null : (error?.code ?? terminated ?? status);
}
