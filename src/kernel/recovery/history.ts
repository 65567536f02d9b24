// Reads runs from the store that this process does not drive: their state, and the conversation that another run continues.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Fact, FactData } from '../../contract/fact.ts';
import { newestFactVersion } from '../../contract/fact-version.ts';
import type { Ruleset } from '../../contract/grant.ts';
import type { RunRow } from '../../contract/run.ts';
import { currentLoopVersion } from '../../conversation/loop-version.ts';
import { entriesToMessages, type PinnedParts } from '../../conversation/request.ts';
import type { Store } from '../../ports/store.ts';
import { canonical, factHash, sha256 } from '../../text/canonical.ts';
import { genesisHash } from '../journal.ts';
import { findCurrentHistory } from '../loop/compaction.ts';
import { applyFact, foldFacts } from '../state/fold.ts';
import { createRunState, currentCalls, endedFact, loopVersionOf, type RunState, startedFact } from '../state/state.ts';

/** The state of a run from its stored facts. Rejects with `unknown_run`, `erased`, `store_newer`, or `store_corrupt` if the facts were changed. */
export async function loadState(runId: string, store: Store): Promise<RunState> {
  return foldFacts(await loadFacts(runId, store));
}

async function loadFacts(runId: string, store: Store): Promise<Fact[]> {
  const facts = await store.facts({ runId });
  for (const fact of facts) assertKnownVersion(fact);
  assertChain(facts);
  if (facts.length > 0) return facts;
  const row = await store.run(runId);
  if (!row) throw unknownRunError(runId);
  assertNotErased(row);
  return facts;
}

/** Throws `store_corrupt` unless each fact has the hash of its content and of the fact before it. */
function assertChain(facts: Fact[]): void {
  let last = genesisHash;
  for (const fact of facts) {
    const { runId, seq, hash, data } = fact;
    if (hash !== factHash(fact, canonical(data), last))
      throw new RetinueError('store_corrupt', `run ${runId} was changed: its event ${seq} does not match its hash; run \`retinue verify\``);
    last = hash;
  }
}

/** Rejects with `store_corrupt` unless the state is what the processes of this user wrote. */
export async function assertAuthentic({ runId, seq, hash }: RunState, store: Store): Promise<void> {
  const head = await store.head(runId);
  if (head?.seq !== seq || head.hash !== hash)
    throw new RetinueError('store_corrupt', `run ${runId} was changed while it was read, so nothing was started; see \`retinue verify\``);
}

/** Throws `store_newer` for a fact that a newer program wrote in a form, or with a loop version, that this one does not know. */
function assertKnownVersion({ runId, type, v, data }: Fact): void {
  const isNewer = v > newestFactVersion(type) || (type === 'run.started' && (data as FactData['run.started']).loop > currentLoopVersion);
  if (isNewer) throw new RetinueError('store_newer', `run ${runId} was written by a newer Retinue; update Retinue to work with it`);
}

/** Throws `erased` for a run whose content was erased. */
export function assertNotErased({ runId, erasedAt }: RunRow): void {
  if (erasedAt !== undefined) throw new RetinueError('erased', `run ${runId} was erased on ${erasedAt}: only its hashes are kept`);
}

/** The parts that all requests of a started run share. Rejects with `store_corrupt` if one is missing or was changed. */
export async function loadPinned(runId: string, started: FactData['run.started'], store: Pick<Store, 'blob'>): Promise<PinnedParts> {
  const loadText = async (hash: string | null) => {
    if (hash === null) return '';
    const text = await store.blob(hash);
    if (text === null) throw new RetinueError('store_corrupt', `a text pinned by run ${runId} is missing (${hash})`);
    if (typeof text !== 'string' || sha256(text) !== hash)
      throw new RetinueError('store_corrupt', `a text pinned by run ${runId} was changed (${hash})`);
    return text;
  };
  const [system, tools, history] = await Promise.all([loadText(started.system), loadText(started.tools), loadText(started.history)]);
  return {
    system,
    systemHash: started.system ?? '',
    tools: tools === '' ? [] : JSON.parse(tools),
    toolsHash: started.tools ?? '',
    history: history === '' ? [] : JSON.parse(history),
    historyHash: started.history,
  };
}

/** Checks that the run which a brief continues, if it names one, can be continued. Rejects with `unknown_run` or `not_continuable`. */
export async function checkContinuable({ continues, continuesAt }: Brief, store: Store): Promise<void> {
  if (continues === undefined) {
    if (continuesAt === undefined) return;
    throw new RetinueError('invalid_brief', 'continuesAt: it names a turn of a run, but `continues` names no run');
  }
  const row = await store.run(continues);
  if (!row) throw unknownRunError(continues);
  assertNotErased(row);
  // Rejects if another program changed it.
  await store.head(continues);
  if (continuesAt !== undefined) await loadStateAt(continues, continuesAt, store);
  else if (row.endedAt === null || row.startedAt === null) throw notContinuableError(continues);
}

