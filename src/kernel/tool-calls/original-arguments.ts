// Tool calls whose arguments hold secrets (invariant 11). Facts and the conversation have the redacted arguments; the originals are executed. They stay
// in the memory of this process, pinned by an HMAC in `tool.asked`. Without them the call is not made.
import type { ContentPart } from '../../contract/content.ts';
import type { Json } from '../../contract/json.ts';
import { maxArgumentDepth } from '../../conversation/arguments.ts';
import type { CallState } from '../../conversation/request.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { Redact } from '../../ports/secrets.ts';
import { canonical, hmacSha256 } from '../../text/canonical.ts';
import { isJsonDeeperThan } from '../../text/json-depth.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';

/** The result of a call whose original arguments are gone. */
export const originalLostText =
  'This call was not made. Its arguments contained a secret, which is not stored, and the process that held it has ended. Make the call again.';

/** Removes secrets from a part of an answer. Signed reasoning would be refused if it were changed, so reasoning with a secret is dropped whole. */
export function redactPart(part: ContentPart, redact: Redact): ContentPart[] {
  if (part.type === 'tool-call') {
    const { callId, tool, input } = part;
    return [{ ...part, callId: redact(callId, false), tool: redact(tool, false), input: redactInput(input, redact) }];
  }
  const text = redact(part.text, false);
  if (text === part.text) return [part];
  return part.type === 'reasoning' ? [] : [{ ...part, text }];
}

/**
 * Arguments are parsed before they are redacted, so that escapes cannot hide a secret and the result is valid JSON. Those that will be refused because
 * they are nested too deeply are redacted as text.
 */
function redactInput(input: string, redact: Redact): string {
  if (isJsonDeeperThan(input, maxArgumentDepth)) return redact(input, false);
  let value: Json;
  try {
    value = JSON.parse(input);
  } catch {
    return redact(input, false);
  }
  const clean = redactJson(value, redact);
  return clean === value ? input : JSON.stringify(clean);
}

/** Removes secrets from every string and key. Returns the same value if there are none. It recurses, so the caller limits the depth of the value. */
export function redactJson<T>(value: T, redact: Redact): T {
  if (typeof value === 'string') return redact(value, false) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, redact));
    return items.every((item, index) => item === value[index]) ? value : (items as T);
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]) => [redact(key, false), redactJson(item, redact)] as const);
  return after.every(([key, item], index) => key === before[index]?.[0] && item === before[index]?.[1])
    ? value
    : (Object.fromEntries(after) as T);
}

/** Keeps the original arguments of a call in memory and returns their HMAC. */
export function keepOriginal(run: Run, { call, args }: { call: CallRef & { tool: string }; args: Json }, services: Services): string {
  run.originals.set(callName(call), args);
  return pinOriginal(call.tool, args, services);
}

export function dropOriginal(run: Run, call: CallState): void {
  if (call.original !== null) run.originals.delete(callName(call));
}

/** The arguments to execute; undefined if they were not stored and are gone. */
export function executableArguments(run: Run, call: CallState, services: Services): Json | undefined {
  if (call.original === null) return call.arguments;
  const args = run.originals.get(callName(call));
  return args !== undefined && pinOriginal(call.tool, args, services) === call.original ? args : undefined;
}

/** HMAC, because a plain hash of arguments with a guessable secret would reveal it. */
export function pinOriginal(tool: string, args: Json, { originalsKey }: Services): string {
  return hmacSha256(originalsKey, canonical({ arguments: args, tool }));
}

function callName({ turn, index }: CallRef): string {
  return `${turn}.${index}`;
}
