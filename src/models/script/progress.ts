// How far the runs of one tree have come in a script.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { type ErrorInfo, RetinueError } from '../../contract/error.ts';
import type { ModelRequester } from '../../ports/model.ts';
import { countAnswers, findEffort, isCompactionRequest, latestInput, toolNames } from './conversation.ts';
import type { Script, ScriptEntry, ScriptStep } from './format.ts';

/**
 * A run takes an entry of the script at its first call and keeps it.
 *
 * A run that an earlier process began is recognised by the answers in its prompt and continues after them. What the rest of its tree has
 * used is unknown then, so unused entries are no longer reported.
 */
export interface ScriptProgress {
  /** The next step of the run. Throws RetinueError `script` if the script has none for this call. */
  takeStep(run: ModelRequester, options: LanguageModelV4CallOptions): { step: ScriptStep; position: number };
  /** The error for steps or entries that are unused although the run ends; null if there are none. */
  findUnused(run: ModelRequester): ErrorInfo | null;
}

interface Cursor {
  entry: ScriptEntry;
  /** Compactions so far. */
  compactions: number;
  steps: ScriptStep[];
  position: number;
}

export function createScriptProgress(file: string, script: Script): ScriptProgress {
  const uses = new Map<ScriptEntry, number>();
  const cursors = new Map<string, Cursor>();
  let isResumed = false;

  const createError = (run: ModelRequester, problem: string): RetinueError => {
    const label = run.label === null ? '' : `, label ${quote(run.label)}`;
    return new RetinueError('script', `${file}: run ${run.runId} (agent ${run.agent}${label}, task ${quote(run.task)}): ${problem}`);
  };

  const begin = (run: ModelRequester, options: LanguageModelV4CallOptions): Cursor => {
    const entry = script.runs.find((candidate) => matchesRun(candidate, run) && (uses.get(candidate) ?? 0) < maxUses(candidate));
    if (entry === undefined) throw createError(run, 'no entry of `runs` matches this run, or all that match are used up');
    uses.set(entry, (uses.get(entry) ?? 0) + 1);
    const steps = entry.steps.flatMap((step) => Array.from({ length: step.repeat ?? 1 }, () => step));
    const answers = countAnswers(options.prompt, run);
    if (answers > 0) isResumed = true;
    return { entry, compactions: 0, steps, position: positionAfter(steps, answers) };
  };

  /** Compactions take no step: `compact` answers them in order, its last step all further ones. */
  const takeCompaction = (cursor: Cursor, run: ModelRequester): { step: ScriptStep; position: number } => {
    const { compact } = cursor.entry;
    const step = compact?.[Math.min(cursor.compactions++, compact.length - 1)];
    if (step === undefined) throw createError(run, 'the conversation is to be compacted, but the entry has no `compact`');
    return { step, position: cursor.position };
  };

  return {
    takeStep(run, options) {
      const cursor = cursors.get(run.runId) ?? begin(run, options);
      cursors.set(run.runId, cursor);
      if (isCompactionRequest(options.prompt)) return takeCompaction(cursor, run);
      const step = cursor.steps[cursor.position];
      const input = latestInput(options.prompt);
      if (step === undefined) throw createError(run, `call ${cursor.position + 1} has no step; its input was ${quote(input)}`);
      const mismatch = findMismatch(step, input, options);
      if (mismatch !== null) throw createError(run, `step ${cursor.position + 1} expects ${mismatch}`);
      return { step, position: cursor.position++ };
    },

    findUnused(run) {
      const cursor = cursors.get(run.runId);
      if (cursor === undefined) return null;
      const left = cursor.steps.length - cursor.position;
      if (left > 0) return createError(run, `ended with ${left} of ${cursor.steps.length} steps unused`).info;
      if (run.runId !== run.rootId || isResumed) return null;
      const unused = script.runs.findIndex((entry) => (uses.get(entry) ?? 0) < minUses(entry));
      const entry = script.runs[unused];
      if (entry === undefined) return null;
      return createError(run, `ended, but runs[${unused}] was used ${uses.get(entry) ?? 0} times of ${minUses(entry)}`).info;
    },
  };
}

function matchesRun({ when }: ScriptEntry, run: ModelRequester): boolean {
  if (when === undefined) return true;
  if (when.agent !== undefined && when.agent !== run.agent) return false;
  if (when.label !== undefined && when.label !== run.label) return false;
  return when.task === undefined || run.task.includes(when.task);
}

const maxUses = (entry: ScriptEntry): number => (entry.times === 'any' ? Number.POSITIVE_INFINITY : entry.times);
const minUses = (entry: ScriptEntry): number => (entry.times === 'any' ? 0 : entry.times);

/** The position after as many steps as leave `answers` answers in the conversation. */
function positionAfter(steps: ScriptStep[], answers: number): number {
  let position = 0;
  for (let seen = 0; seen < answers && position < steps.length; position++) if (leavesAnswer(steps[position])) seen++;
  return position;
}

function leavesAnswer(step: ScriptStep | undefined): boolean {
  return (
    step !== undefined && step.error === undefined && step.hang === undefined && Boolean(step.text || step.reasoning || step.calls?.length)
  );
}

/** Null if the call is what the step expects. */
function findMismatch({ expect }: ScriptStep, input: string, options: LanguageModelV4CallOptions): string | null {
  const tools = toolNames(options);
  const effort = findEffort(options);
  if (expect?.prompt !== undefined && !input.includes(expect.prompt)) return `${quote(expect.prompt)}, but the input was ${quote(input)}`;
  const missing = expect?.tools?.filter((tool) => !tools.includes(tool)) ?? [];
  if (expect?.effort !== undefined && expect.effort !== effort) return `the effort ${expect.effort}, but the call asks for ${effort}`;
  return missing.length === 0 ? null : `the tools ${missing.join(', ')}; the call offers ${tools.join(', ') || 'none'}`;
}

/** Long texts show both ends: what matters is often in the last line. */
function quote(text: string): string {
  return JSON.stringify((text.length <= 300 ? text : `${text.slice(0, 150)} … ${text.slice(-150)}`).toWellFormed());
}
