import type { LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import type { JsonObject } from '../../contract/json.ts';

/** A tool call that the surveyor wants made. The same call is made once, and once more if it ran out of time. */
export interface Call {
  tool: string;
  input: JsonObject;
}

export interface Result {
  ok: boolean;
  text: string;
}

/** What the surveyor sees of its conversation: all it knows comes from here. */
export interface Conversation {
  /** The first message of the user. */
  task: string;
  /** What was said to it after it had given its survey; null when it has not, or nothing was. */
  further: string | null;
  /** How often it has called tools. */
  turns: number;
  /** Whether a call of this tool would be let through to the kernel. */
  may(tool: string): boolean;
  /** The last result; null: the call has not been made. */
  result(call: Call): Result | null;
  /** How often the call has been made. */
  tries(call: Call): number;
}

/** Marks its own calls: those of another model, in a conversation that it goes on with, are none of its turns. */
const idPrefix = 'survey';

export function callId(turn: number, index: number): string {
  return `${idPrefix}_${turn + 1}_${index + 1}`;
}

export function readConversation(options: LanguageModelV4CallOptions): Conversation {
  const { prompt } = options;
  const offered = new Set(options.toolChoice?.type === 'none' ? [] : (options.tools ?? []).map((tool) => tool.name));
  const outputs = outputsOf(prompt);
  const results = new Map<string, Result>();
  const tries = new Map<string, number>();
  let turns = 0;
  for (const message of prompt) {
    if (message.role !== 'assistant') continue;
    const calls = message.content.filter((part) => part.type === 'tool-call');
    if (calls.some((call) => call.toolCallId.startsWith(`${idPrefix}_`))) turns++;
    for (const { toolName, input, toolCallId } of calls) {
      const key = keyOf({ tool: toolName, input: input as JsonObject });
      tries.set(key, (tries.get(key) ?? 0) + 1);
      results.set(key, outputs.get(toolCallId) ?? { ok: false, text: 'there was no result' });
    }
  }
  const users = prompt.filter((message) => message.role === 'user');
  return {
    task: users[0] === undefined ? '' : textOf(users[0]),
    further: furtherOf(prompt),
    turns,
    may: (tool) => offered.has(tool),
    result: (call) => results.get(keyOf(call)) ?? null,
    tries: (call) => tries.get(keyOf(call)) ?? 0,
  };
}

/** Its calls are built the same way each time, so that equal calls are equal texts. */
export function keyOf({ tool, input }: Call): string {
  return `${tool} ${JSON.stringify(input)}`;
}

function furtherOf(prompt: LanguageModelV4Message[]): string | null {
  const last = prompt.at(-1);
  if (last?.role !== 'user') return null;
  const answered = prompt.some((message) => message.role === 'assistant' && message.content.every((part) => part.type !== 'tool-call'));
  return answered ? textOf(last) : null;
}

function outputsOf(prompt: LanguageModelV4Message[]): Map<string, Result> {
  const outputs = new Map<string, Result>();
  for (const message of prompt) {
    if (message.role !== 'tool') continue;
    for (const part of message.content) if (part.type === 'tool-result') outputs.set(part.toolCallId, resultOf(part.output));
  }
  return outputs;
}

function resultOf(output: LanguageModelV4ToolResultOutput): Result {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ok: output.type === 'text', text: output.value };
    case 'json':
    case 'error-json':
      return { ok: output.type === 'json', text: JSON.stringify(output.value) };
    case 'execution-denied':
      return { ok: false, text: output.reason ?? 'denied' };
    case 'content':
      return { ok: true, text: output.value.map((part) => (part.type === 'text' ? part.text : '')).join('\n') };
  }
}

function textOf(message: Extract<LanguageModelV4Message, { role: 'user' }>): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
