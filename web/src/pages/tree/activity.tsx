import type { ReactNode } from 'react';
import { isLive } from '../../../../src/contract/run-status.ts';
import type { LiveState } from '../../../../src/views/live-state.ts';
import { describeActivity, queuePosition } from '../../../../src/views/run-row.ts';
import type { TreeRow } from '../../../../src/views/tree-rows.ts';
import { Badge, type Tone } from '../../parts/status.tsx';
import { Link } from '../../router.tsx';

interface ActivityProps {
  row: Pick<TreeRow, 'run' | 'status'>;
  state: LiveState;
  /** Without marks for problems and sources, where they are shown elsewhere. */
  isCompact?: boolean;
}

/** What a run does now, and what went wrong so far. */
export function Activity({ row, state, isCompact = false }: ActivityProps): ReactNode {
  const { run } = row;
  const { failed, denied } = run.problems;
  const text = describe(row, state);
  return (
    <>
      {run.questions > 0 && (
        <Link to="/approvals" className="approval-link" tabIndex={-1}>
          <Badge tone="warning">{describeWaiting(run)}</Badge>
        </Link>
      )}
      <span className={`truncate tone-${toneOf(row)} tone-text`} title={text}>
        {text}
      </span>
      {!isCompact && failed > 0 && (
        <Badge tone="error" title={run.kind === 'flow' ? 'Steps that failed' : 'Calls that failed'}>
          {failed} failed
        </Badge>
      )}
      {!isCompact && denied > 0 && (
        <Badge tone="warning" title="Calls that were denied">
          {denied} denied
        </Badge>
      )}
      {!isCompact &&
        isLive(run.status) &&
        run.taint.toSorted().map((source) => (
          <Badge key={source} title={`It has read text from outside: ${source}`}>
            {source}
          </Badge>
        ))}
    </>
  );
}

function describeWaiting({ kind, questions }: TreeRow['run']): string {
  if (kind === 'flow') return questions === 1 ? 'needs an answer' : `${questions} need an answer`;
  return questions === 1 ? 'needs approval' : `${questions} need approval`;
}

function describe({ run, status }: Pick<TreeRow, 'run' | 'status'>, state: LiveState): string {
  if (status === 'interrupted') return 'interrupted';
  const queue = queuePosition(run, state);
  if (queue !== null) return `queued, ${queue.position} of ${queue.of}`;
  // A badge says that it waits; the call says for what. The question of a flow is its activity.
  if (run.questions > 0 && run.kind === 'agent' && run.tools.length > 0) return run.tools.map(({ text }) => text).join(', ');
  // Badges tell the problems of an ended run.
  const shown = isLive(run.status) ? run : { ...run, problems: { failed: 0, denied: 0 } };
  return describeActivity(shown, state, 'waits until somebody continues it');
}

function toneOf({ run, status }: Pick<TreeRow, 'run' | 'status'>): Tone | 'plain' | 'quiet' {
  if (status === 'interrupted' || status === 'exhausted') return 'warning';
  if (status === 'paused') return 'paused';
  if (status === 'failed' || status === 'timed_out') return 'error';
  return isLive(run.status) ? 'plain' : 'quiet';
}
