import type { ReactNode } from 'react';
import type { Outcome } from '../../../../src/contract/outcome.ts';
import { sanitizeText } from '../../../../src/text/terminal.ts';
import {
  formatBytes,
  formatCost,
  formatCount,
  formatDuration,
  formatPlural,
  formatStatus,
  totalTokens,
} from '../../../../src/views/format.ts';
import { Markdown } from '../../parts/markdown.tsx';
import { statusTone } from '../../parts/status.tsx';
import { CodeBlock } from '../../parts/text.tsx';
import { CheckList, TrustBadge } from './trust.tsx';

interface OutcomeCardProps {
  outcome: Outcome;
  maxLines?: number;
  /** Its text is shown elsewhere on the page. */
  isRepeated?: boolean;
}

/** What a run ended with: its text, its data, its error. */
export function OutcomeCard({ outcome, maxLines = 40, isRepeated = false }: OutcomeCardProps): ReactNode {
  const { status, summary, error, data, truncated, notices = [], turns, tokens, costUsd, durationMs } = outcome;
  const title = formatStatus(status);
  // A result that is data has the same as its text.
  const isText = summary.trim() !== '' && !isSameData(summary, data);
  return (
    <section className={`outcome tone-${statusTone[status]}`} aria-label="Outcome">
      <h2>
        {title[0]?.toUpperCase()}
        {title.slice(1)}
        <TrustBadge outcome={outcome} />
        <span className="outcome-figures muted">
          {[
            turns === 0 ? '' : formatPlural(turns, 'turn'),
            `${formatCount(totalTokens(tokens))} tokens`,
            formatCost(costUsd),
            formatDuration(durationMs),
          ]
            .filter((part) => part !== '')
            .join(' · ')}
        </span>
      </h2>
      {error !== null && (
        <p className="outcome-error">
          <code>{error.code}</code> {sanitizeText(error.message)}
        </p>
      )}
      <CheckList outcome={outcome} />
      {isText && !isRepeated && <Markdown text={summary} maxLines={maxLines} />}
      {summary.trim() === '' && error === null && <p className="muted">It ended without a text.</p>}
      {data !== undefined && <CodeBlock text={JSON.stringify(data, null, 2)} label="Result data" canCopy />}
      {truncated !== null && (
        <p className="muted">
          Shortened to {formatBytes(truncated.keptBytes)} of {formatBytes(truncated.originalBytes)}.
        </p>
      )}
      {notices.map((notice) => (
        <p key={notice} className="muted">
          {sanitizeText(notice)}
        </p>
      ))}
    </section>
  );
}

function isSameData(summary: string, data: unknown): boolean {
  return data !== undefined && summary.trim() === JSON.stringify(data);
}
