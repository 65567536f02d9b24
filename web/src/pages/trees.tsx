import { type ReactNode, useMemo, useRef } from 'react';
import type { TreeView } from '../../../src/contract/view.ts';
import { useMissingRole } from '../data/context.tsx';
import { useLiveRuns } from '../data/use-live-runs.ts';
import { useQuestions } from '../data/use-questions.tsx';
import { Button } from '../parts/button.tsx';
import { Page } from '../parts/page.tsx';
import { EmptyState, ErrorState, Loading } from '../parts/states.tsx';
import { Link, setQuery, useRoute } from '../router.tsx';
import { moveFocus } from '../shell/list-keys.ts';
import { isFiltered, queryToFilter } from './trees/filter.ts';
import { FilterBar } from './trees/filter-bar.tsx';
import { TreeRow } from './trees/tree-row.tsx';
import './trees/trees.css';

export function TreesPage(): ReactNode {
  const { query } = useRoute();
  const noStart = useMissingRole('start');
  const filter = useMemo(() => queryToFilter(query), [query]);
  const { runs, error, reload, hasMore, isLoadingMore, loadMore } = useLiveRuns(filter);
  return (
    <Page
      title="Trees"
      actions={
        noStart === null ? (
          <Link to="/start" className="button button-primary">
            Start a run
          </Link>
        ) : undefined
      }
    >
      <FilterBar />
      {error !== null && runs === undefined && <ErrorState error={error} retry={reload} />}
      {runs === undefined && error === null && <Loading label="Loading trees" />}
      {runs !== undefined && runs.length === 0 && <NoTrees isFiltered={isFiltered(filter)} />}
      {runs !== undefined && runs.length > 0 && <TreeTable runs={runs} />}
      {hasMore && (
        <div className="load-more">
          <Button onClick={loadMore} isBusy={isLoadingMore}>
            {isLoadingMore ? 'Loading…' : 'Show older trees'}
          </Button>
        </div>
      )}
    </Page>
  );
}

function TreeTable({ runs }: { runs: TreeView[] }): ReactNode {
  const { questions = [] } = useQuestions();
  const body = useRef<HTMLTableSectionElement>(null);
  const waiting = useMemo(() => Map.groupBy(questions, ({ rootId }) => rootId), [questions]);
  return (
    <table className="table trees-table">
      <thead>
        <tr>
          <th scope="col">Tree</th>
          <th scope="col" className="trees-state">
            State
          </th>
          <th scope="col" className="number">
            Runs
          </th>
          <th scope="col" className="number">
            Tokens
          </th>
          <th scope="col" className="number">
            Cost
          </th>
          <th scope="col" className="number">
            Time
          </th>
          <th scope="col" className="number">
            Started
          </th>
        </tr>
      </thead>
      <tbody ref={body} onKeyDown={(event) => moveFocus(event, body.current)}>
        {runs.map((run) => (
          <TreeRow key={run.runId} tree={run} waiting={waiting.get(run.runId)?.length ?? 0} />
        ))}
      </tbody>
    </table>
  );
}

function NoTrees({ isFiltered }: { isFiltered: boolean }): ReactNode {
  if (isFiltered)
    return (
      <EmptyState title="No tree matches">
        <p>No tree of this workspace has this state, agent and text.</p>
        <p>
          <Button onClick={() => setQuery({ state: null, agent: null, text: null })}>Clear filters</Button>
        </p>
      </EmptyState>
    );
  return (
    <EmptyState title="No runs yet" command={'retinue run "What is in this folder?"'}>
      <p>
        A tree is a run and everything it delegates. <Link to="/start">Start a run here</Link>, or in a terminal in this workspace:
      </p>
    </EmptyState>
  );
}
