// Keys in the tree of runs, as in the treegrid pattern of WAI-ARIA.
import type { TreeRow } from '../../../../src/views/tree-rows.ts';

export type GridMove = 'up' | 'down' | 'left' | 'right' | 'first' | 'last' | 'page-up' | 'page-down' | 'open';

const moves: Record<string, GridMove> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  Home: 'first',
  End: 'last',
  PageUp: 'page-up',
  PageDown: 'page-down',
  Enter: 'open',
};

interface PressedKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

export function keyToMove({ key, ctrlKey, metaKey, altKey }: PressedKey): GridMove | null {
  return ctrlKey || metaKey || altKey ? null : (moves[key] ?? null);
}

const pageRows = 15;

type Row = Pick<TreeRow, 'depth' | 'fold'>;

/** The row that a move leads to, or what happens to the current one. */
export function findTarget(rows: Row[], at: number, move: GridMove): number | 'fold' | 'unfold' | 'open' {
  const row = rows[at] as Row;
  const clamp = (index: number) => Math.min(rows.length - 1, Math.max(0, index));
  switch (move) {
    case 'up':
      return clamp(at - 1);
    case 'down':
      return clamp(at + 1);
    case 'page-up':
      return clamp(at - pageRows);
    case 'page-down':
      return clamp(at + pageRows);
    case 'first':
      return 0;
    case 'last':
      return rows.length - 1;
    case 'left':
      return row.fold === 'open' ? 'fold' : findParent(rows, at);
    case 'right':
      if (row.fold === 'folded') return 'unfold';
      return row.fold === 'open' ? clamp(at + 1) : at;
    case 'open':
      return 'open';
  }
}

function findParent(rows: Row[], at: number): number {
  const { depth } = rows[at] as Row;
  for (let i = at - 1; i >= 0; i--) if ((rows[i] as Row).depth < depth) return i;
  return at;
}
