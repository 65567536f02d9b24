import type { ReactNode } from 'react';
import type { Outcome } from '../../../../src/contract/outcome.ts';
import { sanitizeText } from '../../../../src/text/terminal.ts';
import { formatBytes, formatStatus } from '../../../../src/views/format.ts';
import { Markdown } from '../../parts/markdown.tsx';
import { statusTone } from '../../parts/status.tsx';
import { CodeBlock } from '../../parts/text.tsx';

/** What a run ended with: its text, its data, its error. */
export function OutcomeCard({ outcome, maxLines = 40 }: { outcome: Outcome; maxLines?: number }): ReactNode {
  const { status, summary, error, data, truncated, notices = [] } = outcome;
  const title = formatStatus(status);
  return (
    <section className={`outcome tone-${statusTone[status]}`} aria-label="Outcome">
      <h2>
        {title[0]?.toUpperCase()}
        {title.slice(1)}
      </h2>
      {error !== null && (
        <p className="outcome-error">
          <code>{error.code}</code> {sanitizeText(error.message)}
        </p>
      )}
      {summary.trim() !== '' && <Markdown text={summary} maxLines={maxLines} />}
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
