import { type ReactNode, useEffect, useState } from 'react';
import { isRemoteError } from '../../../src/client/error.ts';
import type { LiveRun } from '../../../src/contract/view.ts';
import { RunActionsProvider } from '../actions/run-actions.tsx';
import { useClient } from '../data/context.tsx';
import { type LiveTree, useLiveTree } from '../data/use-live-tree.ts';
import { useResource } from '../data/use-resource.ts';
import { Page } from '../parts/page.tsx';
import { ErrorState, Loading } from '../parts/states.tsx';
import { TabPanel } from '../parts/tabs.tsx';
import { navigate } from '../router.tsx';
import { TreeFrame } from './tree/header.tsx';
import { OutcomeCard } from './tree/outcome-card.tsx';
import { TreeGrid } from './tree/tree-grid.tsx';
import { TreeTools } from './tree/tree-tools.tsx';

export function TreePage({ id }: { id: string }): ReactNode {
  const tree = useLiveTree(id);
  const { rootId, error, reload } = tree;
  // The address of another run of the tree leads to its root.
  useEffect(() => {
    if (rootId !== null && rootId !== id) navigate(`/trees/${rootId}`, { replace: true });
  }, [rootId, id]);
  // Of an erased tree, only the page of its run has something to show.
  const isErased = isRemoteError(error) && error.code === 'erased';
  useEffect(() => {
    if (isErased) navigate(`/runs/${id}`, { replace: true });
  }, [isErased, id]);
  if (rootId === null)
    return <Page title="Tree">{error === null ? <Loading label="Loading the tree" /> : <ErrorState error={error} retry={reload} />}</Page>;
  return (
    <RunActionsProvider>
      <TreeFrame tree={tree} tab="runs">
        {(isUndriven) => (
          <TabPanel id="runs">
            <Outcome tree={tree} />
            <Runs tree={tree} isUndriven={isUndriven} />
          </TabPanel>
        )}
      </TreeFrame>
    </RunActionsProvider>
  );
}

function Runs({ tree, isUndriven }: { tree: LiveTree; isUndriven: boolean }): ReactNode {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState('');
  return (
    <>
      {tree.state.runs.size > 1 && <TreeTools state={tree.state} folded={folded} onFold={setFolded} filter={filter} onFilter={setFilter} />}
      <TreeGrid tree={tree} isUndriven={isUndriven} folded={folded} onFold={setFolded} filter={filter} />
    </>
  );
}

function Outcome({ tree: { state, rootId } }: { tree: LiveTree }): ReactNode {
  const client = useClient();
  const root = state.runs.get(rootId as string) as LiveRun;
  const hasEnded = root.endedAt !== null;
  const { data } = useResource(async (signal) => (hasEnded ? client.outcome(root.id, { signal }) : null), [client, root.id, hasEnded]);
  return data ? <OutcomeCard outcome={data} maxLines={6} /> : null;
}
