import { type ReactNode, useEffect } from 'react';
import type { RunDetail } from '../../../src/contract/view.ts';
import { RunActionsProvider } from '../actions/run-actions.tsx';
import { useClient } from '../data/context.tsx';
import { useLiveRun } from '../data/use-live-run.ts';
import { useLiveTree } from '../data/use-live-tree.ts';
import { useResource } from '../data/use-resource.ts';
import { Page } from '../parts/page.tsx';
import { ErrorState, Loading } from '../parts/states.tsx';
import { TabPanel, Tabs } from '../parts/tabs.tsx';
import { navigate, useRoute } from '../router.tsx';
import { ArtifactsTab } from './run/artifacts-tab.tsx';
import { BriefTab } from './run/brief-tab.tsx';
import { ChangesTab } from './run/changes-tab.tsx';
import { ConversationTab } from './run/conversation-tab.tsx';
import { CostTab } from './run/cost-tab.tsx';
import { RunFrame } from './run/header.tsx';
import { LogTab } from './run/log-tab.tsx';
import { createRunView, type RunPageView } from './run/run-view.ts';

const tabs = [
  { id: 'conversation', label: 'Conversation' },
  { id: 'changes', label: 'Changes' },
  { id: 'artifacts', label: 'Artifacts' },
  { id: 'log', label: 'Log' },
  { id: 'cost', label: 'Cost' },
  { id: 'brief', label: 'Brief and grant' },
];

export function RunPage({ id }: { id: string }): ReactNode {
  const client = useClient();
  const { data, error, reload } = useResource((signal) => client.run(id, { signal }), [client, id]);
  // The address may have the beginning of an id, or `last`.
  useEffect(() => {
    if (data !== undefined && data.runId !== id) navigate(`/runs/${data.runId}${window.location.search}`, { replace: true });
  }, [data, id]);
  if (data === undefined)
    return <Page title="Run">{error === null ? <Loading label="Loading the run" /> : <ErrorState error={error} retry={reload} />}</Page>;
  return (
    <RunActionsProvider>
      <LoadedRun key={data.runId} detail={data} reload={reload} />
    </RunActionsProvider>
  );
}

function LoadedRun({ detail, reload }: { detail: RunDetail; reload(): void }): ReactNode {
  const tree = useLiveTree(detail.rootId);
  const live = useLiveRun(detail.runId);
  const view = createRunView(detail, tree, live);
  const { status } = view.run;
  const messages = view.record.conversation.items.filter(({ kind }) => kind === 'message').length;
  // What the detail says changes with the state of the run, and with rules that came with messages.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these changes are the reason to load again.
  useEffect(() => {
    if (tree.version > 0) reload();
  }, [status, messages]);

  // What is loaded stays while the server cannot be reached; the banner says so.
  const problem = view.record.isLoaded ? null : live.error;
  return (
    <RunFrame view={view}>
      {problem !== null && <ErrorState error={problem} retry={() => [tree.reload(), live.reload()]} />}
      <RunTabs view={view} />
    </RunFrame>
  );
}

function RunTabs({ view }: { view: RunPageView }): ReactNode {
  const { query } = useRoute();
  const asked = query.get('tab') ?? 'conversation';
  const current = tabs.some(({ id }) => id === asked) ? asked : 'conversation';
  return (
    <>
      <Tabs
        label="About this run"
        current={current}
        tabs={tabs.map(({ id, label }) => ({
          id,
          label: id === 'conversation' && view.run.kind === 'flow' ? 'Steps' : label,
          to: `/runs/${view.run.id}${id === 'conversation' ? '' : `?tab=${id}`}`,
          count: id === 'log' ? view.record.log.length : undefined,
        }))}
      />
      <TabPanel id={current}>{tabContent(current, view)}</TabPanel>
    </>
  );
}

function tabContent(tab: string, view: RunPageView): ReactNode {
  switch (tab) {
    case 'changes':
      return <ChangesTab view={view} />;
    case 'artifacts':
      return <ArtifactsTab view={view} />;
    case 'log':
      return <LogTab view={view} />;
    case 'cost':
      return <CostTab view={view} />;
    case 'brief':
      return <BriefTab detail={view.detail} />;
    default:
      return <ConversationTab view={view} />;
  }
}
