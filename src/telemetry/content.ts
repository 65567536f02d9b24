// Prompts, answers, arguments and results as attributes, in the JSON of the GenAI conventions. Only made if content was asked for. Texts come from facts,
// which have no secrets.
import type { ContentPart } from '../contract/content.ts';
import type { Json } from '../contract/json.ts';
import { cutMiddle } from '../text/cut.ts';

/** Longer texts are cut: a trace is for looking at, and the facts have everything. */
const maxBytes = 16_384;
/** Messages and parts of one attribute; older messages are left out. */
export const maxMessages = 64;

type Part = { type: string; [key: string]: Json };
export interface Message {
  role: 'user' | 'assistant' | 'tool';
  parts: Part[];
}

export function userMessage(text: string): Message {
  return { role: 'user', parts: [{ type: 'text', content: shorten(text) }] };
}

export function toolMessage(id: string, result: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_call_response', id, response: shorten(result) }] };
}

export function messagesToAttribute(messages: Message[]): string {
  return JSON.stringify(messages);
}

/** The one message of an answer. */
export function answerToAttribute(content: ContentPart[], finishReason: string): string {
  const parts = content.slice(0, maxMessages).map((part): Part => {
    if (part.type === 'tool-call') return { type: 'tool_call', id: part.callId, name: part.tool, arguments: shorten(part.input) };
    return { type: part.type, content: shorten(part.text) };
  });
  return JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason }]);
}

export function argumentsToAttribute(value: Json): string {
  return shorten(typeof value === 'string' ? value : JSON.stringify(value));
}

export function shorten(text: string): string {
  return cutMiddle(text, maxBytes).text;
}
