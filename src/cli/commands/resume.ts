import type { Api, Interrupted, RunDetail, RunHandle } from '../../api/api.ts';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatStatus, shortId } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { addDirSetting, commonSettings, questionTimeout, sandboxSetting } from '../args/settings-flags.ts';
import { addDirFlag, askFlag, type Command, jsonFlag, plainFlag, sandboxFlag, serverFlags, unlimited, writingFlags } from '../command.ts';
import type { Io, Stop } from '../io.ts';
import { createProgress, type Progress } from '../progress/progress.ts';
import { withApi } from '../session/open-api.ts';
import { orphanMessage } from '../session/orphan-watch.ts';
import { createQuestionPrompt } from '../session/question-prompt.ts';
import { resumeOnScreen } from '../session/resume-on-screen.ts';
import { warnWithoutWorker } from '../session/run-in-queue.ts';
import { leftMessage } from '../session/run-to-end.ts';
import { reportConnection } from '../session/server.ts';
import { catchUp } from '../session/show-runs.ts';
import { canShowScreen } from '../session/show-screen.ts';
import { cancelRun, handleStops, outcomeUnlessPaused, pauseForExit, stopExitCode } from '../session/stop-signals.ts';
import { printOutcomes, waitForRuns } from '../session/wait-for-runs.ts';

export const resumeCommand: Command = {
  name: 'resume',
  group: 'control',
  usage: '[ID…] [flags]',
  summary: 'continue runs whose process has died, and paused runs',
  about:
    'Without an ID: every interrupted run. On a terminal it shows them on a full screen. When all have ended, it closes and their results are printed. If you leave it earlier, the runs are paused again. Press ? for all keys. Without a terminal, or with --plain, it prints one line per event instead. A paused run whose process is alive continues there, and is shown here. A run of a queue goes to a worker, and is shown here; without an ID such runs are left alone. No answered model call and no finished tool call is repeated. If a tool call was cut off, the model is told that its result is unknown; calls that are safe to repeat are repeated. Time limits include the interruption.\n\n' +
    'A database that you did not create on this machine may have come with the folder. Look at its runs with `retinue show`, then continue them with --adopt. The command returns when all runs have ended, with exit code 0 whatever their results; --json prints the outcomes.',
  flags: [askFlag, sandboxFlag, addDirFlag, jsonFlag, plainFlag, ...writingFlags, ...serverFlags],
  positionals: { min: 0, max: unlimited },
  examples: [
    ['retinue resume', 'after a crash, a restart or a closed laptop'],
    ['retinue resume last', 'only the newest run'],
  ],
  exitCodes: 'watch',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const session = {
    ...{
      flags: { ...commonSettings(args), ...sandboxSetting(args), ...addDirSetting(args) },
      drive: true,
      existingOnly: true,
      agents: { chosen: undefined },
    },
    askMs: questionTimeout(args, io),
  };
  return withApi(io, session, async (api) => {
    if (api.server && args.positionals.length === 0)
      throw new RetinueError(
        'usage',
        'name the runs: a server continues interrupted runs without being asked; usage: retinue resume ID… --server URL',
      );
    const { trees, watched } = await findTrees(args, io, api);
    const patient = args.positionals.length === 0;
    if (canShowScreen(io, args) && trees.length + watched.length > 0) {
      const { outcomes, exitCode } = await resumeOnScreen({ trees, watched, patient }, { io, api });
      for (const line of outcomes.flatMap(describeIncomplete)) io.err(`retinue: ${line}\n`);
      return exitCode;
    }
    const progress = createProgress(io, { stream: false, plain: args.has('plain') });
    const [resumed, followed] = await Promise.all([
      resumeTrees(trees, { patient }, { io, api, progress }),
      watchOthers(watched, { io, api, progress }),
    ]).finally(() => progress.end(null));
    const outcomes = [...resumed.outcomes, ...followed.outcomes];
    if (args.has('json') || outcomes.length > 0) printOutcomes(io, outcomes, { json: args.has('json'), progress });
    for (const line of [...outcomes.flatMap(describeIncomplete), ...followed.lines]) io.err(`retinue: ${line}\n`);
    return resumed.exitCode || followed.exitCode;
  });
}

/** The exit code is 0 whatever the results, so a run that did not complete is named. */
function describeIncomplete({ runId, status }: Outcome): string[] {
  const id = shortId(runId);
  if (status === 'completed') return [];
  if (status !== 'timed_out') return [`${id} did not complete: ${formatStatus(status)}`];
  return [
    `${id} did not complete: its time limit, which pauses and interruptions count towards, is over; \`retinue message ${id} TEXT\` asks it to do more`,
  ];
}

interface FoundTrees {
  /** Without a process: resumed here. */
  trees: Interrupted[];
  /** Runs with a process, and those of a queue: they continue there or in a worker, and are shown here. */
  watched: string[];
}

