// Continues a tree whose process is gone, from its facts: rights, budgets and deadlines as they were recorded. Nothing is driven here, and nothing
// outside is asked except for the models.
//
// V1. Rights and limits are those of the facts; a changed configuration neither widens nor narrows a resumed run.
// V2. Recorded spending is charged to the run and its ancestors before the first new call.
// V3. Deadlines are moments on the wall clock: time without a process counts.
// V4. No MCP server is started because facts alone say so (`pinned-agent.ts`).
import type { Draft } from '../../contract/fact.ts';
import type { RunRow } from '../../contract/run.ts';
import { isoToMs } from '../../text/instant.ts';
import { registerRun } from '../admission/create-run.ts';
import type { DialectServices } from '../delegation/dialect-services.ts';
import { loadProgram } from '../flow/admission.ts';
import { interruptedStepFacts } from '../flow/state.ts';
import type { RunDrafts } from '../journal.ts';
import { countRun, type Run } from '../run.ts';
import type { Services } from '../services.ts';
import { isWaiting } from '../state/outcome.ts';
import { deadlineOf, type RunState } from '../state/state.ts';
import { loadState } from './history.ts';
import { interruptedCallFacts } from './interrupted.ts';
import { readmitRun } from './readmission.ts';

/** The unended runs of a tree as they are stored, parents before their children. */
export interface StoredTree {
  rows: RunRow[];
  states: RunState[];
  dialect: DialectServices;
}

export type RecordedPause = NonNullable<RunState['paused']>;

/** Reads a tree without claiming it. Rejects if this program cannot read it (`store_newer`), or has no such dialect. */
export async function readTree(rootId: string, services: Services, known: RunState[] = []): Promise<StoredTree> {
  const { store } = services;
  const rows = await store.runs({ rootId, order: 'oldest' });
  const open = rows.filter((row) => row.endedAt === null).sort((a, b) => a.depth - b.depth);
  const unchanged = new Map(known.map((state) => [state.hash, state]));
  const states = await Promise.all(open.map((row) => unchanged.get(row.lastHash) ?? loadState(row.runId, store)));
  return { rows, states, dialect: await services.dialect(states[0]?.created.data.dialect) };
}

/** Registers the runs of a claimed tree, parents first. Rejects if a model is not available; then nothing has changed. */
export async function reviveRuns({ rows, states, dialect }: StoredTree, services: Services): Promise<Run[]> {
  const admissions = await Promise.all(states.map((state) => readmitRun(state, dialect, services)));
  const programs = await Promise.all(states.map((state) => loadProgram(state, services)));
  const runs = new Map<string, Run>();
  for (const [index, state] of states.entries()) {
    services.journal.adopt(state);
    const parent = runs.get(state.created.data.parentId ?? '') ?? null;
    const run = registerRun({ state, parent, dialect, work: admissions[index]?.work ?? null, program: programs[index] ?? null }, services);
    for (const row of rows) if (row.parentId === run.id && row.endedAt !== null) run.endedRows.set(row.runId, row);
    runs.set(run.id, run);
  }
  for (const row of rows) {
    // A client or a flow is no run that counts.
    if (row.parentId === null && runs.get(row.runId)?.work === null) continue;
    const counter = findCounter(row.runId, rows, runs);
    if (counter) countRun({ counter }, 1);
  }
  return [...runs.values()];
}

/** Runs that have ended count too: for their nearest live ancestor. */
function findCounter(runId: string, rows: RunRow[], runs: Map<string, Run>): Run['counter'] | null {
  const run = runs.get(runId);
  if (run) return run.counter;
  const parentId = rows.find((row) => row.runId === runId)?.parentId;
  return parentId ? findCounter(parentId, rows, runs) : null;
}

export interface ResumeContext {
  by: string;
  /** The process that drove it had died or gone silent. */
  isTakeover: boolean;
  /** A pause that it accepts continues as recorded. */
  staysPaused(pause: RecordedPause): boolean;
}

/** The facts with which a run continues. */
export function resumeFacts({ state }: Run, { by, isTakeover, staysPaused }: ResumeContext): RunDrafts {
  const isKept = state.paused !== null && staysPaused(state.paused);
  const data = { by, ...(isTakeover && { takeover: true as const }) };
  const resumed: Draft[] = isKept ? [] : [{ type: 'run.resumed', data }];
  const cut = [...interruptedCallFacts(state), ...interruptedStepFacts(state.flow, state.paused?.begun ?? null)];
  return { runId: state.runId, drafts: [...resumed, ...cut] };
}

/** How often the tree was taken over since any of its runs last made progress. 0 if all of them only wait: then none of them ended its process. */
export function countTakeovers(states: RunState[]): number {
  if (states.every((state) => state.paused || isWaiting(state))) return 0;
  return Math.min(...states.map(({ guards }) => guards.takeovers));
}

/** Stops a resumed run that was cancelled, or whose deadline passed, before the interruption. */
export function reapplyStops(run: Run, now: number): void {
  const { cancel } = run.state;
  const deadline = run.state.budgetPauseSince === null ? deadlineOf(run.state) : null;
  if (cancel) run.stop({ code: cancel.code, message: cancel.reason });
  else if (deadline !== null && isoToMs(deadline) <= now) run.stop({ code: 'deadline', message: 'the deadline passed' });
}
