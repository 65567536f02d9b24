import { type ReactNode, useEffect } from 'react';
import type { FileChange } from '../../../../src/contract/http.ts';
import { isCutDiff } from '../../../../src/views/changes.ts';
import { formatPlural, shortId } from '../../../../src/views/format.ts';
import { displayName } from '../../../../src/views/run-row.ts';
import { useClient, useHub } from '../../data/context.tsx';
import { createThrottledLoader } from '../../data/throttled-loader.ts';
import { useResource } from '../../data/use-resource.ts';
import { Diff } from '../../parts/diff.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/states.tsx';
import { Link } from '../../router.tsx';
import { DiffTitle } from './call-view.tsx';
import type { RunPageView } from './run-view.ts';

/** What the file tools of the run and of those below it changed. */
export function ChangesTab({ view }: { view: RunPageView }): ReactNode {
  const client = useClient();
  const { id } = view.run;
  const { data, error, reload } = useResource((signal) => client.diff(id, { signal }), [client, id]);
  useReloadOn('artifact.recorded', view, reload);
  if (error !== null) return <ErrorState error={error} retry={reload} />;
  if (data === undefined) return <Loading label="Loading changes" />;
  if (data.length === 0)
    return (
      <EmptyState title="No file was changed">
        <p>
          Changes by the tools write and edit appear here, also those of runs below this one. Changes by shell commands are not recorded as
          diffs.
        </p>
      </EmptyState>
    );
  const sum = (key: 'added' | 'removed') => data.reduce((total, change) => total + change[key], 0);
  return (
    <div className="changes">
      <p className="muted">
        {formatPlural(data.length, 'change')} of {formatPlural(new Set(data.map(({ path }) => path)).size, 'file')},{' '}
        <span className="diff-count-added">+{sum('added')}</span> <span className="diff-count-removed">−{sum('removed')}</span>, as the
        runtime recorded them
      </p>
      {data.map((change, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: changes are only added.
        <Change key={i} change={change} view={view} />
      ))}
    </div>
  );
}

function Change({ change, view: { run, state } }: { change: FileChange; view: RunPageView }): ReactNode {
  const author = state.runs.get(change.runId);
  return (
    <section className="change" aria-label={change.path}>
      <header>
        <DiffTitle title={change.path} diff={change.diff} />
        {change.runId !== run.id && (
          <span className="muted">
            by <Link to={`/runs/${change.runId}`}>{author === undefined ? shortId(change.runId) : displayName(author)}</Link>
          </span>
        )}
        {isCutDiff(change) && <span className="muted">only the beginning was recorded</span>}
      </header>
      <Diff diff={change.diff} label={`Changes of ${change.path}`} hideNames />
    </section>
  );
}

/** Loads again when a run of the tree records such a fact. */
export function useReloadOn(type: string, { state }: RunPageView, reload: () => void): void {
  const hub = useHub();
  useEffect(() => {
    const loader = createThrottledLoader(async () => reload(), { soonMs: 200, intervalMs: 2_000 });
    const unsubscribe = hub.subscribe({
      onEvent: (event) => void (event.type === type && state.runs.has(event.runId) && loader.request()),
    });
    return () => {
      unsubscribe();
      loader.close();
    };
  }, [hub, type, state, reload]);
}