/** Pauses of runs that have a process or a queue are ended on the way. */
async function findTrees(args: Args, io: Io, api: Api): Promise<FoundTrees> {
  const all = await api.interrupted();
  if (args.positionals.length === 0) {
    if (all.length === 0) io.err(`retinue: ${await describeNothing(api)}\n`);
    return { trees: all, watched: [] };
  }
  const runs = await Promise.all(args.positionals.map((id) => api.show(id)));
  const watched: string[] = [];
  for (const { runId, driven, kind, endedAt, status, queue } of runs) {
    const id = shortId(runId);
    if (endedAt !== null) {
      const ended = `${id} has already ended: ${formatStatus(status)}`;
      io.err(`retinue: ${ended}; \`retinue show ${id}\` has its result, \`retinue message ${id} TEXT\` asks it to do more\n`);
    } else if (driven) {
      const wasPaused = kind !== 'client' && (await api.release(runId));
      io.err(`retinue: ${id} ${wasPaused ? 'continues' : 'is not paused; it runs'} in its own process; Ctrl-C stops watching it\n`);
      watched.push(runId);
    } else if (queue !== undefined) {
      await api.release(runId);
      const when = status === 'queued' ? 'waits for a worker' : 'continues as soon as a worker takes it';
      io.err(`retinue: ${id} is in the queue \`${queue}\` and ${when}; Ctrl-C stops watching it\n`);
      await warnWithoutWorker(io, api, queue);
      watched.push(runId);
    }
  }
  const isInterrupted = (run: RunDetail) => !run.driven && run.endedAt === null && run.queue === undefined;
  const roots = new Set(runs.filter(isInterrupted).map((run) => run.rootId));
  return { trees: all.filter((tree) => roots.has(tree.rootId)), watched };
}

/** Paused runs with a process are continued only by their id: somebody wanted them to stop. */
async function describeNothing(api: Api): Promise<string> {
  const paused = (await api.ps({ all: false })).filter((run) => run.parentId === null && run.status === 'paused');
  if (paused.length === 0) return 'there is nothing to resume';
  return `no run was interrupted; to continue a paused one: ${paused.map(({ runId }) => `retinue resume ${shortId(runId)}`).join(', ')}`;
}

/** Shows runs of other processes until they have ended. */
async function watchOthers(ids: string[], { io, api, progress }: ResumeDeps) {
  if (ids.length === 0) return { outcomes: [], lines: [], exitCode: 0 };
  const { outcomes, stopped } = await waitForRuns(io, api, { ids, any: false, timeoutMs: null, progress });
  const open = ids
    .filter((_, i) => outcomes[i] === null)
    .map(shortId)
    .join(', ');
  const line = stopped === 'orphaned' ? `${open} ${orphanMessage}` : `stopped watching; ${open} continues without this command`;
  const exitCode = stopped === null ? 0 : stopped === 'orphaned' ? 1 : 130;
  return { outcomes: outcomes.filter((outcome) => outcome !== null), lines: stopped === null ? [] : [line], exitCode };
}

interface ResumeDeps {
  io: Io;
  api: Api;
  progress: Progress;
}

/** Resumes all trees at once: the time limit of one does not wait for another. A tree that cannot be resumed is reported and leaves the others alone. */
async function resumeTrees(trees: Interrupted[], options: { patient: boolean }, { io, api, progress }: ResumeDeps) {
  if (trees.length === 0) return { outcomes: [], exitCode: 0 };
  const outcomes: Outcome[] = [];
  const handles = new Set<RunHandle>();
  let hasFailed = false;
  const stops = handleStops(io, progress, (why) => {
    if (why === 'terminate') pauseForExit(api);
    else for (const handle of handles) cancelRun(handle, why, progress);
  });

  async function resumeTree({ rootId }: Interrupted): Promise<void> {
    try {
      const [root] = await api.resume(rootId, options);
      if (!root) return;
      handles.add(root);
      applyEarlierStop(root, stops.requested());
      const outcome = await outcomeUnlessPaused(root.outcome);
      if (outcome) outcomes.push(outcome);
      else progress.print(`retinue: ${leftMessage(api, root.id, progress.deadline(root.id), io.now())}\n`);
    } catch (error) {
      hasFailed = true;
      progress.print(`retinue: ${shortId(rootId)}: ${sanitizeLine(isRetinueError(error) ? error.message : String(error))}\n`);
    }
  }

  /** A stop may be requested while the tree is being resumed. */
  function applyEarlierStop(root: RunHandle, why: Stop | null): void {
    if (why === 'terminate') pauseForExit(api);
    else if (why !== null) cancelRun(root, why, progress);
  }

  for (const { rootId } of trees) await catchUp(api, rootId, progress);
  const unwatch = api.watch(progress.handleEvent);
  const questions = createQuestionPrompt(io, api, progress);
  const endReports = reportConnection(api.server, progress.print);
  try {
    for (const question of await api.questions()) if (trees.some((tree) => tree.rootId === question.rootId)) questions.askAgain(question);
    await Promise.all(trees.map(resumeTree));
  } finally {
    unwatch();
    endReports();
    questions.close();
    stops.end();
  }
  const requested = stops.requested();
  return { outcomes, exitCode: requested ? stopExitCode(requested) : hasFailed ? 1 : 0 };
}
