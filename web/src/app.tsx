// The frame of the dashboard: navigation, connection, and the page that the address names.
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { DataProvider, ServerContext, useClient, useConnection } from './data/context.tsx';
import { QuestionsProvider } from './data/use-questions.tsx';
import { useResource } from './data/use-resource.ts';
import { PageContent } from './pages.tsx';
import { NotifyProvider } from './parts/notify.tsx';
import { useRoute } from './router.tsx';
import { CannotShow, ConnectionBanner, SessionEnded } from './shell/connection.tsx';
import { HelpDialog } from './shell/help.tsx';
import { useGlobalKeys } from './shell/shortcuts.ts';
import { Sidebar } from './shell/sidebar.tsx';

export function App(): ReactNode {
  const workspace = useRoute().query.get('workspace');
  return (
    <DataProvider key={workspace ?? ''} workspace={workspace}>
      <NotifyProvider>
        <QuestionsProvider>
          <Shell />
        </QuestionsProvider>
      </NotifyProvider>
    </DataProvider>
  );
}

function Shell(): ReactNode {
  const client = useClient();
  const connection = useConnection();
  const [isHelpOpen, setHelpOpen] = useState(false);
  useGlobalKeys(() => setHelpOpen((isOpen) => !isOpen));
  const { data, reload } = useResource(
    async (signal) => ({ server: await client.server({ signal }), workspaces: await client.workspaces({ signal }) }),
    [client],
  );
  const info = useMemo(() => (data === undefined ? null : { ...data, reload }), [data, reload]);
  if (connection.state === 'refused') return <SessionEnded reason={connection.reason} />;
  if (connection.state === 'failed') return <CannotShow reason={connection.reason} />;
  return (
    <ServerContext value={info}>
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <div className="layout">
        <Sidebar onHelp={() => setHelpOpen(true)} />
        <div className="content">
          <ConnectionBanner />
          <Main />
        </div>
      </div>
      {isHelpOpen && <HelpDialog onClose={() => setHelpOpen(false)} />}
    </ServerContext>
  );
}

/** After a change of the page, the focus is at its beginning. */
function Main(): ReactNode {
  const { path } = useRoute();
  const element = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    window.scrollTo(0, 0);
    element.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <main id="main" ref={element} tabIndex={-1}>
      <PageContent />
    </main>
  );
}
