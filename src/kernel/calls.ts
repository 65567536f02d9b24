// What is said about tool calls: which of an answer they are, what makes two the same, and who was asked about them.
import type { ContentPart } from '../contract/content.ts';
import type { Json } from '../contract/json.ts';
import type { CallState } from '../conversation/request.ts';
import { canonical, sha256 } from '../text/canonical.ts';

/** An answer for good: to this call, and to others about the same subjects where those say all that matters. */
export interface Always {
  tool: string;
  hash: string;
  subjects: string[];
  by: string;
}

export function textOf(content: ContentPart[]): string {
  return content
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('')
    .trim();
}

export function callParts(content: ContentPart[]): Extract<ContentPart, { type: 'tool-call' }>[] {
  return content.filter((part) => part.type === 'tool-call');
}

export function alwaysFor({ tool, approval }: CallState, by: string): Always {
  return { tool, hash: approval?.hash ?? '', subjects: approval?.subjects ?? [], by };
}

/** It waits for somebody's word. */
export function isUnanswered(call: CallState): boolean {
  return call.approval !== null && call.approval.answer === null;
}

/** As many calls as the longest round, repeated until it ends the run, and some. */
export const maxRecent = 40;
const maxPeriod = 4;

export function callKey(tool: string, args: Json): string {
  return sha256(`${tool} ${canonical(args)}`).slice(0, 16);
}

/** What a call is, in one number: what was shown to whoever is asked, and will be executed. */
export function callHash(tool: string, args: Json): string {
  return sha256(canonical({ arguments: args, tool }));
}

/** How many times the latest calls say the same: one call over and over, or a round of up to four. */
export function countRepeats(keys: string[]): number {
  let most = 0;
  for (let period = 1; period <= maxPeriod; period++) {
    let same = 0;
    while (same + period < keys.length && keys[keys.length - 1 - same] === keys[keys.length - 1 - same - period]) same++;
    most = Math.max(most, Math.floor(same / period) + 1);
  }
  return keys.length === 0 ? 0 : most;
}
