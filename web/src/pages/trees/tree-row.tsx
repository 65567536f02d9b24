import { memo, type ReactNode } from 'react';
import type { TreeView } from '../../../../src/contract/view.ts';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { shortId } from '../../../../src/views/format.ts';
import { Age, Duration, Money, Tokens } from '../../parts/figures.tsx';
import { Badge, StatusMark } from '../../parts/status.tsx';
import { Link } from '../../router.tsx';

interface TreeRowProps {
  tree: TreeView;
  /** Calls of the tree that wait for approval. */
  waiting: number;
}

/** A refresh of the list brings new objects, most of them with the same content. */
export const TreeRow = memo(
  function TreeRow({ tree, waiting }: TreeRowProps): ReactNode {
    const { runId, kind, status, agent, model, runs, live, tokens, costUsd, createdAt, startedAt, endedAt } = tree;
    return (
      <tr className="tree-row">
        <td className="trees-name">
          <Link to={`/trees/${runId}`} className="row-link truncate" data-row>
            {nameOf(tree)}
          </Link>
          <div className="trees-details muted truncate">{[agent ?? kind, model, shortId(runId)].filter(Boolean).join(' · ')}</div>
        </td>
        <td className="trees-state">
          <StatusMark status={status} needsUser={waiting > 0} withText />
          {waiting > 0 && (
            <Link to="/approvals" className="above-row-link">
              <Badge tone="warning">{waiting === 1 ? '1 approval' : `${waiting} approvals`}</Badge>
            </Link>
          )}
        </td>
        <td className="number trees-runs" data-label={runs === 1 ? 'run' : 'runs'}>
          {runs}
          {live > 0 && live < runs && <span className="muted"> ({live} live)</span>}
        </td>
        <td className="number trees-tokens">
          <Tokens value={tokens} />
        </td>
        <td className="number trees-cost">
          <Money usd={costUsd} />
        </td>
        <td className="number trees-time">
          <Duration from={startedAt} to={endedAt} />
        </td>
        <td className="number trees-age muted">
          <Age at={createdAt} />
        </td>
      </tr>
    );
  },
  (before, after) => before.waiting === after.waiting && JSON.stringify(before.tree) === JSON.stringify(after.tree),
);

function nameOf({ label, task, agent, kind }: TreeView): string {
  if (task === null && label === null) return 'erased';
  return sanitizeLine(label ?? (task || null) ?? agent ?? kind);
}
