import type { Api, Interrupted, RunHandle } from '../../api/api.ts';
import type { Settings } from '../../config/settings.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { Args } from '../args/parse-args.ts';
import { addDirSetting, commonSettings, questionTimeout, sandboxSetting } from '../args/settings-flags.ts';
import { addDirFlag, askFlag, type Command, commonFlags, jsonFlag, plainFlag, sandboxFlag, unlimited } from '../command.ts';
import type { Io, Stop } from '../io.ts';
import { formatOutcomeLine } from '../output/describe-fact.ts';
import { shortId } from '../output/format.ts';
import { outcomeToJson, printJson } from '../output/json.ts';
import { createProgress, type Progress } from '../progress/progress.ts';
import { withApi } from '../session/open-api.ts';
import { createQuestionPrompt } from '../session/question-prompt.ts';
import { cancelRun, handleStops, outcomeUnlessPaused, pauseForExit, stopExitCode } from '../session/stop-signals.ts';

export const resumeCommand: Command = {
  name: 'resume',
  group: 'control',
  usage: '[ID…] [flags]',
  summary: 'continue runs whose process has died, and paused runs',
  about:
    'Without an ID: every interrupted run. No answered model call and no finished tool call is repeated. If a tool call was cut off, the model is told that its result is unknown; calls that are safe to repeat are repeated. Time limits include the interruption.\n\n' +
    'A database that was not created on this machine may have come with the folder. Look at its runs with `retinue show`, then continue them with --adopt. The command returns when all runs have ended, with exit code 0 whatever their results; --json prints the outcomes.',
  flags: [
    { name: 'adopt', help: 'accept a database that was not created on this machine, now and in future' },
    askFlag,
    sandboxFlag,
    addDirFlag,
    jsonFlag,
    plainFlag,
    ...commonFlags,
  ],
  positionals: { min: 0, max: unlimited },
  examples: [
    ['retinue resume', 'after a crash, a restart or a closed laptop'],
    ['retinue resume last', 'only the newest run'],
  ],
  exitCodes: 'command',
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const adopted = args.has('adopt');
  const session = {
    ...{ flags: { ...commonSettings(args), ...sandboxSetting(args), ...addDirSetting(args) }, drive: true, agents: { chosen: undefined } },
    ...{ askMs: questionTimeout(args, io), adopted },
  };
  const progress = createProgress(io, { stream: false, plain: args.has('plain') });
  return withApi(io, session, async (api, settings) => {
    const trees = await findTrees(args, io, api);
    if (adopted) await adoptDatabase(io, settings);
    else if (trees.length > 0) await io.origin.assert(settings);
    if (trees.length === 0 && !args.has('json')) io.err('retinue: there is nothing to resume\n');
    const { outcomes, exitCode } = await resumeTrees(trees, { patient: args.positionals.length === 0 }, { io, api, progress });
    if (args.has('json')) printJson(io, outcomes.map(outcomeToJson));
    else for (const outcome of outcomes) io.out(`${formatOutcomeLine(outcome, io.colour.out)}\n`);
    return exitCode;
  });
}

/** The runs are resumed even if the decision cannot be saved. */
async function adoptDatabase(io: Io, settings: Settings): Promise<void> {
  try {
    await io.origin.adopt(settings);
  } catch (error) {
    if (!isRetinueError(error)) throw error;
    io.err(`retinue: --adopt will be needed again next time: ${sanitizeLine(error.message)}\n`);
  }
}

/** Interrupted trees of the given runs. Paused runs of living processes are released on the way. */
async function findTrees(args: Args, io: Io, api: Api): Promise<Interrupted[]> {
  const all = await api.interrupted();
  if (args.positionals.length === 0) return all;
  const runs = await Promise.all(args.positionals.map((id) => api.show(id)));
  for (const { runId } of runs.filter((run) => run.driven && run.kind === 'agent')) {
    io.err(`retinue: ${shortId(runId)} ${(await api.release(runId)) ? 'continues in its own process' : 'is already running'}\n`);
  }
  for (const { runId } of runs.filter(({ endedAt }) => endedAt !== null)) io.err(`retinue: ${shortId(runId)} has already ended\n`);
  const roots = new Set(runs.filter((run) => !run.driven && run.endedAt === null).map((run) => run.rootId));
  return all.filter((tree) => roots.has(tree.rootId));
}

interface ResumeDeps {
  io: Io;
  api: Api;
  progress: Progress;
}

/** Resumes all trees at once: the time limit of one does not wait for another. A tree that cannot be resumed is reported and leaves the others alone. */
async function resumeTrees(trees: Interrupted[], options: { patient: boolean }, { io, api, progress }: ResumeDeps) {
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
      else io.err(`retinue: run ${shortId(root.id)} is paused again\n`);
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

  const unwatch = api.watch(progress.handleEvent);
  const questions = createQuestionPrompt(io, api, progress);
  try {
    for (const question of await api.questions()) if (trees.some((tree) => tree.rootId === question.rootId)) questions.askAgain(question);
    await Promise.all(trees.map(resumeTree));
  } finally {
    unwatch();
    questions.close();
    stops.end();
    progress.end(null);
  }
  const requested = stops.requested();
  return { outcomes, exitCode: requested ? stopExitCode(requested) : hasFailed ? 1 : 0 };
}
