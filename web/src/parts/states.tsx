// What a page shows when it has nothing to show, cannot load, or is loading. Each says what to do.
import type { ReactNode } from 'react';
import { isRemoteError } from '../../../src/client/error.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';

/** `command`: what the user can type in a terminal. */
export function EmptyState({ title, command, children }: { title: string; command?: string; children?: ReactNode }): ReactNode {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children !== undefined && <div className="state-text">{children}</div>}
      {command !== undefined && (
        <div className="command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy command" />
        </div>
      )}
    </div>
  );
}

export function ErrorState({ error, retry, title }: { error: Error; retry?: () => void; title?: string }): ReactNode {
  return (
    <div className="state state-error" role="alert">
      <h2>{title ?? errorTitle(error)}</h2>
      <p className="state-text">{error.message}</p>
      <p className="state-text muted">{adviceFor(error)}</p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

function errorTitle(error: Error): string {
  if (!isRemoteError(error)) return 'Something went wrong in this page';
  if (error.status === 404 || error.code === 'unknown_run') return 'Not found';
  if (error.code === 'erased') return 'Erased';
  if (error.code === 'unreachable') return 'The server does not answer';
  if (error.status === 403) return 'Not allowed';
  return 'This did not work';
}

export function adviceFor(error: Error): string {
  if (!isRemoteError(error)) return 'Reload the page. If it happens again, please report it with the message above.';
  if (error.code === 'unreachable') return 'Check that retinue serve is still running. This page tries again on its own.';
  if (error.code === 'unknown_run')
    return 'The run may belong to another workspace, or the address is incomplete. The list of trees shows all runs.';
  if (error.code === 'erased') return 'Its content was removed with retinue rm or retinue gc. Numbers, times and hashes remain.';
  if (error.status === 403) return 'Open a link with a token that has the needed role.';
  if (error.status === 409) return 'The run has changed since you looked. Look again, then decide.';
  return 'The message above says what the server did not accept.';
}

export function Loading({ label = 'Loading' }: { label?: string }): ReactNode {
  return (
    <div className="state" role="status">
      <span className="spinner" aria-hidden="true" />
      <span className="muted">{label}…</span>
    </div>
  );
}
