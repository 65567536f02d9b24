// The runs of a tree as a grid with rows that fold. Only visible rows are in the document, so thousands of runs stay smooth.
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { listRows, type TreeRow, toggleFold } from '../../../../src/views/tree-rows.ts';
import type { LiveTree } from '../../data/use-live-tree.ts';
import { narrow, useMedia } from '../../parts/media.ts';
import { useScrollMargin } from '../../parts/scroll-margin.ts';
import { EmptyState } from '../../parts/states.tsx';
import { navigate } from '../../router.tsx';
import { findTarget, type GridMove, keyToMove } from './grid-keys.ts';
import { GridRow } from './grid-row.tsx';

interface TreeGridProps {
  tree: LiveTree;
  isUndriven: boolean;
  folded: ReadonlySet<string>;
  onFold(folded: ReadonlySet<string>): void;
  filter: string;
}

const rowHeight = { wide: 36, narrow: 58 };
const columns = ['Run', 'Now', 'Turn', 'Time', 'Tokens', 'Cost', ''];

export function TreeGrid({ tree, isUndriven, folded, onFold, filter }: TreeGridProps): ReactNode {
  const { state, version, rootId } = tree;
  const isNarrow = useMedia(narrow);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the state changes in place; its version tells when.
  const rows = useMemo(() => {
    const undriven = new Set(isUndriven && rootId !== null ? [rootId] : []);
    return listRows({ state, undriven, unloaded: new Set() }, { folded, filter, showEnded: true });
  }, [state, version, rootId, isUndriven, folded, filter]);

  const [activeId, setActiveId] = useState(rootId as string);
  const activeIndex = Math.max(
    0,
    rows.findIndex(({ run }) => run.id === activeId),
  );
  const body = useRef<HTMLDivElement>(null);
  const scrollMargin = useScrollMargin(body);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (isNarrow ? rowHeight.narrow : rowHeight.wide),
    overscan: 12,
    scrollMargin,
    // The row with the focus stays in the document.
    rangeExtractor: useCallback(
      (range: Range) =>
        [...new Set([...defaultRangeExtractor(range), ...(activeIndex < range.count ? [activeIndex] : [])])].sort((a, b) => a - b),
      [activeIndex],
    ),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes are measured again when the layout changes.
  useEffect(() => virtualizer.measure(), [isNarrow]);

  const shouldFocus = useRef(false);
  useEffect(() => {
    if (!shouldFocus.current) return;
    shouldFocus.current = false;
    body.current?.querySelector<HTMLElement>(`[data-run="${activeId}"]`)?.focus({ preventScroll: true });
  });

  const setFold = useCallback(
    (id: string) => {
      const next = new Set(folded);
      toggleFold(next, id);
      onFold(next);
    },
    [folded, onFold],
  );
  const move = (to: GridMove) => {
    const current = rows[activeIndex];
    if (current === undefined) return;
    const target = findTarget(rows, activeIndex, to);
    if (target === 'open') return navigate(`/runs/${current.opens}`);
    if (target === 'fold' || target === 'unfold') return setFold(current.run.id);
    const next = rows[target];
    if (next === undefined) return;
    setActiveId(next.run.id);
    shouldFocus.current = true;
    virtualizer.scrollToIndex(target, { align: 'auto' });
  };
  const press = (event: KeyboardEvent) => {
    const to = keyToMove(event);
    if (to === null || !(event.target as HTMLElement).matches('[role="row"]')) return;
    event.preventDefault();
    move(to);
  };

  if (rows.length === 0)
    return (
      <EmptyState title="No run matches">
        <p>No run of this tree contains this text.</p>
      </EmptyState>
    );
  return (
    <div className="tree-grid" role="treegrid" aria-label="Runs" aria-rowcount={rows.length + 1} onKeyDown={press}>
      <div className="grid-row grid-head" role="row" aria-rowindex={1}>
        {columns.map((title) => (
          <div key={title} role="columnheader" className={`cell cell-${title.toLowerCase() || 'menu'}`}>
            {title || <span className="visually-hidden">Actions</span>}
          </div>
        ))}
      </div>
      <div ref={body} role="rowgroup" className="grid-body" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((item) => {
          const row = rows[item.index] as TreeRow;
          return (
            <GridRow
              key={row.run.id}
              row={row}
              state={state}
              version={version}
              index={item.index}
              top={item.start - scrollMargin}
              isUndriven={isUndriven}
              isActive={item.index === activeIndex}
              onActivate={setActiveId}
              onFold={setFold}
            />
          );
        })}
      </div>
    </div>
  );
}
