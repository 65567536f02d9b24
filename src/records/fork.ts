// A brief that goes on another way from a recorded turn of a run: as a new root, with no more rights or budget than that run had.
import type { Brief } from '../contract/brief.ts';
import type { LimitsGiven } from '../contract/limits.ts';
import { followUpBrief, loadState, type NarrowingRuleset, narrowingOnly, ownerDenials } from '../kernel/history.ts';
import type { RunState } from '../kernel/state.ts';
import type { Store } from '../ports/store.ts';

export interface Fork {
  turn: number;
  task: string;
  /** Another model than the run's own. */
  model?: string | undefined;
}

/** Rejects with `unknown_run`; whether the turn is there is admission's to say. */
export async function forkBrief(runId: string, { turn, ...more }: Fork, store: Store): Promise<Brief> {
  return { ...(await followUpAsRoot(runId, more, store)), continuesAt: turn };
}

/** A brief that goes on with a run as a new root. */
export async function followUpAsRoot(runId: string, { task, model }: Omit<Fork, 'turn'>, store: Store): Promise<Brief> {
  const state = await loadState(runId, store);
  const { grant, model: own } = state.created.data;
  const above = await ancestors(state, store);
  const brief = followUpBrief(state, task);
  const rulesets = [...(brief.rulesets ?? []), ...above.flatMap(narrowingOf)];
  const asked = model ?? brief.model ?? own;
  return {
    ...brief,
    limits: { ...brief.limits, ...limitsOf(state) },
    // What was offered is what all rulesets above the run left of its tools; a root's own brief says the same again.
    ...(above.length === 0 ? {} : { tools: { allow: grant.tools } }),
    ...(asked === null ? {} : { model: asked }),
    ...(rulesets.length === 0 ? {} : { rulesets }),
  };
}

/** The limits in force. The built-in one on money is left to admission, which knows whether it can be kept with this model. */
function limitsOf({ created }: RunState): LimitsGiven {
  const { grant, depth } = created.data;
  const limits = Object.entries(grant.limits).flatMap(([name, { value, from }]) => {
    if (value === null || (name === 'maxCostUsd' && from === 'default')) return [];
    // A child becomes a root: it may delegate no deeper than it could.
    return [[name, name === 'maxDepth' ? Math.max(0, value - depth) : value]];
  });
  return Object.fromEntries(limits);
}

async function ancestors(state: RunState, store: Store): Promise<RunState[]> {
  const { parentId } = state.created.data;
  if (parentId === null) return [];
  const parent = await loadState(parentId, store);
  return [parent, ...(await ancestors(parent, store))];
}

/** What the rulesets of a run above took away, each on its own as it was. Lists of tools among them are told by what was offered as well. */
function narrowingOf({ created, rights }: RunState): NarrowingRuleset[] {
  const { rulesets } = created.data.grant;
  return [...ownerDenials(rulesets), ...narrowingOnly(rulesets), ...narrowingOnly(rights.narrowed)];
}
