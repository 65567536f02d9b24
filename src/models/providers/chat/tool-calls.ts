// Tool calls out of their pieces. Servers differ in how a piece names its call: most by index, some by id, some not at all, and some use
// the same index or id for several calls. What belongs where is decided as the AI SDK's `StreamingToolCallTracker` decides it; a piece
// that could belong to more than one call is dropped.
//
// No call is whole before the stream is: `end` gives them out.
import { randomUUID } from 'node:crypto';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { misshapen, optionalText } from '../shape.ts';

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

/** More calls than this are no answer: each piece is compared with those that share its index or id. */
const maxCalls = 1000;

/** Pieces of a call whose name has not come. */
type Nameless = Pick<CallDelta, 'id' | 'signature'> & { text: string };

export function createCallTracker(take: (part: LanguageModelV4StreamPart) => void, metadataKey: string) {
  const calls: Call[] = [];
  const used = new Set<string>();
  const index = { ids: new Map<string, Call[]>(), places: new Map<number, Call[]>(), all: calls };
  const nameless = new Map<number, Nameless>();
  const named = new Set<number>();

  function hear(delta: CallDelta): void {
    const at = delta.index;
    if (at === null || named.has(at)) {
      place(delta);
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
    place({ ...delta, ...whole });
  }

  function place(given: CallDelta): void {
    const delta = { ...given, id: filled(given.id), name: filled(given.name) };
    const found = callOf(delta, index);
    if (found === 'unclear') return;
    if (found === 'new' && given.name !== null && delta.name === null) return; // a blank name begins nothing
    const call = found === 'new' ? begin(delta) : found;
    if (found !== 'new' && delta.text !== null) {
      call.text += delta.text;
      take({ type: 'tool-input-delta', id: call.id, delta: delta.text });
    }
    if (delta.id !== null) note(index.ids, delta.id, call);
    if (delta.index !== null) note(index.places, delta.index, call);
  }

  function begin({ id, index: at, name, text, signature }: CallDelta): Call {
    if (name === null) throw misshapen('a tool call without a name');
    if (calls.length === maxCalls) throw misshapen(`more than ${maxCalls} tool calls`);
    const own = id !== null && !used.has(id) ? id : randomUUID();
    used.add(own);
    const call: Call = { id: own, index: at, name, text: text ?? '', signature, brackets: { at: 0, stack: '', mode: 'before' } };
    calls.push(call);
    take({ type: 'tool-input-start', id: own, toolName: name });
    if (call.text !== '') take({ type: 'tool-input-delta', id: own, delta: call.text });
    return call;
  }

  return {
    hear,
    end(): void {
      for (const [at, rest] of nameless) place({ index: at, id: rest.id, name: null, text: rest.text, signature: null });
      const inOrder = calls.every((call) => call.index !== null) ? calls.toSorted((a, b) => Number(a.index) - Number(b.index)) : calls;
      for (const { id, name, text, signature } of inOrder) {
        take({ type: 'tool-input-end', id });
        const meta = signature ? { providerMetadata: { [metadataKey]: { thoughtSignature: signature } } } : {};
        take({ type: 'tool-call', toolCallId: id, toolName: name, input: text, ...meta });
      }
    },
  };
}

function filled(value: string | null): string | null {
  return value === null || value.trim() === '' ? null : value;
}

interface Index {
  ids: Map<string, Call[]>;
  places: Map<number, Call[]>;
  all: Call[];
}

function note<K>(map: Map<K, Call[]>, key: K, call: Call): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [call]);
  else if (!known.includes(call)) known.push(call);
}

/** The call that a piece belongs to. Ids and indices that contradict each other make it a new call with a name, and unclear without. */
function callOf({ id, index, name, text }: CallDelta, known: Index): Call | 'new' | 'unclear' {
  const starts = name !== null && /^\s*[{[]/.test(text ?? '');
  const there = (index === null ? undefined : known.places.get(index)) ?? [];
  const here = name === null ? there : there.filter((call) => call.name === name);
  if (id === null) {
    if (there.length > 0) return choose(here, starts);
    return name === null ? choose(known.all, false) : 'new';
  }
  const same = known.ids.get(id);
  if (same === undefined) {
    if (here.length === 0 || starts) return 'new';
    return choose(here, name !== null && (text ?? '').trim() === '');
  }
  if (index === null) return name === null ? choose(same, false) : choose(withName(same, name), starts);
  const both =
    here.length === 0
      ? 'new'
      : choose(
          here.filter((call) => same.includes(call)),
          starts,
        );
  if (both !== 'new') return both;
  if (name !== null) return 'new';
  return there.length > 0 ? 'unclear' : choose(same, false);
}

function withName(calls: Call[], name: string): Call[] {
  return calls.filter((call) => call.name === name);
}

/** The only one, unless a new call seems to start; then the only one whose arguments are not whole yet. */
function choose(calls: Call[], starts: boolean): Call | 'new' | 'unclear' {
  const [only] = calls;
  if (only === undefined) return 'new';
  if (!starts && calls.length === 1) return only;
  const unfinished = calls.filter((call) => !isWhole(call));
  const [first] = unfinished;
  if (first !== undefined && unfinished.length === 1) return first;
  return unfinished.length > 1 || !starts ? 'unclear' : 'new';
}

/** How far the arguments of a call were looked at, and what was open there. */
interface Brackets {
  at: number;
  stack: string;
  mode: 'before' | 'inside' | 'string' | 'escape' | 'whole' | 'other';
}

/** Whether an object or a list has been closed. By its brackets alone: what parses now may still be the beginning of something longer. */
function isWhole({ text, brackets }: Call): boolean {
  for (; brackets.at < text.length && brackets.mode !== 'whole' && brackets.mode !== 'other'; brackets.at++) {
    step(brackets, text[brackets.at] as string);
  }
  return brackets.mode === 'whole';
}

function step(brackets: Brackets, character: string): void {
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
    else if (brackets.stack.length === 1) brackets.mode = 'whole';
    else brackets.stack = brackets.stack.slice(0, -1);
  }
}

export function callDeltasOf(given: unknown): CallDelta[] {
  if (given === null || given === undefined) return [];
  if (!Array.isArray(given)) throw misshapen('tool calls');
  return given.map(callDelta);
}

interface WireCall {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown };
  extra_content?: { google?: { thought_signature?: unknown } | null } | null;
}

function callDelta(given: WireCall | null): CallDelta {
  const called = given?.function;
  if (!given || typeof called !== 'object' || called === null) throw misshapen('a tool call');
  const { index = null } = given;
  if (index !== null && typeof index !== 'number') throw misshapen('the index of a tool call');
  return {
    index,
    id: optionalText(given.id),
    name: optionalText(called.name),
    text: optionalText(called.arguments),
    signature: optionalText(given.extra_content?.google?.thought_signature),
  };
}
