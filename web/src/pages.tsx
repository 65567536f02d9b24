// Which page an address shows. The list of trees is part of the first load; the others are loaded when they are opened.
import { lazy, type ReactNode, Suspense } from 'react';
import { TreesPage } from './pages/trees.tsx';
import { Page } from './parts/page.tsx';
import { Loading } from './parts/states.tsx';
import { Link, type Route, useRoute } from './router.tsx';
import { ErrorBoundary } from './shell/error-boundary.tsx';

const TreePage = lazy(async () => ({ default: (await import('./pages/tree.tsx')).TreePage }));
const TimelinePage = lazy(async () => ({ default: (await import('./pages/timeline.tsx')).TimelinePage }));
const RunPage = lazy(async () => ({ default: (await import('./pages/run.tsx')).RunPage }));
const ApprovalsPage = lazy(async () => ({ default: (await import('./pages/approvals.tsx')).ApprovalsPage }));
const CostsPage = lazy(async () => ({ default: (await import('./pages/costs.tsx')).CostsPage }));
const SearchPage = lazy(async () => ({ default: (await import('./pages/search.tsx')).SearchPage }));
const StartPage = lazy(async () => ({ default: (await import('./pages/start.tsx')).StartPage }));

export function PageContent(): ReactNode {
  const route = useRoute();
  return (
    <ErrorBoundary key={route.path}>
      <Suspense fallback={<Loading />}>{choosePage(route)}</Suspense>
    </ErrorBoundary>
  );
}

function choosePage({ segments: [section, id, part] }: Route): ReactNode {
  if (section === undefined) return <TreesPage />;
  if (section === 'trees' && id !== undefined && part === undefined) return <TreePage key={id} id={id} />;
  if (section === 'trees' && id !== undefined && part === 'timeline') return <TimelinePage key={id} id={id} />;
  if (section === 'runs' && id !== undefined) return <RunPage key={id} id={id} />;
  if (id === undefined) {
    if (section === 'approvals') return <ApprovalsPage />;
    if (section === 'costs') return <CostsPage />;
    if (section === 'search') return <SearchPage />;
    if (section === 'start') return <StartPage />;
  }
  return (
    <Page title="There is no such page">
      <p>
        The address is not one of the dashboard. <Link to="/">Go to the list of trees</Link>.
      </p>
    </Page>
  );
}
