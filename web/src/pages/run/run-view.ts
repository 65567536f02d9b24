// What the page of a run shows, from three sources: its detail (loaded), its tree (live) and its facts (live).
import type { LiveRun, RunDetail } from '../../../../src/contract/view.ts';
import type { LiveState } from '../../../../src/views/live-state.ts';
import type { RunRecord } from '../../data/run-store.ts';
import type { LiveRecord } from '../../data/use-live-run.ts';
import type { LiveTree } from '../../data/use-live-tree.ts';

export interface RunPageView {
  detail: RunDetail;
  run: LiveRun;
  state: LiveState;
  record: RunRecord;
  /** Changes with everything that is shown. */
  version: number;
  /** From the root down to the parent. */
  ancestors: LiveRun[];
  previous: LiveRun | null;
  next: LiveRun | null;
}

export function createRunView(detail: RunDetail, tree: LiveTree, { record, version }: LiveRecord): RunPageView {
  // Until the tree is loaded, and for an erased one, the detail has enough to show.
  const state = tree.state.runs.has(detail.runId) ? tree.state : detailToState(detail);
  const run = state.runs.get(detail.runId) as LiveRun;
  const siblings = run.parentId === null ? [] : (state.runs.get(run.parentId)?.children ?? []);
  const at = siblings.indexOf(run.id);
  return {
    ...{ detail, run, state, record },
    version: version + tree.version,
    ancestors: listAncestors(run, state),
    previous: state.runs.get(siblings[at - 1] ?? '') ?? null,
    next: state.runs.get(siblings[at + 1] ?? '') ?? null,
  };
}

function listAncestors(run: LiveRun, state: LiveState): LiveRun[] {
  const found: LiveRun[] = [];
  for (let at = run.parentId; at !== null; ) {
    const parent = state.runs.get(at);
    if (parent === undefined) break;
    found.unshift(parent);
    at = parent.parentId;
  }
  return found;
}

/** The run alone, without its relatives. */
function detailToState(detail: RunDetail): LiveState {
  const run = detailToRun(detail);
  return { runs: new Map([[run.id, run]]), roots: [run.id] };
}

function detailToRun(detail: RunDetail): LiveRun {
  const toMs = (at: string | null) => (at === null ? null : Date.parse(at));
  return {
    ...{ id: detail.runId, parentId: null, depth: detail.depth, kind: detail.kind, agent: detail.agent, model: detail.model },
    name: detail.label ?? detail.agent ?? detail.kind,
    task: detail.brief?.task.split('\n', 1)[0] ?? '',
    status: detail.status === 'interrupted' ? 'running' : detail.status,
    turn: detail.turns,
    maxTurns: detail.grant?.limits.maxTurns?.value ?? null,
    ...{ activity: '', tools: [], questions: 0, children: [] },
    createdAt: toMs(detail.startedAt ?? detail.endedAt) ?? 0,
    startedAt: toMs(detail.startedAt),
    endedAt: toMs(detail.endedAt),
    deadline: toMs(detail.deadline),
    tokens: detail.tokens.input + detail.tokens.output,
    costUsd: detail.costUsd,
    ...{ problems: { failed: 0, denied: 0 }, taint: [], resumesItself: false },
  };
}
