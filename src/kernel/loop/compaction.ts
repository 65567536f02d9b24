// Compaction: a summary by the model replaces the conversation between the first message and the last answer. Pure: the request, the decision whether a
// summary is usable and the fact are computed from the state, so that a resumed and a replayed run compute the same (invariant 9).
//
// C1. The last answer and the results of its calls stay, so no tool exchange is split.
// C2. The run keeps all its taint: a summary is as untrusted as everything it was made from.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { FactData } from '../../contract/fact.ts';
import type { CompactionTexts } from '../../conversation/loop-texts.ts';
import {
  type CallState,
  type ConversationEntry,
  entriesBytes,
  entriesForCompaction,
  type PinnedParts,
} from '../../conversation/request.ts';
import { canonical, sha256 } from '../../text/canonical.ts';
import { answerToText, currentCalls, livePhase, loopVersionOf, type RunState, settledPhase, startedFact } from '../state/state.ts';

/** Memory of the tools about texts that are no longer in the conversation, such as rules of folders: they are shown again. */
const forgottenKeys = /^rules:/;
const filePrefix = 'read:';

interface Split {
  /** The first message. */
  head: ConversationEntry[];
  replaced: ConversationEntry[];
  /** The last answer; after a refused request, also what was to be sent with it. */
  kept: ConversationEntry[];
}

function splitEntries(state: RunState): Split {
  const { entries } = state.conversation;
  if (settledPhase(state).name === 'asking') {
    const at = Math.max(1, findRefusedSplit(state));
    return { head: entries.slice(0, 1), replaced: entries.slice(1, at), kept: entries.slice(at) };
  }
  const last = entries.at(-1);
  const isKept = settledPhase(state).name === 'answered' && entries.length > 1 && last?.kind === 'assistant';
  const end = isKept ? entries.length - 1 : entries.length;
  return { head: entries.slice(0, 1), replaced: entries.slice(1, end), kept: entries.slice(end) };
}

/**
 * After a refused request, the answer from which on everything stays; -1 if there is none. The part before it is clearly smaller than the request, so that it
 * fits together with the question.
 */
function findRefusedSplit(state: RunState): number {
  const { entries } = state.conversation;
  const texts = loopVersionOf(state);
  const most = entriesBytes(entries, texts) * (texts.compaction?.refusedShare ?? 0);
  return entries.findLastIndex((entry, at) => entry.kind === 'assistant' && entriesBytes(entries.slice(0, at), texts) <= most);
}

/** Whether the run continues another conversation that no summary has replaced yet. */
function hasOpenHistory(state: RunState): boolean {
  return state.compactions === 0 && startedFact(state)?.data.history != null && state.created.data.brief.continues !== undefined;
}

/** Whether there is anything that a summary could replace. */
export function canCompact(state: RunState): boolean {
  const { compaction } = loopVersionOf(state);
  if (compaction === undefined) return false;
  if (settledPhase(state).name === 'asking') {
    if (findRefusedSplit(state) < 1) return false;
  }
  return hasOpenHistory(state) || splitEntries(state).replaced.some((entry) => entry.kind === 'assistant');
}

/**
 * Whether the runtime may try on its own: not soon after an attempt that failed, or that left more than `aim` tokens. The latter waits only while there is
 * room for a summary.
 */
export function isCompactionDue(state: RunState, { aim, isFull }: { aim: number; isFull: boolean }): boolean {
  const { turns, compactedAt, compactedTo, compactionFailedAt } = state.guards;
  const { retryAfterTurns = 0 } = loopVersionOf(state).compaction ?? {};
  const isRecent = (turn: number | null, forTurns = retryAfterTurns) => turn !== null && turns - turn < forTurns;
  const hasHelped = compactedTo === null || compactedTo <= aim;
  return !isRecent(compactionFailedAt) && !isRecent(compactedAt, hasHelped || isFull ? 1 : retryAfterTurns);
}

/** The entries of the request for a summary. After a refusal, only those that it replaces: everything together was too long. */
export function buildCompactionEntries(state: RunState): ConversationEntry[] {
  const { prompt } = loopVersionOf(state).compaction as CompactionTexts;
  if (settledPhase(state).name === 'asking') {
    const { head, replaced } = splitEntries(state);
    return [...head, ...replaced, ...entriesForCompaction([], prompt)];
  }
  return [...state.conversation.entries, ...entriesForCompaction(currentCalls(state), prompt)];
}

