// Reading runs that are not driven here: their state, and the conversation that another run goes on with.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { Fact, FactData } from '../contract/fact.ts';
import type { Ruleset } from '../contract/grant.ts';
import type { RunRow } from '../contract/run.ts';
import { entriesToMessages, type Pinned } from '../conversation/request.ts';
import type { Store } from '../ports/store.ts';
import { sha256 } from '../text/canonical.ts';
import { foldFacts, initialState, type RunState, reduce } from './state.ts';

/** The state of a run as its stored facts say. Rejects with `unknown_run` or `erased`. */
export async function loadState(runId: string, store: Store): Promise<RunState> {
  return foldFacts(await factsOf(runId, store));
}

async function factsOf(runId: string, store: Store): Promise<Fact[]> {
  const facts = await store.facts({ runId });
  if (facts.length > 0) return facts;
  const row = await store.run(runId);
  if (!row) throw new RetinueError('unknown_run', `there is no run ${runId}`);
  assertKept(row);
  return facts;
}

/** Throws `erased` for a run whose facts say nothing any more. */
export function assertKept({ runId, erasedAt }: RunRow): void {
  if (erasedAt === undefined) return;
  throw new RetinueError('erased', `run ${runId} was erased on ${erasedAt}: of what it said only the hashes are kept`);
}

/** Everything that requests of a started run are made of besides its facts. Rejects with `store_corrupt` where a text is gone. */
export async function pinnedOf(runId: string, started: FactData['run.started'], store: Pick<Store, 'blob'>): Promise<Pinned> {
  const text = async (hash: string | null) => {
    const found = hash === null ? '' : await store.blob(hash);
    if (found === null) throw new RetinueError('store_corrupt', `a text that run ${runId} pinned is gone (${hash})`);
    if (hash !== null && sha256(found) !== hash)
      throw new RetinueError('store_corrupt', `a text that run ${runId} pinned was changed (${hash})`);
    return found;
  };
  const [system, tools, history] = await Promise.all([text(started.system), text(started.tools), text(started.history)]);
  return {
    system,
    systemHash: started.system ?? '',
    tools: tools === '' ? [] : JSON.parse(tools),
    toolsHash: started.tools ?? '',
    history: history === '' ? [] : JSON.parse(history),
    historyHash: started.history,
  };
}

/** Whether the run that a brief goes on with, if it names one, can be gone on with. Rejects with `unknown_run` or `not_continuable`. */
export async function checkContinuable({ continues, continuesAt }: Brief, store: Store): Promise<void> {
  if (continues === undefined) {
    if (continuesAt !== undefined)
      throw new RetinueError('invalid_brief', 'continuesAt: it says where in a run to go on, and `continues` names none');
    return;
  }
  const row = await store.run(continues);
  if (!row) throw new RetinueError('unknown_run', `there is no run ${continues}`);
  assertKept(row);
  if (continuesAt !== undefined) {
    await stateAt(continues, continuesAt, store);
    return;
  }
  if (row.endedAt === null || row.startedAt === null) throw notContinuable(continues);
}

function notContinuable(runId: string): RetinueError {
  return new RetinueError('not_continuable', `run ${runId} has not ended, or was never started: it cannot be gone on with`);
}

/** The state as it was when everything that a turn asked for had come back. Rejects where there is no such turn, or it is not over yet. */
async function stateAt(runId: string, turn: number, store: Store): Promise<RunState> {
  const [first, ...rest] = await factsOf(runId, store);
  if (first?.type !== 'run.created') throw new RetinueError('unknown_run', `there is no run ${runId}`);
  const state = initialState(first);
  let over = false;
  for (const fact of rest) {
    over = fact.type === 'run.ended' || (fact.type === 'model.asked' && state.turns === turn);
    if (over && state.turns === turn) break;
    reduce(state, fact);
  }
  if (!state.started || state.created.data.kind === 'client') throw notContinuable(runId);
  if (state.turns !== turn) throw new RetinueError('not_continuable', `run ${runId} has no turn ${turn}: its last is turn ${state.turns}`);
  if (!over) throw new RetinueError('not_continuable', `turn ${turn} of run ${runId} is not over yet: it cannot be gone on with`);
  return state;
}

export interface Past {
  messages: LanguageModelV4Message[];
  /** Where what it has read comes from. */
  taint: string[];
}

/** The conversation of an ended run, or of a run up to and with a turn, without its system prompt. */
export async function historyOf(runId: string, turn: number | null, store: Store): Promise<Past> {
  const state = turn === null ? await loadState(runId, store) : await stateAt(runId, turn, store);
  if ((turn === null && !state.ended) || !state.started) throw notContinuable(runId);
  const earlier =
    state.started.data.history === null
      ? []
      : (JSON.parse((await store.blob(state.started.data.history)) ?? '[]') as LanguageModelV4Message[]);
  const entries = [...state.entries];
  // Providers refuse calls without results; a run that was stopped in the middle may have such.
  if (state.calls.length > 0) entries.push({ kind: 'results', calls: state.calls });
  return { messages: [...earlier, ...entriesToMessages(entries)], taint: [...state.taint].sort() };
}

/** A brief that goes on with an ended run: with its agent, model and label, and with everything that narrowed it. */
export function followUp(state: RunState, task: string): Brief {
  const { brief, agent, model, grant, parentId } = state.created.data;
  const { limits, tools, label } = brief;
  const rulesets = [...(brief.rulesets ?? []), ...(parentId === null ? ownersDenials(grant.rulesets) : []), ...later(state.narrowed)];
  return {
    task,
    continues: state.runId,
    ...(agent === null ? {} : { agent }),
    ...(parentId !== null || model === null ? {} : { model }),
    ...(label === undefined ? {} : { label }),
    ...(limits === undefined ? {} : { limits }),
    ...(tools === undefined ? {} : { tools }),
    ...(brief.rules === undefined ? {} : { rules: brief.rules }),
    ...(rulesets.length === 0 ? {} : { rulesets }),
  };
}

export type Narrowing = NonNullable<Brief['rulesets']>[number];

/** What the owner denied for a run was said on a command line that is gone. The built-in rules hold for every run by themselves. */
export function ownersDenials(rulesets: Ruleset[]): Narrowing[] {
  return rulesets.flatMap(({ kind, owner, rules }): Narrowing[] => {
    const denied = kind === 'owner' ? rules.filter((rule) => rule.action === 'deny' && rule.from !== undefined) : [];
    return denied.length === 0 ? [] : [{ kind: 'narrowing', owner, rules: denied }];
  });
}

/** Those that narrow, as they are: joined into one list they would mean something else. */
export function later(rulesets: Ruleset[]): Narrowing[] {
  return rulesets.flatMap((set) => (set.kind === 'narrowing' ? [{ ...set, kind: 'narrowing' as const }] : []));
}
