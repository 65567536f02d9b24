import { type ReactNode, useState } from 'react';
import type { Artifact } from '../../../../src/contract/artifact.ts';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { formatBytes, shortId } from '../../../../src/views/format.ts';
import { displayName } from '../../../../src/views/run-row.ts';
import { useClient } from '../../data/context.tsx';
import { useResource } from '../../data/use-resource.ts';
import { Diff } from '../../parts/diff.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/states.tsx';
import { Badge } from '../../parts/status.tsx';
import { CodeBlock } from '../../parts/text.tsx';
import { Link } from '../../router.tsx';
import { useReloadOn } from './changes-tab.tsx';
import type { RunPageView } from './run-view.ts';

export function ArtifactsTab({ view }: { view: RunPageView }): ReactNode {
  const client = useClient();
  const { id, children } = view.run;
  const [withChildren, setWithChildren] = useState(true);
  const { data, error, reload } = useResource((signal) => client.artifacts(id, { tree: withChildren, signal }), [client, id, withChildren]);
  useReloadOn('artifact.recorded', view, reload);
  if (error !== null) return <ErrorState error={error} retry={reload} />;
  return (
    <div className="artifacts">
      {children.length > 0 && (
        <label className="checkbox">
          <input type="checkbox" checked={withChildren} onChange={(event) => setWithChildren(event.target.checked)} />
          Also of the runs below it
        </label>
      )}
      {data === undefined && <Loading label="Loading artifacts" />}
      {data?.length === 0 && (
        <EmptyState title="No artifacts">
          <p>Files that the run wrote, diffs, notes and structured results appear here as the runtime records them.</p>
        </EmptyState>
      )}
      {data?.map((artifact) => (
        <section key={`${artifact.runId} ${artifact.seq}`} className="artifact" aria-label={artifact.title ?? artifact.kind}>
          <header>
            <Badge>{artifact.kind}</Badge>
            <code className="truncate">{sanitizeLine(artifact.kind === 'path' ? artifact.value : (artifact.title ?? ''))}</code>
            <span className="muted">
              {artifact.kind === 'path' && artifact.title !== undefined && `${sanitizeLine(artifact.title)}, `}
              {formatBytes(artifact.bytes)}
              {artifact.runId !== id && (
                <>
                  {' '}
                  by <Link to={`/runs/${artifact.runId}`}>{nameOf(artifact.runId, view)}</Link>
                </>
              )}
            </span>
          </header>
          <Content artifact={artifact} />
        </section>
      ))}
    </div>
  );
}

function nameOf(runId: string, { state }: RunPageView): string {
  const run = state.runs.get(runId);
  return run === undefined ? shortId(runId) : displayName(run);
}

function Content({ artifact: { kind, value, title } }: { artifact: Artifact }): ReactNode {
  switch (kind) {
    case 'diff':
      return <Diff diff={value} label={`Changes of ${title ?? 'a file'}`} hideNames />;
    case 'note':
      return <Markdown text={value} maxLines={30} />;
    case 'json':
      return <CodeBlock text={formatJson(value)} label={title ?? 'JSON'} maxLines={30} canCopy />;
    case 'path':
      return null;
  }
}

function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
