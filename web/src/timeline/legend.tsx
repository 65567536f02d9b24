import type { ReactNode } from 'react';
import { formatShare } from '../../../src/views/format.ts';
import type { MarkKind, SegmentKind } from '../../../src/views/timeline.ts';
import { markShape } from './bars.ts';
import { formatSpan, kindExplanation, kindLabel, kindOrder, markLabel, markOrder } from './describe.ts';
import { fillOf } from './hatches.tsx';

export interface LegendProps {
  /** Kinds that occur. */
  kinds: ReadonlySet<SegmentKind>;
  marks: ReadonlySet<MarkKind>;
  /** Milliseconds of the critical path by kind. */
  sums: Record<SegmentKind, number>;
  total: number;
}

/** What colours and shapes mean, with the share of each kind in the critical path: where the time of the tree went. */
export function Legend({ kinds, marks, sums, total }: LegendProps): ReactNode {
  return (
    <ul className="tl-legend" aria-label="Legend, with shares of the critical path">
      {kindOrder
        .filter((kind) => kinds.has(kind))
        .map((kind) => (
          <li key={kind} title={kindExplanation[kind]}>
            <Swatch kind={kind} />
            {kindLabel[kind]}
            {sums[kind] > 0 && (
              <span className="figure tl-share" title={`${formatSpan(sums[kind])} of the critical path`}>
                {formatShare(sums[kind], total)}
                <span className="visually-hidden"> of the critical path</span>
              </span>
            )}
          </li>
        ))}
      <li title="what the end of the tree depended on">
        <svg width="16" height="12" aria-hidden="true">
          <rect className="tl-path" x="0" y="5" width="16" height="3" />
        </svg>
        Critical path
      </li>
      {markOrder
        .filter((kind) => marks.has(kind))
        .map((kind) => (
          <li key={kind}>
            <svg width="8" height="8" aria-hidden="true">
              <path className={`tl-mark mark-${kind}`} d={markShape(kind)} />
            </svg>
            {markLabel[kind]}
          </li>
        ))}
    </ul>
  );
}

export function Swatch({ kind }: { kind: SegmentKind }): ReactNode {
  const isThin = kind === 'children' || kind === 'idle' || kind === 'queued' || kind === 'interrupted';
  return (
    <svg width="16" height="12" aria-hidden="true" className="tl-swatch">
      <rect className={`tl-kind kind-${kind}`} {...fillOf(kind)} x="0" y={isThin ? 4 : 1} width="16" height={isThin ? 4 : 10} />
    </svg>
  );
}
