// A tree whose process is gone, made live again from its facts: places, rights, budgets and deadlines as they were recorded. Nothing is driven
// here and nothing outside is asked but for the models.
//
// V1. Rights and limits are those of the facts; a changed configuration neither widens nor narrows a run that goes on.
// V2. What was spent is charged to the run and to everything above it before the first new call.
// V3. Deadlines are moments on the wall clock: time without a process counts.
// V4. No server is started because facts alone say so (`pinned.ts`).
import { RetinueError } from '../contract/error.ts';
import type { Draft } from '../contract/fact.ts';
import type { Store } from '../ports/store.ts';
import { createBudget } from '../scheduling/budget.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { createSlotKeeper } from '../scheduling/slot.ts';
import { type Admitted, costByHand, type Ground, userOf, withSource } from './admit.ts';
import { isUnanswered } from './calls.ts';
import { loadState } from './history.ts';
import { type Journal, msOf, type Part } from './journal.ts';
import { createLiveRun, type LiveRun } from './live.ts';
import { definedThen, withoutOldServers } from './pinned.ts';
import type { RunState } from './state.ts';
import { unknownText } from './tool-call.ts';

export interface ReviveGround {
  admission: Ground;
  store: Store;
  journal: Journal;
  scheduler: Scheduler;
}

/** The live runs of a tree, parents before their children. Rejects where a model is not to be had; then nothing has changed. */
export async function reviveTree(rootId: string, ground: ReviveGround): Promise<LiveRun[]> {
  const { store, journal } = ground;
  const rows = await store.runs({ rootId, order: 'oldest' });
  const live = rows.filter((row) => row.endedAt === null).sort((a, b) => a.depth - b.depth);
  const states = await Promise.all(live.map((row) => loadState(row.runId, store)));
  const admissions = await Promise.all(states.map((state) => readmit(state, ground)));
  const runs = new Map<string, LiveRun>();
  for (const [i, state] of states.entries()) {
    journal.adopt(state);
    const parent = runs.get(state.created.data.parentId ?? '') ?? null;
    const run = placeAgain(state, { parent, admitted: admissions[i] as Admitted | null, scheduler: ground.scheduler, journal });
    for (const row of rows) if (row.parentId === run.id && row.endedAt !== null) run.endedRows.set(row.runId, row);
    runs.set(run.id, run);
    if (parent) parent.open++;
    parent?.children.add(run);
  }
  const families = new Set([...runs.values()].map((run) => run.family));
  for (const family of families) family.runs = 0;
  for (const row of rows) familyOf(row.runId, rows, runs).runs++;
  return [...runs.values()];
}

/** The facts with which a run goes on: a call that was cut off has an unknown end, unless making it again does no harm (invariant 3). */
export function takenUp(run: LiveRun, state: RunState, { by, until }: { by: string; until: number | null }): Part {
  const unknown = cutOff(state);
  const { resumeAt = null, reason = '' } = state.paused ?? {};
  const waits = until !== null && resumeAt !== null && msOf(resumeAt) > until;
  // Its pause goes on as it was recorded.
  if (waits) run.hold = { reason, resumeAt, consumed: [], isRecorded: true };
  return { runId: state.runId, drafts: waits ? unknown : [{ type: 'run.resumed', data: { by } }, ...unknown] };
}

/** Nobody knows what became of the calls that were at work when the process ended. */
export function cutOff({ calls }: RunState): Draft[] {
  // One that waits for somebody's word was not begun.
  const cut = calls.filter((call) => !call.finished && !call.idempotent && !isUnanswered(call));
  return cut.map(({ turn, index }): Draft => {
    const told = { taint: [], told: [], truncated: null };
    return { type: 'tool.finished', data: { index, output: unknownText, status: 'unknown', turn, ...told } };
  });
}

/** What was asked for before the interruption still holds. */
export function stopAsRecorded(run: LiveRun, { state, now }: { state: RunState; now: number }): void {
  const deadline = state.started?.data.deadline ?? null;
  if (state.cancel) run.stop({ code: state.cancel.code, message: state.cancel.reason });
  else if (deadline !== null && msOf(deadline) <= now) run.stop({ code: 'deadline', message: 'the deadline passed' });
}

/** The nearest run above that is live has the count; what ended counts too. */
function familyOf(runId: string, rows: { runId: string; parentId: string | null }[], runs: Map<string, LiveRun>): LiveRun['family'] {
  const run = runs.get(runId);
  if (run) return run.family;
  const parentId = rows.find((row) => row.runId === runId)?.parentId;
  return parentId ? familyOf(parentId, rows, runs) : { runs: 0 };
}

/** What admission gave, from the facts. Null for a client. */
async function readmit(state: RunState, ground: ReviveGround): Promise<Admitted | null> {
  const { catalog, models, compileSchema } = ground.admission;
  const { brief, grant, kind, agent: name, model, rootId, notices } = state.created.data;
  // Its rights were given for one folder, and facts may have come from elsewhere.
  if (grant.workspace !== ground.admission.settings.workspace)
    throw new RetinueError('usage', `run ${state.runId} belongs to the workspace ${grant.workspace}: resume it there (-C)`);
  if (kind === 'client' || name === null || model === null) return null;
  const pinned = await definedThen({ runId: state.runId, data: state.created.data }, ground.store);
  const today = catalog.get(name);
  const agent = pinned === null ? (today ?? { name, description: '', prompt: '', source: 'facts' }) : withoutOldServers(pinned, today);
  const listed = brief.model === undefined && Array.isArray(agent.model) ? agent.model : [];
  const current = state.fallback?.model ?? model;
  const handle = await models.resolve(current, userOf({ runId: state.runId, rootId }, brief, name, grant.workspace));
  const check = brief.result?.schema ? await compileSchema(brief.result.schema) : null;
  const { tools } = (await withSource(brief, agent, ground.admission)).ground;
  return { brief, agent, handle, fallbacks: listed.slice(listed.indexOf(current) + 1), grant, tools, notices, check };
}

interface Place {
  parent: LiveRun | null;
  admitted: Admitted | null;
  scheduler: Scheduler;
  journal: Journal;
}

function placeAgain(state: RunState, { parent, admitted, scheduler, journal }: Place): LiveRun {
  const { grant, rootId, depth } = state.created.data;
  const { limits } = grant;
  const limit = { maxTokens: limits.maxTokens.value, maxCostUsd: limits.maxCostUsd.value };
  const budget = parent ? parent.budget.child(limit) : createBudget(limit);
  budget.charge({ tokens: state.tokens.input + state.tokens.output, costUsd: state.costUsd ?? 0 });
  const atOnce = parent ? journal.state(parent.id).created.data.grant.limits.maxConcurrent.value : 1;
  return createLiveRun(
    {
      id: state.runId,
      rootId,
      parent,
      depth,
      admitted,
      rulesets: grant.rulesets,
      narrowed: [...state.narrowed],
      always: [...state.always],
      costByHand: admitted ? costByHand(limits, parent) : limits.maxCostUsd.value !== null,
      family: parent?.admitted ? parent.family : { runs: 0 },
      budget,
      notAfter: state.started?.data.deadline ?? grant.notAfter,
    },
    (signal) => createSlotKeeper(scheduler, { rootId, parentId: parent?.id ?? null, limit: atOnce ?? Number.MAX_SAFE_INTEGER, signal }),
  );
}
