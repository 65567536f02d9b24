// Helpers for tool calls: finding them in an answer, comparing them, counting repetitions. Pure.
import type { ContentPart } from '../contract/content.ts';
import type { Json } from '../contract/json.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import type { CallState } from './request.ts';

/** A call that was approved with `always`: covers the same call and, for tools with `bySubject`, every call with the same subjects. */
export interface AlwaysAllowed {
  tool: string;
  hash: string;
  subjects: string[];
  by: string;
}

/** Identifies a tool call of a run by turn and index in the answer, because providers reuse their own ids. */
export interface CallRef {
  turn: number;
  index: number;
}

export function contentToText(content: ContentPart[]): string {
  return content
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('')
    .trim();
}

export function toolCallParts(content: ContentPart[]): Extract<ContentPart, { type: 'tool-call' }>[] {
  return content.filter((part) => part.type === 'tool-call');
}

export function isAwaitingApproval(call: CallState): boolean {
  return call.approval !== null && call.approval.answer === null;
}

/** Enough calls to notice the longest cycle before it ends the run. */
export const maxRecent = 40;
const maxPeriod = 4;

/** Equal for equal calls; used only to count repetitions. */
export function callKey(tool: string, args: Json): string {
  if (lastKey.args !== args || lastKey.tool !== tool) lastKey = { tool, args, key: computeKey(tool, args) };
  return lastKey.key;
}

/** Of the call that was asked for last: a call is judged and then recorded. Arguments never change. */
let lastKey: { tool: string; args: Json; key: string } = { tool: '', args: null, key: ' null' };

/** Short calls are their own keys. */
function computeKey(tool: string, args: Json): string {
  const text = `${tool} ${canonical(args)}`;
  return text.length <= maxPlainKey ? text : sha256(text);
}

const maxPlainKey = 63;

/** Identifies what an approver was shown and what will be executed. */
export function hashCall(tool: string, args: Json): string {
  return sha256(canonical({ arguments: args, tool }));
}

/** The same for a recorded call. Arguments that were redacted are identified by the HMAC of the original. */
export function callPin({ tool, arguments: args, original }: CallState): string {
  return original ?? hashCall(tool, args);
}

/** How often the latest calls repeat: the same call, or a cycle of up to four calls. */
export function countRepeats(keys: string[]): number {
  let most = 0;
  for (let period = 1; period <= maxPeriod; period++) {
    let same = 0;
    while (same + period < keys.length && keys[keys.length - 1 - same] === keys[keys.length - 1 - same - period]) same++;
    most = Math.max(most, Math.floor(same / period) + 1);
  }
  return keys.length === 0 ? 0 : most;
}
