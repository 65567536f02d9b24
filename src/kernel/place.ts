// The place of a new run in its tree: what it takes over from its parent, and the facts that say so.

import type { Agent } from '../contract/agent.ts';
import { passedOn } from '../rules/limits.ts';
import { createBudget } from '../scheduling/budget.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { createSlotKeeper } from '../scheduling/slot.ts';
import { canonical, sha256 } from '../text/canonical.ts';
import type { ParentView } from './admit.ts';
import { type Admitted, costByHand } from './admit.ts';
import type { Journal, Part } from './journal.ts';
import { createLiveRun, type LiveRun, rulesetsOf } from './live.ts';

/** The parent as admission sees it. */
export function viewOf(parent: LiveRun, runsInTree: number, journal: Journal): ParentView {
  const { limits } = journal.state(parent.id).created.data.grant;
  const left = parent.budget.left();
  const values = passedOn(limits, { isClient: parent.admitted === null });
  values.maxTokens = left.tokens === null ? null : Math.max(1, left.tokens);
  values.maxCostUsd = left.costUsd;
  const { depth, notAfter, open: openChildren, costByHand: byHand } = parent;
  const model = parent.admitted?.handle.id ?? null;
  return { depth, limits: values, rulesets: rulesetsOf(parent), notAfter, model, runsInTree, openChildren, costByHand: byHand };
}

export interface Place {
  id: string;
  rootId: string;
  parent: LiveRun | null;
  view: ParentView | null;
  family: LiveRun['family'];
  admitted: Admitted;
}

/** The run with its budget under its parent's, its rules behind its ancestors' and its slot among its siblings. */
export function placeRun({ id, rootId, parent, view, family, admitted }: Place, scheduler: Scheduler): LiveRun {
  const { limits, rulesets, notAfter } = admitted.grant;
  const limit = { maxTokens: limits.maxTokens.value, maxCostUsd: limits.maxCostUsd.value };
  const concurrent = parent ? (view?.limits.maxConcurrent ?? Number.MAX_SAFE_INTEGER) : 1;
  return createLiveRun(
    {
      id,
      rootId,
      parent,
      depth: parent ? parent.depth + 1 : 0,
      admitted,
      rulesets,
      costByHand: costByHand(limits, view),
      family,
      budget: parent ? parent.budget.child(limit) : createBudget(limit),
      notAfter,
    },
    (signal) => createSlotKeeper(scheduler, { rootId, parentId: parent?.id ?? null, limit: concurrent, signal }),
  );
}

const definitions = new WeakMap<Agent, { text: string; hash: string }>();

/** An agent's definition as it is pinned. */
export function definitionOf(agent: Agent): { text: string; hash: string } {
  const known = definitions.get(agent);
  if (known) return known;
  const text = canonical(agent);
  const made = { text, hash: sha256(text) };
  definitions.set(agent, made);
  return made;
}

export interface Origin {
  call: { turn: number; index: number } | null;
  /** The brief's place among those of the call. */
  n: number;
  dialect: string;
  host: string;
}

/** {the run's run.created, its parent's child.created}: to be recorded in one transaction. */
export function createdParts(run: LiveRun, { call, n, dialect, host }: Origin, journal: Journal): Part[] {
  const { brief, agent, grant, handle, notices } = run.admitted as Admitted;
  const { id, rootId, parent, depth } = run;
  const definition = definitionOf(agent).hash;
  const shared = { agent: agent.name, brief, definition, depth, dialect, grant, host, kind: 'agent' as const, model: handle.id, notices };
  const data = { ...shared, parentCall: call, parentId: parent?.id ?? null, rootId };
  const own: Part = { runId: id, drafts: [{ type: 'run.created', data }] };
  if (!parent) return [own];
  const { label = null, background = false } = brief;
  const told = () => ({ agent: agent.name, background, call, childId: id, hash: journal.state(id).hash, label, n });
  return [own, { runId: parent.id, drafts: () => [{ type: 'child.created', data: told() }] }];
}
