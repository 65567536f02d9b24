// Renders results of delegation tools for a conversation (invariant 10).
import type { ResultPart } from '../ports/dialect.ts';
import { cutBytes, formatTruncation } from '../text/cut.ts';
import { fence } from '../text/fence.ts';
import { markInvisible } from '../text/invisible.ts';

/**
 * Joins the parts of a result. Parts that a child wrote are cut and fenced; the others are used unchanged. A cut part is followed by a notice.
 * `maxBytes`: null if the caller has no limit of its own.
 */
export function renderResultParts(parts: ResultPart[], maxBytes: number | null): string {
  return parts.map((part) => (part.run === undefined ? part.text : renderChildText(part, part.run, maxBytes))).join('\n');
}

function renderChildText({ text, fitted }: ResultPart, run: string, maxBytes: number | null): string {
  const cut = maxBytes === null || fitted ? null : cutBytes(text, maxBytes);
  const fenced = fence(markInvisible(cut?.text ?? text), run);
  return cut === null || cut.keptBytes === cut.originalBytes ? fenced : `${fenced}\n${formatTruncation(cut)}`;
}
