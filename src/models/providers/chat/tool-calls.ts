// Assembles tool calls from their streamed pieces. Servers differ in how a piece identifies its call: most use an index, some an id, some neither,
// and some use one index or id for several calls. Pieces are assigned as the AI SDK's `StreamingToolCallTracker` does it; a piece that could
// belong to several calls is dropped. Unlike there, a call keeps an id that another one has: the kernel makes only one of them.
//
// No call is complete before the stream ends: `end` sends them.
import { randomUUID } from 'node:crypto';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createFormatError, requireOptionalText } from '../event-fields.ts';

export interface CallDelta {
  index: number | null;
  id: string | null;
  name: string | null;
  text: string | null;
  signature: string | null;
}

interface Call {
  id: string;
  index: number | null;
  name: string;
  text: string;
  signature: string | null;
  brackets: Brackets;
}

/** No run may make more calls at once. Further ones are only counted, because each piece is compared with the calls that share its index or id. */
const maxCalls = 1000;

/** The pieces of a call whose name has not arrived yet. */
type Nameless = Pick<CallDelta, 'id' | 'signature'> & { text: string };

export type CallTracker = ReturnType<typeof createCallTracker>;

export function createCallTracker(take: (part: LanguageModelV4StreamPart) => void, metadataKey: string) {
  const calls: Call[] = [];
  /** Indexes, or ids of calls without one, of calls that are only counted. */
  const dropped = new Set<number | string>();
  let droppedCount = 0;
  const index = { byId: new Map<string, Call[]>(), byIndex: new Map<number, Call[]>(), all: calls };
  const nameless = new Map<number, Nameless>();
  const named = new Set<number>();

  function add(delta: CallDelta): void {
    const at = delta.index;
    if (at === null || named.has(at)) {
      assign(delta);
      return;
    }
    const before = nameless.get(at);
    const whole = {
      id: before?.id ?? delta.id,
      signature: before?.signature ?? delta.signature,
      text: (before?.text ?? '') + (delta.text ?? ''),
    };
    if (delta.name === null) {
      nameless.set(at, whole);
      return;
    }
    nameless.delete(at);
    named.add(at);
    assign({ ...delta, ...whole });
  }

  function assign(given: CallDelta): void {
    const delta = { ...given, id: nonBlank(given.id), name: nonBlank(given.name) };
    const found = findCall(delta, index);
    if (found === 'ambiguous') return;
    if (found === 'new' && given.name !== null && delta.name === null) return; // a blank name begins no call
    if (found === 'new' && calls.length === maxCalls) {
      drop(delta);
      return;
    }
    const call = found === 'new' ? begin(delta) : found;
    if (found !== 'new' && delta.text !== null) {
      call.text += delta.text;
      take({ type: 'tool-input-delta', id: call.id, delta: delta.text });
    }
    if (delta.id !== null) addCall(index.byId, delta.id, call);
    if (delta.index !== null) addCall(index.byIndex, delta.index, call);
  }

  function drop({ id, index: at, name }: CallDelta): void {
    // Pieces that name no call belong to this one from now on.
    index.all = [];
    const key = at ?? id;
    if (name === null || (key !== null && dropped.has(key))) return;
    if (key !== null) dropped.add(key);
    droppedCount++;
  }

  function begin({ id, index: at, name, text, signature }: CallDelta): Call {
    if (name === null) throw createFormatError('a tool call without a name');
    const own = id ?? randomUUID();
    const call: Call = { id: own, index: at, name, text: text ?? '', signature, brackets: { at: 0, stack: '', mode: 'before' } };
    calls.push(call);
    take({ type: 'tool-input-start', id: own, toolName: name });
    if (call.text !== '') take({ type: 'tool-input-delta', id: own, delta: call.text });
    return call;
  }

  return {
    add,
    end(): void {
      for (const [at, rest] of nameless) assign({ index: at, id: rest.id, name: null, text: rest.text, signature: null });
      const inOrder = calls.every((call) => call.index !== null) ? calls.toSorted((a, b) => Number(a.index) - Number(b.index)) : calls;
      for (const { id, name, text, signature } of inOrder) {
        take({ type: 'tool-input-end', id });
        const meta = signature ? { providerMetadata: { [metadataKey]: { thoughtSignature: signature } } } : {};
        take({ type: 'tool-call', toolCallId: id, toolName: name, input: text, ...meta });
      }
      // For code that counts the calls.
      for (let n = 0; n < droppedCount; n++) take({ type: 'tool-call', toolCallId: `dropped-${n}`, toolName: 'dropped', input: '' });
    },
  };
}