/** The rules of the run that a brief continues. They were accepted then, and stay so. */
export async function loadRecordedRules({ continues, rules = [] }: Brief, store: Pick<Store, 'facts'>): Promise<readonly string[]> {
  if (continues === undefined || rules.length === 0) return [];
  const [created] = await store.facts({ runId: continues, types: ['run.created'] });
  return created?.type === 'run.created' ? (created.data.brief.rules ?? []) : [];
}

function unknownRunError(runId: string): RetinueError {
  return new RetinueError('unknown_run', `there is no run ${runId}; \`retinue ps --all\` lists all runs`);
}

function notContinuableError(runId: string): RetinueError {
  return new RetinueError('not_continuable', `run ${runId} cannot be continued: it has not ended, or it was never started`);
}

/** The state after a turn and all its tool calls. Rejects if there is no such turn, or it is not over yet. */
async function loadStateAt(runId: string, turn: number, store: Store): Promise<RunState> {
  const [first, ...rest] = await loadFacts(runId, store);
  if (first?.type !== 'run.created') throw unknownRunError(runId);
  const state = createRunState(first);
  let isOver = false;
  for (const fact of rest) {
    isOver = fact.type === 'run.ended' || (fact.type === 'model.asked' && state.guards.turns === turn);
    if (isOver && state.guards.turns === turn) break;
    applyFact(state, fact);
  }
  const { turns } = state.guards;
  if (!startedFact(state) || state.created.data.kind !== 'agent') throw notContinuableError(runId);
  if (turns !== turn) throw new RetinueError('not_continuable', `run ${runId} has no turn ${turn}: its last turn is ${turns}`);
  if (!isOver) throw new RetinueError('not_continuable', `turn ${turn} of run ${runId} is not over yet, so it cannot be continued`);
  return state;
}

export interface History {
  messages: LanguageModelV4Message[];
  /** Untrusted sources of what it read. */
  taint: string[];
  /** What its tools remembered. */
  memo: Record<string, string>;
}

/** The conversation of an ended run, or of a run up to and including a turn, without its system prompt. */
export async function loadHistory(runId: string, turn: number | null, store: Store): Promise<History> {
  const state = turn === null ? await loadState(runId, store) : await loadStateAt(runId, turn, store);
  await store.head(runId);
  const started = startedFact(state);
  if (!started || (turn === null && !endedFact(state))) throw notContinuableError(runId);
  const { history } = await loadPinned(runId, { ...started.data, system: null, tools: null }, store);
  const entries = [...state.conversation.entries];
  // Providers refuse calls without results; a run that was stopped in the middle may have such calls.
  const calls = currentCalls(state);
  if (calls.length > 0) entries.push({ kind: 'results', calls });
  const messages = [...findCurrentHistory(state, history), ...entriesToMessages(entries, loopVersionOf(state))];
  return { messages, taint: [...state.taint].sort(), memo: Object.fromEntries(state.memo) };
}

/** A brief that continues an ended run: with its agent, model and label, and with everything that narrowed it. */
export function createFollowUpBrief(state: RunState, task: string): Brief {
  const { brief, agent, model, effort, grant, parentId } = state.created.data;
  const { limits, tools, label, params } = brief;
  const denials = parentId === null ? collectOwnerDenials(grant.rulesets) : [];
  const rulesets = [...(brief.rulesets ?? []), ...denials, ...keepNarrowingRulesets(state.rights.narrowed)];
  return {
    task,
    continues: state.runId,
    ...(agent === null ? {} : { agent }),
    ...(parentId !== null || model === null ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(label === undefined ? {} : { label }),
    ...(params === undefined ? {} : { params }),
    ...(limits === undefined ? {} : { limits }),
    ...(tools === undefined ? {} : { tools }),
    ...(brief.rules === undefined ? {} : { rules: brief.rules }),
    ...(rulesets.length === 0 ? {} : { rulesets }),
    ...pickFileFields(state),
  };
}

/** The fields of a brief that give a follow-up its own files too, from the same commit. Empty if the run had none. */
export function pickFileFields({ created, files }: RunState): Pick<Brief, 'repository' | 'isolation' | 'fixture'> {
  const { brief, isolation } = created.data;
  const commit = files?.prepared.commit ?? null;
  if (brief.repository) return { repository: { ...brief.repository, ...(commit !== null && { ref: commit }) } };
  if (brief.fixture !== undefined) return { fixture: brief.fixture };
  return isolation ? { isolation } : {};
}

export type NarrowingRuleset = NonNullable<Brief['rulesets']>[number];

/** What the owner denied on a command line that no longer exists. The built-in rules apply to every run anyway. */
export function collectOwnerDenials(rulesets: Ruleset[]): NarrowingRuleset[] {
  return rulesets.flatMap(({ kind, owner, rules }): NarrowingRuleset[] => {
    const denied = kind === 'owner' ? rules.filter((rule) => rule.action === 'deny' && rule.from !== undefined) : [];
    return denied.length === 0 ? [] : [{ kind: 'narrowing', owner, rules: denied }];
  });
}

/** The rulesets that narrow, kept apart: joined into one list they would mean something else. */
export function keepNarrowingRulesets(rulesets: Ruleset[]): NarrowingRuleset[] {
  return rulesets.flatMap((set) => (set.kind === 'narrowing' ? [{ ...set, kind: 'narrowing' as const }] : []));
}