/** The fact that follows an answer to the request; null if the answer is of no use: without text, or not clearly smaller than what it would replace. */
export function composeCompaction(state: RunState, answer: FactData['model.answered']): FactData['context.compacted'] | null {
  const phase = livePhase(state);
  const texts = loopVersionOf(state);
  const text = answerToText(answer.content, state);
  if (phase.name !== 'compacting' || !texts.compaction || text === '' || answer.finish === 'content-filter') return null;
  // Sorted, because stored facts have sorted keys.
  const memo = [...state.memo].filter(([key]) => !forgottenKeys.test(key)).sort(([a], [b]) => (a < b ? -1 : 1));
  const taint = [...state.taint].sort();
  const summary = texts.compaction.handOver({
    turn: state.guards.turns - countOlderAnswers(splitEntries(state).kept),
    text,
    isCut: answer.finish === 'length',
    files: memo.flatMap(([key, version]) =>
      key.startsWith(filePrefix) ? [[key.slice(filePrefix.length), version] as [string, string]] : [],
    ),
    changed: new Set(state.artifacts.flatMap(({ kind, value }) => (kind === 'path' ? [value] : []))),
    latest: [...state.memo.keys()].flatMap((key) => (key.startsWith(filePrefix) ? [key.slice(filePrefix.length)] : [])).reverse(),
    taint,
  });
  const replaced = hasOpenHistory(state) ? Number.POSITIVE_INFINITY : entriesBytes(splitEntries(state).replaced, texts);
  if (Buffer.byteLength(summary) > replaced * texts.compaction.maxShare) return null;
  return {
    costUsd: answer.costUsd,
    kept: findKeptCalls(state).map(({ turn, index }) => ({ index, turn })),
    memo: Object.fromEntries(memo),
    model: phase.asked.model,
    summary,
    taint,
    upTo: phase.asked.upTo,
    usage: answer.usage,
  };
}

/** Answers that stay besides the last one. */
function countOlderAnswers(kept: ConversationEntry[]): number {
  return Math.max(0, kept.filter((entry) => entry.kind === 'assistant').length - 1);
}

/** The calls that stay in the conversation: those of the last answer, after a refused request those of the latest ones. */
function findKeptCalls(state: RunState): CallState[] {
  const sent = splitEntries(state).kept.flatMap((entry) => (entry.kind === 'results' ? entry.calls : []));
  return [...sent, ...currentCalls(state)];
}

/** Replaces the conversation by the summary. */
export function applyCompaction(state: RunState, { summary, memo = {} }: FactData['context.compacted']): void {
  const { head, kept } = splitEntries(state);
  const { conversation } = state;
  conversation.calls = findKeptCalls(state);
  conversation.entries = [...head, { kind: 'user', text: summary }, ...kept];
  conversation.countedTokens = null;
  // In the order in which it was remembered, which the fact does not have.
  const known = [...state.memo.keys()].filter((key) => Object.hasOwn(memo, key));
  state.memo = new Map([...new Set([...known, ...Object.keys(memo).sort()])].map((key) => [key, memo[key] as string]));
  state.compactions++;
}

const withoutHistory = new WeakMap<PinnedParts, PinnedParts>();

/** What the requests of the run share now: a compacted run no longer sends the conversation that it continues. Images of its brief stay. */
export function findCurrentPinned(state: RunState, pinned: PinnedParts): PinnedParts {
  if (state.compactions === 0 || pinned.history.length === 0) return pinned;
  const known = withoutHistory.get(pinned) ?? { ...pinned, ...pinHistory(findCurrentHistory(state, pinned.history)) };
  withoutHistory.set(pinned, known);
  return known;
}

/** The messages before the run's own that are still part of its conversation. */
export function findCurrentHistory(state: RunState, history: LanguageModelV4Message[]): LanguageModelV4Message[] {
  if (state.compactions === 0) return history;
  return state.created.data.images === undefined ? [] : history.slice(-1);
}

function pinHistory(history: LanguageModelV4Message[]): Pick<PinnedParts, 'history' | 'historyHash'> {
  return { history, historyHash: history.length === 0 ? null : sha256(canonical(history)) };
}
