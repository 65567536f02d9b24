import type { ReactNode } from 'react';
import type { LiveState } from '../../../../src/views/live-state.ts';
import { Button } from '../../parts/button.tsx';

interface TreeToolsProps {
  state: LiveState;
  folded: ReadonlySet<string>;
  onFold(folded: ReadonlySet<string>): void;
  filter: string;
  onFilter(text: string): void;
}

/** Filter and fold above the tree. */
export function TreeTools({ state, folded, onFold, filter, onFilter }: TreeToolsProps): ReactNode {
  const parents = () => [...state.runs.values()].filter(({ children, parentId }) => children.length > 0 && parentId !== null);
  const canFold = state.runs.values().some(({ children, parentId }) => children.length > 0 && parentId !== null);
  return (
    <div className="tree-tools">
      <input
        type="search"
        className="input filter-text"
        data-filter
        aria-label="Filter runs"
        placeholder="Filter runs by name, agent, state or call"
        value={filter}
        onChange={(event) => onFilter(event.target.value)}
      />
      {(canFold || folded.size > 0) && (
        <>
          <Button size="small" variant="quiet" onClick={() => onFold(new Set(parents().map(({ id }) => id)))}>
            Fold all
          </Button>
          <Button size="small" variant="quiet" onClick={() => onFold(new Set())}>
            Unfold all
          </Button>
        </>
      )}
    </div>
  );
}
