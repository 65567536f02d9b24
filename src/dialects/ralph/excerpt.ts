// As much of a subagent's result as fits into one answer. What is cut ends with a line that says how to read the rest.
import type { Outcome } from '../../contract/outcome.ts';
import type { Page } from '../../ports/delegation.ts';
import type { DialectContext } from '../../ports/dialect.ts';
import { cutBytes, formatTruncation } from '../../text/cut.ts';
import { fitJson, measureJson } from '../../text/fit-json.ts';

/** Less is never kept, so that reading part by part ends. */
const minKeptBytes = 64;

export interface Excerpt {
  text: string;
  /** What the caller reads if this beginning of the text is kept. */
  format(kept: string): string;
}

/** Partial work is kept however the run ended. Null if there is none. */
export function outcomeToExcerpt({ runId, summary, truncated }: Outcome): Excerpt | null {
  if (summary === '') return null;
  const originalBytes = truncated?.originalBytes ?? Buffer.byteLength(summary);
  return {
    text: summary,
    format(kept) {
      const keptBytes = Buffer.byteLength(kept);
      if (keptBytes === originalBytes) return kept;
      return `${kept}\n${formatTruncation({ keptBytes, originalBytes })}\n${formatContinuation(runId, kept.length)}`;
    },
  };
}

/** A page of a result that is longer than one answer may be. */
export function pageToExcerpt(runId: string, { text, offset, total }: Page, maxBytes: number): Excerpt {
  return {
    text: cutBytes(text, maxBytes).text,
    format(kept) {
      const end = offset + kept.length;
      return end < total ? `${kept}\n[characters ${offset} to ${end} of ${total}]\n${formatContinuation(runId, end)}` : kept;
    },
  };
}

function formatContinuation(runId: string, offset: number): string {
  return `[the rest: subagent_status ${JSON.stringify({ subagent_id: `${runId}@${offset}` })}]`;
}

/** The report with as much of the text as the caller's limit allows. Its other texts get at most half of that. */
export function fitReport<T extends { result: string | null }>(
  excerpt: Excerpt | null,
  toReport: (result: string | null) => T,
  { maxOutputBytes }: Pick<DialectContext, 'maxOutputBytes'>,
): T {
  const max = maxOutputBytes ?? Number.POSITIVE_INFINITY;
  const others = fitJson(toReport(null), max / 2);
  if (excerpt === null) return others;
  const { text, format } = excerpt;
  const keep = (bytes: number): T => ({ ...others, result: format(cutBytes(text, bytes).text) });
  let [low, high] = [minKeptBytes, Buffer.byteLength(text)];
  if (measureJson(keep(high)) <= max) return keep(high);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measureJson(keep(middle)) <= max) low = middle;
    else high = middle - 1;
  }
  return keep(low);
}
