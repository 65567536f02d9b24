import type { ReactNode } from 'react';
import { isLive } from '../../../../src/contract/run-status.ts';
import type { LiveRun } from '../../../../src/contract/view.ts';
import { formatEffort } from '../../../../src/text/effort.ts';
import { formatDuration, shortId } from '../../../../src/views/format.ts';
import { displayName, hasProblems, knownCost, problemsText, runTrust } from '../../../../src/views/run-row.ts';
import { shownStatus } from '../../../../src/views/tree-rows.ts';
import { useRunActions } from '../../actions/run-actions.tsx';
import { toTarget } from '../../actions/target.ts';
import { useIsDriven } from '../../data/use-driven.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Age, Duration, formatTime, Money, Tokens } from '../../parts/figures.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Page } from '../../parts/page.tsx';
import { Badge, StatusMark } from '../../parts/status.tsx';
import { Link, navigate, withTab } from '../../router.tsx';
import { usePageKeys } from '../../shell/shortcuts.ts';
import { Activity } from '../tree/activity.tsx';
import { Total } from '../tree/header.tsx';
import { TrustWord } from '../tree/trust.tsx';
import type { RunPageView } from './run-view.ts';
import './run.css';

export function RunFrame({ view, children }: { view: RunPageView; children: ReactNode }): ReactNode {
  const { run, detail, state, ancestors, previous, next } = view;
  const isDriven = useIsDriven(detail.rootId, isLive(run.status));
  const isUndriven = isDriven === false && isLive(run.status);
  const status = state.runs.has(run.id) ? shownStatus(run, state, isUndriven) : detail.status;
  const name = displayName(run);
  const actions = useRunActions();
  // An erased run can only be verified.
  const items = () =>
    actions.items(toTarget(run, state, isUndriven)).filter(({ label }) => detail.erasedAt === undefined || label.startsWith('Verify'));
  const primary = items().filter(({ label }) => ['Pause', 'Continue', 'Compact', 'Send a message…', 'Ask a follow-up…'].includes(label));
  const parent = ancestors.at(-1);
  usePageKeys((key) => {
    if (key === '[' && previous) navigate(withTab(`/runs/${previous.id}`));
    if (key === ']' && next) navigate(withTab(`/runs/${next.id}`));
    if (key === 'u') navigate(parent ? withTab(`/runs/${parent.id}`) : `/trees/${detail.rootId}`);
  });
  return (
    <Page
      title={name}
      above={<Crumbs view={view} />}
      heading={
        <span className="run-title">
          <StatusMark status={status} hasProblems={hasProblems(run)} needsUser={run.questions > 0} />
          <span className="run-title-text">{name}</span>
          <TrustWord word={runTrust(run)} />
        </span>
      }
      subtitle={
        <>
          <span>{run.agent ?? run.kind}</span>
          {run.model !== null && <span>{run.model}</span>}
          {detail.effort !== undefined && <span>effort {formatEffort(detail.effort)}</span>}
          <span>
            <code>{shortId(run.id)}</code> <CopyButton text={run.id} label="Copy run id" />
          </span>
          {run.createdAt > 0 && (
            <span>
              started <Age at={run.createdAt} />
            </span>
          )}
          {detail.brief?.continues !== undefined && (
            <span>
              continues <Link to={`/runs/${detail.brief.continues}`}>{shortId(detail.brief.continues)}</Link>
            </span>
          )}
          {run.taint.toSorted().map((source) => (
            <Badge key={source} title="It has read text from outside this machine">
              {source}
            </Badge>
          ))}
        </>
      }
      actions={
        <>
          {primary.map(({ label, run: act, disabledReason = null }) => (
            <Button key={label} disabledReason={disabledReason} onClick={act}>
              {label}
            </Button>
          ))}
          <Menu label="More actions" items={() => items().filter(({ label }) => !primary.some((each) => each.label === label))}>
            More
          </Menu>
        </>
      }
    >
      {detail.erasedAt !== undefined && (
        <div className="callout tone-neutral">
          The content of this run was erased on {formatTime(detail.erasedAt)}. Numbers, times and hashes remain.
        </div>
      )}
      <RunTotals run={run} now={isLive(run.status) ? <Activity row={{ run, status }} state={state} isCompact /> : null} />
      {children}
    </Page>
  );
}

function RunTotals({ run, now }: { run: LiveRun; now: ReactNode }): ReactNode {
  const problems = problemsText(run);
  return (
    <dl className="totals">
      {now !== null && (
        <Total label="Now">
          <span className="run-now">{now}</span>
        </Total>
      )}
      {run.kind === 'agent' && (
        <Total label="Turns">
          {run.turn}
          {run.maxTurns !== null && <span className="muted totals-note"> of {run.maxTurns}</span>}
        </Total>
      )}
      {run.children.length > 0 && <Total label="Children">{run.children.length}</Total>}
      <Total label={run.children.length > 0 ? 'Tokens with children' : 'Tokens'}>
        <Tokens value={run.tokens} />
      </Total>
      <Total label={run.children.length > 0 ? 'Cost with children' : 'Cost'}>
        <Money usd={knownCost(run)} />
      </Total>
      <Total label="Time">
        <Duration from={run.startedAt} to={run.endedAt} />
        {run.deadline !== null && run.startedAt !== null && run.endedAt === null && (
          <span className="muted totals-note"> of {formatDuration(run.deadline - run.startedAt)}</span>
        )}
      </Total>
      {problems !== '' && (
        <Total label="Problems">
          <span className="tone-warning tone-text">{problems}</span>
        </Total>
      )}
    </dl>
  );
}

/** The way up, and to the siblings. */
function Crumbs({ view: { ancestors, detail, previous, next } }: { view: RunPageView }): ReactNode {
  return (
    <nav aria-label="Breadcrumb" className="crumbs">
      <Link to="/">Trees</Link>
      <Separator />
      <Link to={`/trees/${detail.rootId}`}>Tree</Link>
      {ancestors.map((run) => (
        <span key={run.id} className="crumb">
          <Separator />
          <Link to={withTab(`/runs/${run.id}`)} className="truncate">
            {displayName(run)}
          </Link>
        </span>
      ))}
      {(previous !== null || next !== null) && (
        <span className="siblings">
          <Sibling run={previous} label="Previous sibling" glyph="←" />
          <Sibling run={next} label="Next sibling" glyph="→" />
        </span>
      )}
    </nav>
  );
}

function Separator(): ReactNode {
  return (
    <span className="crumb-separator" aria-hidden="true">
      /
    </span>
  );
}

function Sibling({ run, label, glyph }: { run: LiveRun | null; label: string; glyph: string }): ReactNode {
  if (run === null) return null;
  const text = `${label}: ${displayName(run)}`;
  return (
    <Link to={withTab(`/runs/${run.id}`)} aria-label={text} title={text} className="sibling">
      {glyph}
    </Link>
  );
}
