// What is known of one segment: at the pointer, and below the timeline for the row that has the focus.
import type { ReactNode } from 'react';
import type { ClosedSegment, Lane, Mark } from '../../../src/views/timeline.ts';
import { formatTime } from '../parts/figures.tsx';
import { formatSpan, kindLabel, markLabel, segmentDetails, segmentTitle } from './describe.ts';
import { Swatch } from './legend.tsx';

const maxLines = 8;
const maxMarks = 4;

export interface DetailsProps {
  lane: Lane;
  segment: ClosedSegment;
  marks: Mark[];
  /** When the tree was created. */
  start: number;
}

export function Details({ lane, segment, marks, start }: DetailsProps): ReactNode {
  const lines = segmentDetails(segment);
  return (
    <>
      <div className="tl-details-head">
        <Swatch kind={segment.kind} />
        <strong>{segmentTitle(segment)}</strong>
        <span className="figure">{formatSpan(segment.to - segment.from)}</span>
      </div>
      <div className="muted tl-details-when">
        {lane.name} · {kindLabel[segment.kind]} · {formatSpan(segment.from - start)} after the start ·{' '}
        <time dateTime={new Date(segment.from).toISOString()}>{formatTime(segment.from)}</time>
      </div>
      {lines.length > 0 && (
        <ul className="tl-details-lines">
          {lines.slice(0, maxLines).map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity, and the list is short.
            <li key={i}>{line}</li>
          ))}
          {lines.length > maxLines && <li className="muted">and {lines.length - maxLines} more</li>}
        </ul>
      )}
      {marks.slice(0, maxMarks).map(({ seq, kind, text }) => (
        <div key={seq} className={`tl-details-mark mark-${kind}`}>
          <strong>{markLabel[kind]}</strong> {text}
        </div>
      ))}
    </>
  );
}

/** Marks at, or within a few pixels of, a segment or a time. */
export function marksBetween(marks: Mark[], from: number, to: number): Mark[] {
  return marks.filter(({ at }) => at >= from && at <= to);
}
