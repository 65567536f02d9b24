// The conversation of a run as a list of entries, and the model requests built from it. Pure.
//
// The list only grows, so providers can cache its beginning. The exceptions are pruned tool results and compaction, and both are facts.
import type { JSONSchema7, LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import type { ContentPart } from '../contract/content.ts';
import type { Effort } from '../contract/effort.ts';
import type { FactData, LimitCause, Purpose } from '../contract/fact.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import { isJsonDeeperThan } from '../text/json-depth.ts';
import { TextMemo } from '../text/text-memo.ts';
import type { LoopVersion } from './loop-texts.ts';

/** A tool call and what became of it. */
export interface CallState {
  turn: number;
  index: number;
  callId: string;
  tool: string;
  arguments: Json;
  /** HMAC of the call as the model made it, if `arguments` were redacted. */
  original: string | null;
  /** Provider metadata: returned with the call and with its result. */
  meta: JsonObject | undefined;
  rejected: FactData['tool.asked']['rejected'];
  idempotent: boolean;
  waits: boolean;
  /** The approval that the call needs or needed; null if no rule asks for one. */
  approval: { hash: string; expiresAt: string; subjects: string[]; answer: FactData['approval.answered'] | null } | null;
  finished: FactData['tool.finished'] | null;
  pruned: boolean;
}

export type ConversationEntry = (
  | { kind: 'user'; text: string }
  | { kind: 'assistant'; content: ContentPart[] }
  | { kind: 'results'; calls: CallState[] }
) & {
  /** Its message, once it was part of a request. Kept here because the garbage collector takes long over weak maps. */
  rendered?: Rendered;
};

export type InboxItem = { kind: 'message'; from: string; text: string } | { kind: 'child'; childId: string; outcome: Outcome };

/** What the next model call adds to the conversation. */
export interface PendingInput {
  calls: CallState[];
  dropped: number;
  inbox: InboxItem[];
  nudge: string | null;
  /** The tool that reads the rest of a child's cut text. */
  reader: string | null;
  /** The brief's own prompt for the last answer; replaces the built-in wrap-up text. */
  lastPrompt: string | null;
}

/** The entries that the next model call appends after the last answer. */
export function entriesForNextCall(
  pending: PendingInput,
  { purpose, cause }: { purpose: Purpose; cause: LimitCause | null },
  texts: LoopVersion,
): ConversationEntry[] {
  const entries: ConversationEntry[] = [];
  if (pending.calls.length > 0) entries.push({ kind: 'results', calls: pending.calls });
  const notices: string[] = [];
  if (pending.dropped > 0) notices.push(texts.callsDropped(pending.dropped));
  for (const item of pending.inbox)
    notices.push(item.kind === 'child' ? texts.childEnded(item.outcome, pending.reader) : texts.message(item.from, item.text));
  if (pending.nudge !== null) notices.push(pending.nudge);
  if (purpose === 'wrap-up' && cause) notices.push(pending.lastPrompt ?? texts.wrapUp(cause));
  if (notices.length > 0) entries.push({ kind: 'user', text: notices.join('\n\n') });
  return entries;
}

/** The entries that ask for a summary: the results of the last answer's calls, then the question. */
export function entriesForCompaction(calls: CallState[], prompt: string): ConversationEntry[] {
  const results: ConversationEntry[] = calls.length > 0 ? [{ kind: 'results', calls }] : [];
  return [...results, { kind: 'user', text: prompt }];
}

/** Total size of the messages in bytes. */
export function entriesBytes(entries: ConversationEntry[], texts: LoopVersion): number {
  return entries.reduce((sum, entry) => sum + render(entry, texts).bytes, 0);
}

/** A tool definition as pinned at the start of the run and sent with each request. */
export interface ToolDefinition {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

/** The parts that all requests of a run share. `run.started` pins them by hash. */
export interface PinnedParts {
  system: string;
  systemHash: string;
  tools: ToolDefinition[];
  toolsHash: string;
  history: LanguageModelV4Message[];
  historyHash: string | null;
}

export interface ModelRequest {
  options: LanguageModelV4CallOptions;
  hash: string;
  /** Size of the text in bytes. A third of it estimates the tokens. */
  bytes: number;
}

interface Rendered {
  message: LanguageModelV4Message;
  hash: string;
  bytes: number;
  pruned: number;
}

/** `texts`: of the run's loop version. */
export interface ModelRequestOptions {
  purpose: Purpose;
  maxOutputTokens: number | null;
  /** How much the model should think; null to leave it to the provider. Only the hash covers it, because the settings depend on the provider. */
  effort: Effort | null;
  texts: LoopVersion;
}

/**
 * Builds the request. Its hash covers the canonical call options; system prompt, tools, history and messages enter it as hashes of their own, so
 * that a long conversation is not hashed again at every turn.
 */
export function buildRequest(pinned: PinnedParts, entries: ConversationEntry[], call: ModelRequestOptions): ModelRequest {
  const parts = entries.map((entry) => render(entry, call.texts));
  // Another choice than that of a turn would make a provider's cache of the conversation useless for the compaction.
  const choice = call.purpose === 'turn' || call.purpose === 'compact' ? 'auto' : 'none';
  const { maxOutputTokens, effort } = call;
  const hash = sha256(
    canonical({
      ...(effort !== null && { effort }),
      history: pinned.historyHash,
      maxOutputTokens,
      messages: parts.map((part) => part.hash),
      system: pinned.systemHash,
      toolChoice: choice,
      tools: pinned.toolsHash,
    }),
  );
  const options: LanguageModelV4CallOptions = {
    prompt: [systemMessage(pinned.system), ...pinned.history, ...parts.map((part) => part.message)],
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
    ...(pinned.tools.length === 0 ? {} : { tools: functionTools(pinned.tools), toolChoice: { type: choice } }),
  };
  const fixed = pinned.system.length + pinned.tools.length * 200 + pinned.history.length * 200;
  return { options, hash, bytes: parts.reduce((sum, part) => sum + part.bytes, fixed) };
}

const systemMessages = new TextMemo((content): LanguageModelV4Message => ({ role: 'system', content }));

/** The same object for all requests with the same text, because encoders remember messages by their identity. */
function systemMessage(text: string): LanguageModelV4Message {
  return systemMessages.get(text);
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

function render(entry: ConversationEntry, texts: LoopVersion): Rendered {
  const pruned = entry.kind === 'results' ? entry.calls.filter((call) => call.pruned).length : 0;
  if (entry.rendered?.pruned === pruned) return entry.rendered;
  const message = entryToMessage(entry, texts);
  const text = canonical(message);
  entry.rendered = { message, hash: sha256(text), bytes: Buffer.byteLength(text), pruned };
  return entry.rendered;
}

/** Messages for a run that continues this conversation. */
export function entriesToMessages(entries: ConversationEntry[], texts: LoopVersion): LanguageModelV4Message[] {
  return entries.map((entry) => entryToMessage(entry, texts));
}

/** Keys are sorted because messages are hashed as canonical JSON. */
function entryToMessage(entry: ConversationEntry, texts: LoopVersion): LanguageModelV4Message {
  if (entry.kind === 'user') return { content: [{ text: entry.text, type: 'text' }], role: 'user' };
  if (entry.kind === 'assistant') return { content: entry.content.map((part) => contentToPart(part, texts)), role: 'assistant' };
  return { content: entry.calls.map((call) => callToResult(call, texts)), role: 'tool' };
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];
type ResultPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number];

function metaToOptions(meta: JsonObject | undefined) {
  return meta === undefined ? {} : { providerOptions: meta as Record<string, JsonObject> };
}

function contentToPart(part: ContentPart, { argumentDepth = Number.POSITIVE_INFINITY }: LoopVersion): AssistantPart {
  const options = metaToOptions(part.meta);
  if (part.type === 'tool-call') {
    return { input: parseObject(part.input, argumentDepth), ...options, toolCallId: part.callId, toolName: part.tool, type: 'tool-call' };
  }
  return { ...options, text: part.text, type: part.type };
}

/** Providers accept only objects as arguments. Arguments that were refused become `{}`; the call's result says what was wrong. */
function parseObject(text: string, maxDepth: number): JsonObject {
  if (isJsonDeeperThan(text, maxDepth)) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

function callToResult(call: CallState, texts: LoopVersion): ResultPart {
  const value = call.pruned ? texts.resultPruned : (call.finished?.output ?? '');
  const failed = call.finished !== null && call.finished.status !== 'ok';
  const output = { type: failed ? ('error-text' as const) : ('text' as const), value };
  return { output, ...metaToOptions(call.meta), toolCallId: call.callId, toolName: call.tool, type: 'tool-result' };
}
