import { Component, type ReactNode } from 'react';
import { ErrorState } from '../parts/states.tsx';

/** A page that fails shows its error; the navigation still works. Give it a `key` that changes with the page. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    // A server that was updated no longer has the old files of the pages.
    const isOutdated = /dynamically imported module|Importing a module/i.test(this.state.error.message);
    return (
      <ErrorState
        error={this.state.error}
        {...(isOutdated ? { title: 'The dashboard was updated' } : {})}
        retry={() => window.location.reload()}
      />
    );
  }
}
