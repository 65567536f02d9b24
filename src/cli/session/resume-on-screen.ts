// `resume` on a terminal: the full screen while the runs continue, their results after it.
import type { Api, Interrupted } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { shortId } from '../../views/format.ts';
import { snapshotToState } from '../../views/live-state.ts';
import type { Io } from '../io.ts';
import { createProgress } from '../progress/progress.ts';
import { renderTree } from '../progress/render-tree.ts';
import { catchUp } from './show-runs.ts';
import { showScreen } from './show-screen.ts';
import { outcomeUnlessPaused } from './stop-signals.ts';
import { printOutcomes } from './wait-for-runs.ts';

export interface ResumeRequest {
  /** Without a process: resumed here. */
  trees: Interrupted[];
  /** Runs with a process: they continue there and are shown here. */
  watched: string[];
  /** Pauses that end at a known time are kept. */
  patient: boolean;
}

export interface ResumeResult {
  outcomes: Outcome[];
  exitCode: number;
}

/** The screen closes when all of them have ended. If the user leaves it before, what was resumed here is paused again. */
export async function resumeOnScreen({ trees, watched, patient }: ResumeRequest, { io, api }: { io: Io; api: Api }): Promise<ResumeResult> {
  const outcomes: Outcome[] = [];
  const problems: string[] = [];
  const left = new AbortController();

  async function resumeTree(rootId: string): Promise<void> {
    try {
      const [root] = await api.resume(rootId, { patient });
      const outcome = root ? await outcomeUnlessPaused(root.outcome) : null;
      if (outcome) outcomes.push(outcome);
    } catch (error) {
      problems.push(`${shortId(rootId)}: ${sanitizeLine(isRetinueError(error) ? error.message : String(error))}`);
    }
  }

  async function waitForWatched(): Promise<void> {
    if (watched.length === 0) return;
    const found = await api.wait(watched, { any: false, signal: left.signal }).catch((): (Outcome | null)[] => []);
    outcomes.push(...found.filter((outcome) => outcome !== null));
  }

  const ended = Promise.all([...trees.map(({ rootId }) => resumeTree(rootId)), waitForWatched()]).then(() => {});
  const roots = trees.map(({ rootId }) => rootId);
  const [only] = [...roots, ...watched];
  const attach = roots.length + watched.length === 1 && only !== undefined ? { rootId: (await api.tree(only)).rootId, runId: only } : null;
  const exitCode = await showScreen(io, api, { attach, until: ended, driven: api.server === undefined ? roots : [] });
  left.abort();
  // After an early end, trees are paused by now. A tree of a server is not waited for.
  if (api.server === undefined) await ended;
  await printResults(outcomes, { io, api });
  for (const problem of problems) io.err(`retinue: ${problem}\n`);
  return { outcomes, exitCode: exitCode || (problems.length > 0 ? 1 : 0) };
}

/** The screen leaves nothing behind, so the final state of each tree comes first. */
async function printResults(outcomes: Outcome[], { io, api }: { io: Io; api: Api }): Promise<void> {
  if (outcomes.length === 0) return;
  const counter = createProgress(io, { stream: false, plain: true });
  for (const { runId } of outcomes) {
    await catchUp(api, runId, counter);
    const view = { columns: Math.max(1, io.columns() - 1), rows: io.rows(), now: io.now(), colour: io.colour.err };
    for (const line of renderTree(snapshotToState(await api.tree(runId)), view)) io.err(`${line}\n`);
  }
  printOutcomes(io, outcomes, { json: false, progress: counter });
}
