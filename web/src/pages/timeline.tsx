import { type ReactNode, useEffect } from 'react';
import { formatPlural } from '../../../src/views/format.ts';
import { RunActionsProvider } from '../actions/run-actions.tsx';
import { useLiveTree } from '../data/use-live-tree.ts';
import { Page } from '../parts/page.tsx';
import { ErrorState, Loading } from '../parts/states.tsx';
import { TabPanel } from '../parts/tabs.tsx';
import { navigate } from '../router.tsx';
import { Hatches } from '../timeline/hatches.tsx';
import { TimelineView } from '../timeline/timeline-view.tsx';
import { useTimeline } from '../timeline/use-timeline.ts';
import { TreeFrame } from './tree/header.tsx';
import './timeline.css';

/** When each run of a tree did what. */
export function TimelinePage({ id }: { id: string }): ReactNode {
  const tree = useLiveTree(id);
  const { rootId, error, reload } = tree;
  // The address of another run of the tree leads to its root.
  useEffect(() => {
    if (rootId !== null && rootId !== id) navigate(`/trees/${rootId}/timeline${window.location.search}`, { replace: true });
  }, [rootId, id]);
  if (rootId === null)
    return (
      <Page title="Timeline">{error === null ? <Loading label="Loading the tree" /> : <ErrorState error={error} retry={reload} />}</Page>
    );
  return (
    <RunActionsProvider>
      <TreeFrame tree={tree} tab="timeline">
        {(isUndriven) => (
          <TabPanel id="timeline">
            <TreeTimeline rootId={rootId} isDriven={!isUndriven} />
          </TabPanel>
        )}
      </TreeFrame>
    </RunActionsProvider>
  );
}

function TreeTimeline({ rootId, isDriven }: { rootId: string; isDriven: boolean }): ReactNode {
  const state = useTimeline(rootId);
  const { timeline, isComplete, error, reload } = state;
  const root = timeline.lanes.get(rootId);
  return (
    <>
      {error !== null && <ErrorState error={error} retry={reload} />}
      {error === null && !root && <Loading label="Loading the timeline" />}
      {error === null && root && !isComplete && (
        <p className="muted" role="status">
          Loading more: {formatPlural(timeline.lanes.size, 'run')} so far…
        </p>
      )}
      <Hatches />
      {root && <TimelineView state={state} root={root} isDriven={isDriven} />}
    </>
  );
}
