// Renders results of delegation tools for a conversation (invariant 10).
import type { ResultPart } from '../ports/dialect.ts';
import { cutBytes } from '../text/cut.ts';
import { fence } from '../text/fence.ts';
import { markInvisible } from '../text/invisible.ts';

/** Joins the parts of a result. Parts that a child wrote are cut and fenced; the others are used unchanged. */
export function renderResultParts(parts: ResultPart[], maxBytes: number): string {
  return parts
    .map((part) => (part.run === undefined ? part.text : fence(cutBytes(markInvisible(part.text), maxBytes).text, part.run)))
    .join('\n');
}
