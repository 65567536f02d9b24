import type { Api, Interrupted, RunHandle } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { createAsker } from '../asker.ts';
import { both, leaveInTime, leavingText, leftBy, unlessPaused } from '../attend.ts';
import { cleanLine } from '../clean.ts';
import { ended } from '../describe.ts';
import type { Args } from '../flags.ts';
import { paint, shortId, statusStyle } from '../format.ts';
import type { Io, Stop } from '../io.ts';
import { outcomeJson, printJson } from '../json.ts';
import { type Progress, progressFor } from '../progress.ts';
import { askOf, groundFlags, sandboxFlag, withApi } from '../session.ts';
import type { Settings } from '../settings.ts';

/** Goes on with what earlier processes left unfinished, and waits for it. Exit code 0 when all of it has ended, whatever came out. */
export async function run(args: Args, io: Io): Promise<number> {
  const flags = { ...groundFlags(args), ...sandboxFlag(args) };
  const askMs = askOf(args, io);
  const agents = { chosen: undefined };
  const adopted = args.has('adopt');
  const patient = args.words.length === 0;
  const progress = progressFor(io, { stream: false, plain: args.has('plain') });
  const party = createParty(io, progress);
  try {
    await withApi(io, { flags, drive: true, agents, askMs, adopted }, async (api, settings) => {
      const found = await wanted(args, io, api);
      if (adopted) await take(io, settings);
      else if (found.length > 0) await io.origin.assert(settings);
      if (found.length === 0 && !args.has('json')) io.err('retinue: nothing was interrupted\n');
      const of = (dialect: string) => found.filter((tree) => tree.dialect === dialect);
      const others = [...new Set(found.map((tree) => tree.dialect))].filter((dialect) => dialect !== api.dialect.name);
      // All at once: the deadlines of one do not wait for another.
      await Promise.all([
        party.join(api, of(api.dialect.name), { patient }),
        ...others.map((dialect) =>
          withApi(io, { flags, drive: true, dialect, agents, askMs, adopted }, (other) => party.join(other, of(dialect), { patient })),
        ),
      ]);
    });
  } finally {
    party.end();
  }
  if (args.has('json')) printJson(io, party.outcomes.map(outcomeJson));
  else for (const outcome of party.outcomes) io.out(`${line(outcome, io.colour.out)}\n`);
  return party.code();
}

/** Who says that it is theirs goes on, also where that cannot be kept. */
async function take(io: Io, settings: Settings): Promise<void> {
  try {
    await io.origin.adopt(settings);
  } catch (error) {
    if (!isRetinueError(error)) throw error;
    io.err(`retinue: the database will not be known next time: ${cleanLine(error.message)}\n`);
  }
}

async function wanted(args: Args, io: Io, api: Api): Promise<Interrupted[]> {
  const all = await api.interrupted();
  if (args.words.length === 0) return all;
  const asked = await Promise.all(args.words.map((word) => api.show(word)));
  for (const { runId } of asked.filter((each) => each.driven && each.kind === 'agent')) {
    io.err(`retinue: ${shortId(runId)} ${(await api.release(runId)) ? 'goes on where it is' : 'is at work'}\n`);
  }
  const roots = new Set(asked.filter((each) => !each.driven && each.endedAt === null).map((each) => each.rootId));
  for (const each of asked.filter(({ endedAt }) => endedAt !== null)) io.err(`retinue: ${shortId(each.runId)} has ended\n`);
  return all.filter((tree) => roots.has(tree.rootId));
}

/** Trees that are gone on with together. One that cannot be taken up, or is lost, is told and leaves the others alone. */
function createParty(io: Io, progress: Progress) {
  const outcomes: Outcome[] = [];
  const handles = new Set<RunHandle>();
  const apis = new Set<Api>();
  let code = 0;
  let stopped: Stop | null = null;
  let endWait = () => {};
  const cancel = (handle: RunHandle) => void handle.cancel('interrupted').catch(() => {});
  const release = io.onInterrupt((why) => {
    if (stopped !== null) io.exitNow(leftBy(why));
    stopped = why;
    if (why === 'terminate') {
      endWait = leaveInTime(io);
      for (const api of apis) void api.drain(leavingText).catch(() => {});
      return;
    }
    progress.note('retinue: cancelling; Ctrl-C again leaves at once\n');
    for (const handle of handles) cancel(handle);
  });

  async function one(api: Api, id: string, options: { patient: boolean }): Promise<void> {
    try {
      const [root] = await api.resume(id, options);
      if (!root) return;
      handles.add(root);
      if (stopped === 'terminate') await api.drain(leavingText);
      else if (stopped !== null) cancel(root);
      const outcome = await unlessPaused(root.outcome);
      if (outcome) outcomes.push(outcome);
      else io.err(`retinue: run ${shortId(root.id)} is paused again\n`);
    } catch (error) {
      code = 1;
      progress.note(`retinue: ${shortId(id)}: ${cleanLine(isRetinueError(error) ? error.message : String(error))}\n`);
    }
  }

  return {
    outcomes,
    async join(api: Api, trees: Interrupted[], options: { patient: boolean }): Promise<void> {
      apis.add(api);
      const asker = createAsker(io, api, progress);
      const unwatch = api.watch(both(progress.event, asker.event));
      const open = (await api.questions()).filter((question) => trees.some((tree) => tree.rootId === question.rootId));
      for (const question of open) asker.open(question);
      await Promise.all(trees.map((tree) => one(api, tree.rootId, options)));
      unwatch();
      asker.end();
      apis.delete(api);
    },
    end() {
      endWait();
      if (stopped === null) release();
      progress.end(null);
    },
    code: () => (stopped ? leftBy(stopped) : code),
  };
}

function line(outcome: Outcome, colour: boolean): string {
  return `${shortId(outcome.runId)} ${paint(colour, statusStyle[outcome.status], cleanLine(ended(outcome)))}`;
}
