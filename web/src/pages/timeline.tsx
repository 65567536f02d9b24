import type { ReactNode } from 'react';
import { formatPlural } from '../../../src/views/format.ts';
import { Duration } from '../parts/figures.tsx';
import { Page } from '../parts/page.tsx';
import { EmptyState, ErrorState, Loading } from '../parts/states.tsx';
import { Link } from '../router.tsx';
import { Hatches } from '../timeline/row.tsx';
import { TimelineView } from '../timeline/timeline-view.tsx';
import { useTimeline } from '../timeline/use-timeline.ts';
import './timeline.css';

/** When each run of a tree did what. `id` may be any run of the tree. */
export function TimelinePage({ id }: { id: string }): ReactNode {
  const state = useTimeline(id);
  const { timeline, rootId, isComplete, isErased, error, reload } = state;
  const root = rootId === null ? undefined : timeline.lanes.get(rootId);
  if (error !== null && !root) return <ErrorState error={error} retry={reload} />;
  if (isErased)
    return (
      <EmptyState title="This tree was erased">
        <p>
          Its content was removed with <code>retinue erase</code>, so there is no timeline of it.{' '}
          <Link to="/">Go to the list of trees</Link>.
        </p>
      </EmptyState>
    );
  if (!root) return <Loading label="Loading the timeline" />;
  return (
    <Page
      title={`Timeline of ${root.name}`}
      above={
        <nav aria-label="Breadcrumbs" className="breadcrumbs muted">
          <Link to="/">Trees</Link> / <Link to={`/trees/${root.id}`}>{root.name}</Link> / Timeline
        </nav>
      }
      subtitle={
        <>
          <span>{formatPlural(timeline.lanes.size, 'run')}</span>
          <Duration from={root.createdAt} {...(root.endedAt === null ? {} : { to: root.endedAt })} />
          <span className="truncate">{root.task}</span>
        </>
      }
      actions={
        <Link className="button button-default" to={`/trees/${root.id}`}>
          Tree
        </Link>
      }
    >
      {error !== null && <ErrorState error={error} retry={reload} />}
      {!isComplete && error === null && (
        <p className="muted" role="status">
          Loading more: {formatPlural(timeline.lanes.size, 'run')} so far…
        </p>
      )}
      <Hatches />
      <TimelineView state={state} root={root} />
    </Page>
  );
}
