import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { type ErrorInfo, RetinueError } from '../../contract/error.ts';
import type { ModelRequester } from '../../ports/model.ts';
import { answersOf, lastHeard, offered } from './conversation.ts';
import type { Entry, Script, Step } from './format.ts';

/**
 * How far the runs of one tree are in a script. A run takes an entry at its first call and keeps it.
 *
 * A run that an earlier process began is recognised by the answers that its prompt holds already: it goes on behind them. What
 * the rest of its tree used up is not known then, so entries left over are no longer complained about.
 */
export interface ScriptTree {
  /** The next step of the run. Throws RetinueError `script` where the script has none for this call. */
  next(user: ModelRequester, options: LanguageModelV4CallOptions): { step: Step; position: number };
  /** What is left over although the run ends. */
  leftOver(user: ModelRequester): ErrorInfo | null;
}

interface Cursor {
  entry: Entry;
  steps: Step[];
  position: number;
}

export function createScriptTree(file: string, script: Script): ScriptTree {
  const uses = new Map<Entry, number>();
  const cursors = new Map<string, Cursor>();
  let resumed = false;

  const fail = (user: ModelRequester, what: string): RetinueError => {
    const label = user.label === null ? '' : `, label ${quote(user.label)}`;
    return new RetinueError('script', `${file}: run ${user.runId} (agent ${user.agent}${label}, task ${quote(user.task)}): ${what}`);
  };

  const begin = (user: ModelRequester, options: LanguageModelV4CallOptions): Cursor => {
    const entry = script.runs.find((candidate) => matches(candidate, user) && (uses.get(candidate) ?? 0) < mostUses(candidate));
    if (entry === undefined) throw fail(user, 'no entry of `runs` is for this run, or those that are have been used up');
    uses.set(entry, (uses.get(entry) ?? 0) + 1);
    const steps = entry.steps.flatMap((step) => Array.from({ length: step.repeat ?? 1 }, () => step));
    const answers = answersOf(options.prompt, user);
    if (answers > 0) resumed = true;
    return { entry, steps, position: positionAfter(steps, answers) };
  };

  return {
    next(user, options) {
      const cursor = cursors.get(user.runId) ?? begin(user, options);
      cursors.set(user.runId, cursor);
      const step = cursor.steps[cursor.position];
      const heard = lastHeard(options.prompt);
      if (step === undefined) throw fail(user, `call ${cursor.position + 1} has no step; it was told ${quote(heard)}`);
      const unmet = unmetBy(step, heard, offered(options));
      if (unmet !== null) throw fail(user, `step ${cursor.position + 1} expects ${unmet}`);
      return { step, position: cursor.position++ };
    },

    leftOver(user) {
      const cursor = cursors.get(user.runId);
      if (cursor === undefined) return null;
      const left = cursor.steps.length - cursor.position;
      if (left > 0) return fail(user, `ended with ${left} of ${cursor.steps.length} steps left over`).info;
      if (user.runId !== user.rootId || resumed) return null;
      const unused = script.runs.findIndex((entry) => (uses.get(entry) ?? 0) < leastUses(entry));
      const entry = script.runs[unused];
      if (entry === undefined) return null;
      return fail(user, `ended, but runs[${unused}] was used ${uses.get(entry) ?? 0} times of ${leastUses(entry)}`).info;
    },
  };
}

function matches({ when }: Entry, user: ModelRequester): boolean {
  if (when === undefined) return true;
  if (when.agent !== undefined && when.agent !== user.agent) return false;
  if (when.label !== undefined && when.label !== user.label) return false;
  return when.task === undefined || user.task.includes(when.task);
}

const mostUses = (entry: Entry): number => (entry.times === 'any' ? Number.POSITIVE_INFINITY : entry.times);
const leastUses = (entry: Entry): number => (entry.times === 'any' ? 0 : entry.times);

/** The first position that has `answers` steps before it which leave an answer in the conversation. */
function positionAfter(steps: Step[], answers: number): number {
  let position = 0;
  for (let seen = 0; seen < answers && position < steps.length; position++) if (leavesAnswer(steps[position])) seen++;
  return position;
}

function leavesAnswer(step: Step | undefined): boolean {
  return (
    step !== undefined && step.error === undefined && step.hang === undefined && Boolean(step.text || step.reasoning || step.calls?.length)
  );
}

function unmetBy({ expect }: Step, heard: string, tools: string[]): string | null {
  if (expect?.prompt !== undefined && !heard.includes(expect.prompt)) return `${quote(expect.prompt)}, but it was told ${quote(heard)}`;
  const missing = expect?.tools?.filter((tool) => !tools.includes(tool)) ?? [];
  return missing.length === 0 ? null : `the tools ${missing.join(', ')}; offered are ${tools.join(', ') || 'none'}`;
}

/** Long texts are shown by their ends: what matters is often the last line. */
function quote(text: string): string {
  return JSON.stringify((text.length <= 300 ? text : `${text.slice(0, 150)} … ${text.slice(-150)}`).toWellFormed());
}