function nonBlank(value: string | null): string | null {
  return value === null || value.trim() === '' ? null : value;
}

interface CallIndex {
  byId: Map<string, Call[]>;
  byIndex: Map<number, Call[]>;
  all: Call[];
}

function addCall<K>(map: Map<K, Call[]>, key: K, call: Call): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [call]);
  else if (!known.includes(call)) known.push(call);
}

/** The call that a piece belongs to. If id and index contradict each other, a piece with a name is a new call, and one without is ambiguous. */
function findCall({ id, index, name, text }: CallDelta, known: CallIndex): Call | 'new' | 'ambiguous' {
  const isStart = name !== null && /^\s*[{[]/.test(text ?? '');
  const there = (index === null ? undefined : known.byIndex.get(index)) ?? [];
  const here = name === null ? there : there.filter((call) => call.name === name);
  if (id === null) {
    if (there.length > 0) return chooseCall(here, isStart);
    return name === null ? chooseCall(known.all, false) : 'new';
  }
  const same = known.byId.get(id);
  if (same === undefined) {
    if (here.length === 0 || isStart) return 'new';
    return chooseCall(here, name !== null && (text ?? '').trim() === '');
  }
  if (index === null) return name === null ? chooseCall(same, false) : chooseCall(filterByName(same, name), isStart);
  const both =
    here.length === 0
      ? 'new'
      : chooseCall(
          here.filter((call) => same.includes(call)),
          isStart,
        );
  if (both !== 'new') return both;
  if (name !== null) return 'new';
  return there.length > 0 ? 'ambiguous' : chooseCall(same, false);
}

function filterByName(calls: Call[], name: string): Call[] {
  return calls.filter((call) => call.name === name);
}

/** The only call; if a new call seems to start, the only one whose arguments are incomplete. */
function chooseCall(calls: Call[], isStart: boolean): Call | 'new' | 'ambiguous' {
  const [only] = calls;
  if (only === undefined) return 'new';
  if (!isStart && calls.length === 1) return only;
  const unfinished = calls.filter((call) => !isComplete(call));
  const [first] = unfinished;
  if (first !== undefined && unfinished.length === 1) return first;
  return unfinished.length > 1 || !isStart ? 'ambiguous' : 'new';
}

/** How far the arguments of a call were scanned, and which brackets are open there. */
interface Brackets {
  at: number;
  stack: string;
  mode: 'before' | 'inside' | 'string' | 'escape' | 'closed' | 'other';
}

/** Whether the arguments are a closed object or list, judged by brackets only: text that parses may still be the beginning of something longer. */
function isComplete({ text, brackets }: Call): boolean {
  for (; brackets.at < text.length && brackets.mode !== 'closed' && brackets.mode !== 'other'; brackets.at++) {
    advanceBrackets(brackets, text[brackets.at] as string);
  }
  return brackets.mode === 'closed';
}

function advanceBrackets(brackets: Brackets, character: string): void {
  if (brackets.mode === 'escape') brackets.mode = 'string';
  else if (brackets.mode === 'string') {
    if (character === '"') brackets.mode = 'inside';
    else if (character === '\\') brackets.mode = 'escape';
  } else if (character === '{' || character === '[') {
    brackets.mode = 'inside';
    brackets.stack += character;
  } else if (brackets.mode === 'before') {
    if (character.trim() !== '') brackets.mode = 'other';
  } else if (character === '"') brackets.mode = 'string';
  else if (character === '}' || character === ']') {
    if (brackets.stack.at(-1) !== (character === '}' ? '{' : '[')) brackets.mode = 'other';
    else if (brackets.stack.length === 1) brackets.mode = 'closed';
    else brackets.stack = brackets.stack.slice(0, -1);
  }
}

export function parseCallDeltas(given: unknown): CallDelta[] {
  if (!Array.isArray(given)) throw createFormatError('tool calls');
  return given.map(parseCallDelta);
}

interface WireCall {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown };
  extra_content?: { google?: { thought_signature?: unknown } | null } | null;
}

function parseCallDelta(given: WireCall | null): CallDelta {
  const called = given?.function;
  if (!given || typeof called !== 'object' || called === null) throw createFormatError('a tool call');
  const { index = null } = given;
  if (index !== null && typeof index !== 'number') throw createFormatError('the index of a tool call');
  return {
    index,
    id: requireOptionalText(given.id),
    name: requireOptionalText(called.name),
    text: requireOptionalText(called.arguments),
    signature: requireOptionalText(given.extra_content?.google?.thought_signature),
  };
}
