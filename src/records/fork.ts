// Briefs that continue a recorded run as a new root, from its end or from one of its turns, with no more rights or budget than that run had.
import type { Brief } from '../contract/brief.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import {
  collectOwnerDenials,
  createFollowUpBrief,
  keepNarrowingRulesets,
  loadState,
  type NarrowingRuleset,
  pickFileFields,
} from '../kernel/recovery/history.ts';
import type { RunState } from '../kernel/state/state.ts';
import type { Store } from '../ports/store.ts';

export interface Fork {
  turn: number;
  task: string;
  /** A model other than the run's own. */
  model?: string | undefined;
}

/** Rejects with `unknown_run`. Admission checks whether the turn exists. */
export async function createForkBrief(runId: string, { turn, ...options }: Fork, store: Store): Promise<Brief> {
  return { ...(await createRootFollowUp(runId, options, store)), continuesAt: turn };
}

/** A brief that continues a run as a new root. */
export async function createRootFollowUp(runId: string, { task, model }: Omit<Fork, 'turn'>, store: Store): Promise<Brief> {
  const state = await loadState(runId, store);
  const { grant, model: recordedModel } = state.created.data;
  const ancestors = await loadAncestors(state, store);
  const { effort, ...brief } = createFollowUpBrief(state, task);
  const rulesets = [...(brief.rulesets ?? []), ...ancestors.flatMap(narrowingRulesetsOf)];
  const newModel = model ?? brief.model ?? recordedModel;
  // A run without files of its own used those of the nearest run above it that had some.
  const files = [state, ...ancestors].map(pickFileFields).find((own) => Object.keys(own).length > 0);
  return {
    ...brief,
    // Another model may not be able to do it.
    ...(effort !== undefined && (model === undefined || model === recordedModel) && { effort }),
    ...files,
    limits: { ...brief.limits, ...limitsOf(state) },
    // A child was offered only the tools that its ancestors may use. A root's brief already says which tools it may use.
    ...(ancestors.length === 0 ? {} : { tools: { allow: grant.tools } }),
    ...(newModel === null ? {} : { model: newModel }),
    ...(rulesets.length === 0 ? {} : { rulesets }),
  };
}

/** The run's limits as explicit values. The default cost limit is left to admission, because it applies only to models with a known price. */
function limitsOf({ created }: RunState): LimitsGiven {
  const { grant, depth } = created.data;
  const limits = Object.entries(grant.limits).flatMap(([name, { value, from }]) => {
    if (value === null || (name === 'maxCostUsd' && from === 'default')) return [];
    // Depth is counted from the root, and the run becomes a root.
    return [[name, name === 'maxDepth' ? Math.max(0, value - depth) : value]];
  });
  return Object.fromEntries(limits);
}

/** The states of a run's ancestors, its parent first. */
async function loadAncestors(state: RunState, store: Store): Promise<RunState[]> {
  const { parentId } = state.created.data;
  if (parentId === null) return [];
  const parent = await loadState(parentId, store);
  return [parent, ...(await loadAncestors(parent, store))];
}

/** Everything that narrowed a run, each ruleset separately. */
function narrowingRulesetsOf({ created, rights }: RunState): NarrowingRuleset[] {
  const { rulesets } = created.data.grant;
  return [...collectOwnerDenials(rulesets), ...keepNarrowingRulesets(rulesets), ...keepNarrowingRulesets(rights.narrowed)];
}
