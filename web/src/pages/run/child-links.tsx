import type { ReactNode } from 'react';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import type { CallItem } from '../../../../src/views/conversation.ts';
import { formatStatus, type ShownStatus, shortId } from '../../../../src/views/format.ts';
import type { LiveState } from '../../../../src/views/live-state.ts';
import { describeActivity, displayName, displayStatus, hasProblems } from '../../../../src/views/run-row.ts';
import { StatusMark } from '../../parts/status.tsx';
import { Link } from '../../router.tsx';

type Child = CallItem['children'][number];

const maxExcerpt = 160;

/** What a child does now; null if it is not known. */
export function describeChild(
  id: string,
  state: LiveState,
): { status: ShownStatus; text: string; name: string; hasProblems: boolean; needsUser: boolean } | null {
  const run = state.runs.get(id);
  if (run === undefined) return null;
  return {
    status: displayStatus(run, state),
    text: describeActivity(run, state, 'waits until somebody continues it'),
    name: displayName(run),
    hasProblems: hasProblems(run),
    needsUser: run.questions > 0,
  };
}

/** The runs that a call delegated, with what they do or what came of them. */
export function ChildLinks({ runs, state }: { runs: Child[]; state: LiveState }): ReactNode {
  return (
    <ul className="child-links">
      {runs.map(({ id, label, agent, outcome }) => {
        const live = describeChild(id, state);
        return (
          <li key={id}>
            <StatusMark
              status={outcome?.status ?? live?.status ?? 'running'}
              hasProblems={live?.hasProblems ?? false}
              needsUser={live?.needsUser ?? false}
            />
            <Link to={`/runs/${id}`} className="run-name">
              {live?.name ?? (sanitizeLine(label ?? agent ?? '') || shortId(id))}
            </Link>
            <span className="muted truncate">{outcome === null ? (live?.text ?? 'running') : describeOutcome(outcome)}</span>
          </li>
        );
      })}
    </ul>
  );
}

function describeOutcome({ status, summary, error }: NonNullable<Child['outcome']>): string {
  // One line has no room for headings and emphasis.
  const plain = summary.slice(0, 2 * maxExcerpt).replace(/^#+\s*|[*`]+/gm, '');
  const text = sanitizeLine(plain.slice(0, maxExcerpt) || (error?.message ?? ''));
  return status === 'completed' ? text : [formatStatus(status), text].filter((part) => part !== '').join(': ');
}
