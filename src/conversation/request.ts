// The conversation of a run: entries made from facts, and the request that a model gets made from the entries. Pure.
//
// The list of entries only grows, so that a provider's cache of the beginning keeps working; the one exception is a pruned tool result,
// which is a fact of its own.
import type { JSONSchema7, LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import type { ContentPart } from '../contract/content.ts';
import type { FactData, LimitCause, Purpose } from '../contract/fact.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { childEndedText, messageText, wrapUpText } from './texts.ts';

export interface CallState {
  turn: number;
  index: number;
  callId: string;
  tool: string;
  arguments: Json;
  /** The provider's own about the call: goes back with the call and with its result. */
  meta: JsonObject | undefined;
  rejected: FactData['tool.asked']['rejected'];
  idempotent: boolean;
  waits: boolean;
  /** The word that the call waits for or waited for; null where no rule asked for one. */
  approval: { hash: string; expiresAt: string; subjects: string[]; answer: FactData['approval.answered'] | null } | null;
  finished: FactData['tool.finished'] | null;
  pruned: boolean;
}

export type Entry =
  | { kind: 'user'; text: string }
  | { kind: 'assistant'; content: ContentPart[] }
  | { kind: 'results'; calls: CallState[] };

export type InboxItem = { kind: 'message'; from: string; text: string } | { kind: 'child'; childId: string; outcome: Outcome };

/** What waits for the next model call. */
export interface Pending {
  calls: CallState[];
  dropped: number;
  inbox: InboxItem[];
  nudge: string | null;
  /** The tool that reads on where a child's text was cut. */
  reader: string | null;
  /** What the brief wants said at a limit, in the place of our own words. */
  lastPrompt: string | null;
}

/** What the next model call adds to the conversation after the last answer. */
export function entriesForNextCall(pending: Pending, purpose: Purpose, cause: LimitCause | null): Entry[] {
  const entries: Entry[] = [];
  if (pending.calls.length > 0) entries.push({ kind: 'results', calls: pending.calls });
  const said: string[] = [];
  if (pending.dropped > 0) said.push(droppedText(pending.dropped));
  for (const item of pending.inbox)
    said.push(item.kind === 'child' ? childEndedText(item.outcome, pending.reader) : messageText(item.from, item.text));
  if (pending.nudge !== null) said.push(pending.nudge);
  if (purpose === 'wrap-up' && cause) said.push(pending.lastPrompt ?? wrapUpText(cause));
  if (said.length > 0) entries.push({ kind: 'user', text: said.join('\n\n') });
  return entries;
}

function droppedText(dropped: number): string {
  return `${dropped} more tool calls of your last answer were dropped, because it had too many. Ask again for what you still need.`;
}

/** The tool with which a model hands in a structured result. */
export const submitTool = 'submit_result';

/** A tool as it is pinned at the run's start and sent with each request. */
export interface ToolDefinition {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

/** What stays the same over all requests of a run: texts that `run.started` pins by hash. */
export interface Pinned {
  system: string;
  systemHash: string;
  tools: ToolDefinition[];
  toolsHash: string;
  history: LanguageModelV4Message[];
  historyHash: string | null;
}

export interface Request {
  options: LanguageModelV4CallOptions;
  hash: string;
  /** Bytes of text in it; a third of that stands for the tokens where nothing better is known. */
  bytes: number;
}

interface Rendered {
  message: LanguageModelV4Message;
  hash: string;
  bytes: number;
  pruned: number;
}

const rendered = new WeakMap<Entry, Rendered>();

/**
 * The request of the entries. Its hash is over the canonical call options, with the system prompt, the tools, the history and each
 * message standing as their own hashes, so that a long conversation is not hashed again at every turn.
 */
export function buildRequest(pinned: Pinned, entries: Entry[], call: { purpose: Purpose; maxOutputTokens: number | null }): Request {
  const parts = entries.map(render);
  const choice = call.purpose === 'turn' ? 'auto' : 'none';
  const { maxOutputTokens } = call;
  const hash = sha256(
    canonical({
      history: pinned.historyHash,
      maxOutputTokens,
      messages: parts.map((part) => part.hash),
      system: pinned.systemHash,
      toolChoice: choice,
      tools: pinned.toolsHash,
    }),
  );
  const options: LanguageModelV4CallOptions = {
    prompt: [{ role: 'system', content: pinned.system }, ...pinned.history, ...parts.map((part) => part.message)],
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
    ...(pinned.tools.length === 0 ? {} : { tools: functionTools(pinned.tools), toolChoice: { type: choice } }),
  };
  const fixed = pinned.system.length + pinned.tools.length * 200 + pinned.history.length * 200;
  return { options, hash, bytes: parts.reduce((sum, part) => sum + part.bytes, fixed) };
}

const converted = new WeakMap<ToolDefinition[], LanguageModelV4FunctionTool[]>();

function functionTools(tools: ToolDefinition[]): LanguageModelV4FunctionTool[] {
  const known = converted.get(tools) ?? tools.map(functionTool);
  converted.set(tools, known);
  return known;
}

function functionTool(tool: ToolDefinition): LanguageModelV4FunctionTool {
  return { type: 'function', name: tool.name, description: tool.description, inputSchema: tool.inputSchema as JSONSchema7 };
}

function render(entry: Entry): Rendered {
  const pruned = entry.kind === 'results' ? entry.calls.filter((call) => call.pruned).length : 0;
  const known = rendered.get(entry);
  if (known && known.pruned === pruned) return known;
  const message = toMessage(entry);
  const text = canonical(message);
  const made = { message, hash: sha256(text), bytes: Buffer.byteLength(text), pruned };
  rendered.set(entry, made);
  return made;
}

/** Messages as another run goes on with them. */
export function entriesToMessages(entries: Entry[]): LanguageModelV4Message[] {
  return entries.map(toMessage);
}

/** With sorted keys, because messages are hashed as canonical JSON. */
function toMessage(entry: Entry): LanguageModelV4Message {
  if (entry.kind === 'user') return { content: [{ text: entry.text, type: 'text' }], role: 'user' };
  if (entry.kind === 'assistant') return { content: entry.content.map(toPart), role: 'assistant' };
  return { content: entry.calls.map(toResult), role: 'tool' };
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];
type ResultPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number];

function optionsOf(meta: JsonObject | undefined) {
  return meta === undefined ? {} : { providerOptions: meta as Record<string, JsonObject> };
}

function toPart(part: ContentPart): AssistantPart {
  const options = optionsOf(part.meta);
  if (part.type === 'tool-call') {
    return { input: parseObject(part.input), ...options, toolCallId: part.callId, toolName: part.tool, type: 'tool-call' };
  }
  return { ...options, text: part.text, type: part.type };
}

/** Providers take back only objects as arguments; what does not parse goes back empty, and its result says what was wrong. */
function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

const prunedText = '[the result of this call was removed to make room; call the tool again if you need it]';

function toResult(call: CallState): ResultPart {
  const value = call.pruned ? prunedText : (call.finished?.output ?? '');
  const failed = call.finished !== null && call.finished.status !== 'ok';
  const output = { type: failed ? ('error-text' as const) : ('text' as const), value };
  return { output, ...optionsOf(call.meta), toolCallId: call.callId, toolName: call.tool, type: 'tool-result' };
}
