import type { Api, Handle, Interrupted } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { leaveInTime, leavingText, leftBy, unlessPaused } from '../attend.ts';
import { cleanLine } from '../clean.ts';
import { ended } from '../describe.ts';
import type { Args } from '../flags.ts';
import { paint, shortId, statusStyle } from '../format.ts';
import type { Io, Stop } from '../io.ts';
import { outcomeJson, printJson } from '../json.ts';
import { progressFor } from '../progress.ts';
import { groundFlags, withApi } from '../session.ts';

/** Goes on with what earlier processes left unfinished, and waits for it. */
export async function run(args: Args, io: Io): Promise<number> {
  const flags = groundFlags(args);
  const outcomes: Outcome[] = [];
  let code = 0;
  const resume = async (api: Api, trees: Interrupted[]) => {
    const part = await resumeAll(io, api, { ids: trees.map((tree) => tree.rootId), args });
    outcomes.push(...part.outcomes);
    code ||= part.code;
  };
  const agents = { chosen: undefined };
  const others = await withApi(io, { flags, drive: true, agents }, async (api) => {
    const found = await wanted(args, io, api);
    if (found.length === 0 && !args.has('json')) io.err('retinue: nothing was interrupted\n');
    const own = found.filter((tree) => tree.dialect === api.dialect.name);
    if (own.length > 0) await resume(api, own);
    return found.filter((tree) => !own.includes(tree));
  });
  for (const dialect of new Set(others.map((tree) => tree.dialect))) {
    const trees = others.filter((tree) => tree.dialect === dialect);
    await withApi(io, { flags, drive: true, dialect, agents }, (api) => resume(api, trees));
  }
  if (args.has('json')) printJson(io, outcomes.map(outcomeJson));
  return code;
}

async function wanted(args: Args, io: Io, api: Api): Promise<Interrupted[]> {
  const all = await api.interrupted();
  if (args.words.length === 0) return all;
  const asked = await Promise.all(args.words.map((word) => api.show(word)));
  const held = asked.filter((each) => each.status === 'paused' && !all.some((tree) => tree.rootId === each.rootId));
  for (const { runId } of held) {
    await api.release(runId);
    io.err(`retinue: ${shortId(runId)} goes on where it is\n`);
  }
  return chosen(
    io,
    all,
    asked.filter((each) => !held.includes(each)).map((each) => each.rootId),
  );
}

function chosen(io: Io, all: Interrupted[], roots: string[]): Interrupted[] {
  for (const root of roots.filter((id) => !all.some((tree) => tree.rootId === id)))
    io.err(`retinue: ${shortId(root)} was not interrupted: it has ended, or a living process drives it\n`);
  return all.filter((tree) => roots.includes(tree.rootId));
}

/** Exit code 0 when all of it has ended, whatever came out; 130 when it was interrupted, 1 where another process was faster. */
async function resumeAll(io: Io, api: Api, { ids, args }: { ids: string[]; args: Args }): Promise<{ outcomes: Outcome[]; code: number }> {
  const progress = progressFor(io, { stream: false, plain: args.has('plain') });
  const handles: Handle[] = [];
  let stopped: Stop | null = null;
  let endWait = () => {};
  const release = io.onInterrupt((why) => {
    if (stopped !== null) io.exitNow(leftBy(why));
    stopped = why;
    if (why === 'terminate') {
      endWait = leaveInTime(io);
      return void api.drain(leavingText).catch(() => {});
    }
    progress.note('retinue: cancelling; Ctrl-C again leaves at once\n');
    for (const handle of handles) void handle.cancel('interrupted').catch(() => {});
  });
  const unwatch = api.watch(progress.event);
  let code = 0;
  const outcomes: Outcome[] = [];
  try {
    for (const id of ids) {
      const root = await take(io, api, id);
      if (root) handles.push(root);
      else code = 1;
    }
    for (const handle of handles) {
      const outcome = await unlessPaused(handle.outcome);
      if (outcome) outcomes.push(outcome);
      else io.err(`retinue: run ${shortId(handle.id)} is paused again\n`);
    }
  } finally {
    endWait();
    unwatch();
    release();
    progress.end(null);
  }
  for (const outcome of outcomes) if (!args.has('json')) io.out(`${line(outcome, io.colour.out)}\n`);
  return { outcomes, code: stopped ? leftBy(stopped) : code };
}

async function take(io: Io, api: Api, id: string): Promise<Handle | null> {
  try {
    const [root] = await api.resume(id);
    return root ?? null;
  } catch (error) {
    if (!isRetinueError(error) || error.code !== 'fenced') throw error;
    io.err(`retinue: ${cleanLine(error.message)}\n`);
    return null;
  }
}

function line(outcome: Outcome, colour: boolean): string {
  return `${shortId(outcome.runId)} ${paint(colour, statusStyle[outcome.status], cleanLine(ended(outcome)))}`;
}
