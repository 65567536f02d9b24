import type { Api } from '../../api/api.ts';
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { isAfter } from '../../text/position.ts';
import { createProgressDescriber } from '../../views/describe-fact.ts';
import { snapshotToState } from '../../views/live-state.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings, defaultQuestionMs } from '../args/settings-flags.ts';
import { type Command, serverFlags, writingFlags } from '../command.ts';
import type { Io, Stop } from '../io.ts';
import { renderTree } from '../progress/render-tree.ts';
import { withApi } from '../session/open-api.ts';
import { orphanMessage, watchForOrphans } from '../session/orphan-watch.ts';
import { reportConnection } from '../session/server.ts';
import { canShowScreen, showScreen } from '../session/show-screen.ts';
import { stopExitCode } from '../session/stop-signals.ts';

export const attachCommand: Command = {
  name: 'attach',
  group: 'watch',
  usage: 'ID [--plain] [flags]',
  summary: 'watch and steer the tree of one run on a full screen',
  about:
    'Shows the whole tree of the run as it changes, also if another process runs it or `run --detach` started it, and also after its end. Press ? for all keys. Leaving the screen changes nothing: the runs continue. Without a terminal, or with --plain, it prints the tree once and then one line per event until the run has ended.',
  flags: [{ name: 'plain', help: 'print the tree and one line per event, for screen readers and pipes' }, ...writingFlags, ...serverFlags],
  positionals: { min: 1, max: 1 },
  examples: [
    ['retinue attach last', 'the newest run'],
    ['retinue run --detach "fix the tests"; retinue attach last', 'work in the background, watched'],
    ['retinue attach last --plain | tee run.log', 'as text'],
  ],
  exitCodes: 'watch',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const [given] = args.positionals as [string];
  const flags = commonSettings(args);
  if (!canShowScreen(io, args)) return withApi(io, { flags, drive: false }, async (api) => printTree(io, api, await api.find(given)));
  await io.assertNotBelowRun();
  return withApi(io, { flags, drive: true, existingOnly: true, askMs: defaultQuestionMs }, async (api) => {
    const { rootId } = await api.tree(given);
    return showScreen(io, api, { attach: { rootId, runId: await api.find(given) } });
  });
}

/** Prints what there is, then each event of the tree until its root has ended. */
async function printTree(io: Io, api: Api, runId: string): Promise<number> {
  const snapshot = await api.tree(runId);
  const { rootId, position } = snapshot;
  const state = snapshotToState(snapshot);
  const view = { columns: io.outTTY ? io.columns() - 1 : 200, rows: Number.POSITIVE_INFINITY, now: io.now(), colour: io.colour.out };
  io.out(
    renderTree(state, view)
      .map((line) => `${line}\n`)
      .join(''),
  );
  if (!isLive((state.runs.get(rootId) as LiveRun).status)) return 0;
  return followTree(io, api, { rootId, after: position });
}

async function followTree(io: Io, api: Api, { rootId, after }: { rootId: string; after: string }): Promise<number> {
  const stop = new AbortController();
  let stopped: Stop | 'orphaned' | null = null;
  const end = (why: Stop | 'orphaned') => {
    stopped ??= why;
    stop.abort();
  };
  const release = io.onInterrupt((why) => (stop.signal.aborted ? io.exitNow(130) : end(why)));
  const stopWatch = watchForOrphans(io, api, { ids: [rootId], any: false, onOrphan: () => end('orphaned') });
  const endReports = reportConnection(api.server, io.err);
  const describe = createProgressDescriber();
  try {
    // The describer remembers calls from before, so it gets all facts; only new ones are printed.
    for (const fact of await api.logs(rootId, { tree: true })) if (!('erased' in fact) && !isAfter(fact.position, after)) describe(fact);
    for await (const event of api.stream({ tree: rootId, after, signal: stop.signal })) {
      if (event.type === 'delta' || event.type === 'reset') continue;
      const line = describe(event);
      if (line !== null) io.out(`${line}\n`);
      if (event.type === 'run.ended' && event.runId === rootId) break;
    }
  } finally {
    stopWatch();
    endReports();
    release();
  }
  if (stopped === null) return 0;
  if (stopped === 'orphaned') {
    io.err(`retinue: ${rootId.slice(0, 8)} ${orphanMessage}\n`);
    return 1;
  }
  return stopExitCode(stopped);
}
