// The head of all pages about a tree: its root, its totals, its actions, and the way between its pages.
import type { ReactNode } from 'react';
import { isLive } from '../../../../src/contract/run-status.ts';
import type { LiveRun } from '../../../../src/contract/view.ts';
import { formatDuration, shortId } from '../../../../src/views/format.ts';
import { displayName, hasProblems, knownCost, runTrust } from '../../../../src/views/run-row.ts';
import { shownStatus } from '../../../../src/views/tree-rows.ts';
import { useRunActions } from '../../actions/run-actions.tsx';
import { toTarget } from '../../actions/target.ts';
import { useMissingRole } from '../../data/context.tsx';
import { useIsDriven } from '../../data/use-driven.ts';
import type { LiveTree } from '../../data/use-live-tree.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Age, Duration, Money, Tokens } from '../../parts/figures.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Page } from '../../parts/page.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Link } from '../../router.tsx';
import { summarizeTree } from './summary.ts';
import { TrustWord } from './trust.tsx';
import './tree.css';

interface TreeFrameProps {
  /** It is loaded: `rootId` is not null. */
  tree: LiveTree;
  tab: 'runs' | 'timeline';
  children(isUndriven: boolean): ReactNode;
}

export function TreeFrame({ tree, tab, children }: TreeFrameProps): ReactNode {
  const { state } = tree;
  const root = state.runs.get(tree.rootId as string) as LiveRun;
  const isDriven = useIsDriven(root.id, isLive(root.status));
  const isUndriven = isDriven === false && isLive(root.status);
  const status = shownStatus(root, state, isUndriven);
  const name = displayName(root);
  const target = toTarget(root, state, isUndriven);
  const actions = useRunActions();
  const noSteer = useMissingRole('steer');
  const primary = actions.items(target).filter(({ label }) => ['Pause', 'Continue', 'Cancel…', 'Ask a follow-up…'].includes(label));
  return (
    <Page
      title={name}
      above={
        <nav aria-label="Breadcrumb" className="crumbs">
          <Link to="/">Trees</Link>
        </nav>
      }
      heading={
        <span className="run-title">
          <StatusMark status={status} hasProblems={hasProblems(root)} needsUser={root.questions > 0} />
          <span className="run-title-text">{name}</span>
          <TrustWord word={runTrust(root)} />
        </span>
      }
      subtitle={
        <>
          <span>{root.agent ?? root.kind}</span>
          {root.model !== null && <span>{root.model}</span>}
          <span>
            <code>{shortId(root.id)}</code> <CopyButton text={root.id} label="Copy run id" />
          </span>
          <span>
            started <Age at={root.createdAt} />
          </span>
        </>
      }
      actions={
        <>
          {primary.map(({ label, run, isDanger, disabledReason = null }) => (
            <Button key={label} variant={isDanger ? 'danger' : 'default'} disabledReason={disabledReason} onClick={run}>
              {label}
            </Button>
          ))}
          <Menu
            label="More actions"
            items={() =>
              actions.items(toTarget(root, state, isUndriven)).filter(({ label }) => !primary.some((each) => each.label === label))
            }
          >
            More
          </Menu>
        </>
      }
    >
      {isUndriven && status === 'interrupted' && (
        <div className="callout tone-warning">
          <span>
            <strong>Interrupted.</strong> The process that ran this tree no longer exists. It continues where it stopped.
          </span>
          <Button size="small" disabledReason={noSteer} onClick={() => actions.resume(target)}>
            Continue on the server
          </Button>
        </div>
      )}
      <TreeTotals tree={tree} root={root} />
      <Tabs
        label="Pages of this tree"
        current={tab}
        tabs={[
          { id: 'runs', label: 'Runs', to: `/trees/${root.id}`, count: state.runs.size },
          { id: 'timeline', label: 'Timeline', to: `/trees/${root.id}/timeline` },
        ]}
      />
      {children(isUndriven)}
    </Page>
  );
}

/** Numbers of the whole tree. */
function TreeTotals({ tree: { state }, root }: { tree: LiveTree; root: LiveRun }): ReactNode {
  const { live, failed, problems, questions, turns } = summarizeTree(state);
  return (
    <dl className="totals">
      <Total label="Runs">
        {state.runs.size}
        {live > 0 && <span className="tone-running tone-text"> {live} live</span>}
        {failed > 0 && <span className="tone-error tone-text"> {failed} failed</span>}
      </Total>
      <Total label="Turns">{turns}</Total>
      <Total label="Tokens">
        <Tokens value={root.tokens} />
      </Total>
      <Total label="Cost">
        <Money usd={knownCost(root)} />
      </Total>
      <Total label="Time">
        <Duration from={root.startedAt} to={root.endedAt} />
        {root.deadline !== null && root.startedAt !== null && root.endedAt === null && (
          <span className="muted"> of {formatDuration(root.deadline - root.startedAt)}</span>
        )}
      </Total>
      {problems > 0 && (
        <Total label={root.kind === 'flow' ? 'Failed or denied' : 'Failed or denied calls'}>
          <span className="tone-warning tone-text">{problems}</span>
        </Total>
      )}
      {questions > 0 && (
        <Total label="Waiting for you">
          <Link to="/approvals" className="tone-warning tone-text">
            {questions}, {root.kind === 'flow' ? 'answer' : 'review'}
          </Link>
        </Total>
      )}
    </dl>
  );
}

export function Total({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd className="figure">{children}</dd>
    </div>
  );
}
