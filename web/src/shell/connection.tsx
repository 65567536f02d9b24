// What the page says while the server cannot be reached, or no longer accepts the session.
import { type ReactNode, useEffect } from 'react';
import { createClient } from '../../../src/client/client.ts';
import { useConnection } from '../data/context.tsx';
import { EmptyState } from '../parts/states.tsx';

export function ConnectionBanner(): ReactNode {
  const connection = useConnection();
  return (
    <div role="status" aria-live="polite">
      {connection.state === 'lost' && (
        <div className="banner">
          <span className="spinner" aria-hidden="true" />
          <span>
            <strong>Connection lost.</strong> What you see may be out of date. Trying again…{' '}
            <span className="muted">({connection.reason})</span>
          </span>
        </div>
      )}
    </div>
  );
}

const checkMs = 3_000;

/** Opening the new link in any tab sets the cookie for all of them, so this page checks from time to time and continues. */
export function SessionEnded({ reason }: { reason: string }): ReactNode {
  useEffect(() => {
    const client = createClient();
    const stop = new AbortController();
    const check = () => {
      if (document.visibilityState !== 'visible') return;
      client.server({ signal: stop.signal }).then(
        () => window.location.reload(),
        () => {},
      );
    };
    const timer = setInterval(check, checkMs);
    document.addEventListener('visibilitychange', check);
    return () => {
      stop.abort();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', check);
    };
  }, []);
  return (
    <main className="session-ended">
      <EmptyState title="This browser has no valid session" command="retinue serve">
        <p>
          Open the link that <code>retinue serve</code> printed when it started. This page continues as soon as you have opened it, in this
          tab or in another one.
        </p>
        <p>
          If you no longer have the link, stop the server with Ctrl-C and start it again; runs in progress are continued. With a token file,
          the link is <code>{window.location.origin}/?token=TOKEN</code>.
        </p>
        <p className="muted">The server said: {reason}</p>
      </EmptyState>
    </main>
  );
}

/** The server answers, but has nothing to show for this address, such as a workspace that it does not know. */
export function CannotShow({ reason }: { reason: string }): ReactNode {
  return (
    <main className="session-ended">
      <EmptyState title="This cannot be shown">
        <p>{reason}</p>
        {/* A new document, so that everything begins anew. */}
        <p>
          <a href="/">Go to the workspace of the server</a>
        </p>
      </EmptyState>
    </main>
  );
}
