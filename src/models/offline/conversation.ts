// The conversation as the surveyor sees it: its task, the tools it may call, and the results of the calls that it has made.
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import type { JsonObject } from '../../contract/json.ts';
import { messageText, outputText } from '../prompt-text.ts';

export interface Call {
  tool: string;
  input: JsonObject;
}

export interface Result {
  ok: boolean;
  text: string;
}

export interface SurveyConversation {
  /** The surveyor's own name; its children get it too. */
  model: string;
  /** The first user message. */
  task: string;
  /** The user message after a finished report; null if there is none. */
  followUp: string | null;
  /** In how many turns the surveyor has called tools. */
  turns: number;
  offers(tool: string): boolean;
  /** The latest result of a call; null if it has not been made. */
  result(call: Call): Result | null;
  /** How often the call has been made. */
  attempts(call: Call): number;
}

/** Marks the surveyor's own calls, because a conversation that it continues may contain those of another model. */
const idPrefix = 'survey_';

export function createCallId(turn: number, index: number): string {
  return `${idPrefix}${turn + 1}_${index + 1}`;
}

export function readConversation(options: LanguageModelV4CallOptions, model: string): SurveyConversation {
  const { prompt } = options;
  const offered = new Set(options.toolChoice?.type === 'none' ? [] : (options.tools ?? []).map((tool) => tool.name));
  const outputs = readOutputs(prompt);
  const results = new Map<string, Result[]>();
  let turns = 0;
  for (const message of prompt) {
    if (message.role !== 'assistant') continue;
    const calls = message.content.filter((part) => part.type === 'tool-call');
    if (calls.some((call) => call.toolCallId.startsWith(idPrefix))) turns++;
    for (const { toolName, input, toolCallId } of calls) {
      const key = createCallKey({ tool: toolName, input: input as JsonObject });
      const earlier = results.get(key) ?? [];
      results.set(key, [...earlier, outputs.get(toolCallId) ?? { ok: false, text: 'there was no result' }]);
    }
  }
  const task = prompt.find((message) => message.role === 'user');
  return {
    model,
    task: task === undefined ? '' : messageText(task),
    followUp: findFollowUp(prompt),
    turns,
    offers: (tool) => offered.has(tool),
    result: (call) => results.get(createCallKey(call))?.at(-1) ?? null,
    attempts: (call) => results.get(createCallKey(call))?.length ?? 0,
  };
}

/** Equal for equal calls: the surveyor always writes the keys of an input in the same order. */
export function createCallKey({ tool, input }: Call): string {
  return `${tool} ${JSON.stringify(input)}`;
}

function findFollowUp(prompt: LanguageModelV4Message[]): string | null {
  const last = prompt.at(-1);
  if (last?.role !== 'user') return null;
  const hasReport = prompt.some((message) => message.role === 'assistant' && message.content.every((part) => part.type !== 'tool-call'));
  return hasReport ? messageText(last) : null;
}

function readOutputs(prompt: LanguageModelV4Message[]): Map<string, Result> {
  const outputs = new Map<string, Result>();
  for (const message of prompt) {
    if (message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type !== 'tool-result') continue;
      const { type } = part.output;
      outputs.set(part.toolCallId, { ok: type === 'text' || type === 'json' || type === 'content', text: outputText(part.output) });
    }
  }
  return outputs;
}
