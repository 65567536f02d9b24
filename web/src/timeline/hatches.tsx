import type { ReactNode } from 'react';
import type { SegmentKind } from '../../../src/views/timeline.ts';

const hatched = new Set<SegmentKind>(['approval', 'paused', 'queued', 'interrupted']);

/** The attributes of a shape of this kind: a pattern for kinds in which the run could not continue. Others get their colour by CSS. */
export function fillOf(kind: SegmentKind): { fill?: string } {
  return hatched.has(kind) ? { fill: `url(#hatch-${kind})` } : {};
}

/** Patterns that bars and the legend refer to; once per page. */
export function Hatches(): ReactNode {
  return (
    <svg className="visually-hidden" aria-hidden="true" width="0" height="0">
      <defs>
        {[...hatched].map((kind) => (
          <pattern key={kind} id={`hatch-${kind}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="6" height="6" className={`hatch-back kind-${kind}`} />
            <rect width="3" height="6" className={`hatch-line kind-${kind}`} />
          </pattern>
        ))}
      </defs>
    </svg>
  );
}
