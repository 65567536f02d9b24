// Scripted models: `script/<file>` answers from a JSON file and fails on every call that the file does not foresee.
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { RetinueError } from '../contract/error.ts';
import type { Clock } from '../ports/clock.ts';
import { type ModelRequester, noThinking } from '../ports/model.ts';
import { rejectOnAbort, streamAnswer } from './answer-stream.ts';
import type { Provider } from './models.ts';
import { createPriceFunction } from './prices.ts';
import { createStepError, stepToAnswer } from './script/answer.ts';
import { effortToSettings } from './script/conversation.ts';
import { parseScript, type Script } from './script/format.ts';
import { createScriptProgress, type ScriptProgress } from './script/progress.ts';
import { wait } from './script/wait.ts';

const maxBytes = 16 * 1024 * 1024;

/** Reads a file once for each tree that uses it. */
export function createScriptModels(options: { clock: Clock; readFile?: (path: string) => Promise<string> }): Provider {
  const read = options.readFile ?? readScript;
  const trees = new Map<string, Promise<LoadedScript>>();

  const load = async (file: string): Promise<LoadedScript> => {
    const text = await read(file).catch((error) => {
      throw new RetinueError('unknown_model', `the script ${file} cannot be read: ${describeReadError(error)}`, { cause: error });
    });
    const script = parseScript(file, text);
    return { script, progress: createScriptProgress(file, script) };
  };

  return async (rest, run) => {
    assertChosenByUser(`script/${rest}`, run);
    const file = isAbsolute(rest) ? rest : join(run.workspace, rest);
    const key = JSON.stringify([file, run.rootId]);
    const loading = trees.get(key) ?? load(file);
    trees.set(key, loading);
    const { script, progress } = await loading.catch((error) => {
      trees.delete(key);
      throw error;
    });
    const { contextWindow = null, maxOutputTokens = null, price } = script.model ?? {};
    return {
      id: `script/${rest}`,
      lane: 'script',
      model: createScriptModel({ id: `script/${rest}`, file, progress, run, clock: options.clock }),
      contextWindow,
      maxOutputTokens,
      price: price === undefined ? null : createPriceFunction(price),
      // A script does not think, but its steps can expect an effort.
      planEffort: (effort) => ({ ok: true, settings: effortToSettings(effort), thinking: noThinking, note: null }),
      finished(runId) {
        const unused = progress.findUnused(run);
        if (runId === run.rootId) trees.delete(key);
        return unused;
      },
    };
  };
}

/** A model that names a file would learn from the error what is in it, or run a child on a script that it wrote itself. */
function assertChosenByUser(name: string, { rootModel }: ModelRequester): void {
  if (rootModel === undefined || rootModel === name) return;
  const advice = 'omit `model`, or name an agent whose definition has that model';
  throw new RetinueError('unknown_model', `${JSON.stringify(name)}: only the user chooses a script as a model; ${advice}`);
}

interface LoadedScript {
  script: Script;
  progress: ScriptProgress;
}

interface ScriptModelOptions {
  id: string;
  file: string;
  progress: ScriptProgress;
  run: ModelRequester;
  clock: Clock;
}

function createScriptModel({ id, file, progress, run, clock }: ScriptModelOptions): LanguageModelV4 {
  /** Takes the next step and waits for whatever the step puts before its answer. */
  const begin = async (options: LanguageModelV4CallOptions) => {
    const signal = options.abortSignal;
    signal?.throwIfAborted();
    const { step, position } = progress.takeStep(run, options);
    const answer = stepToAnswer(step, { file, position }, options);
    if (step.delayMs !== undefined) await wait(clock, step.delayMs, signal);
    if (step.hang === 'start') await rejectOnAbort(signal);
    return { step, answer, error: step.error && createStepError(step.error, `script:${file}`) };
  };

  return {
    specificationVersion: 'v4',
    provider: 'script',
    modelId: id,
    supportedUrls: {},
    async doStream(options) {
      const { step, answer, error } = await begin(options);
      if (error !== undefined && answer.content.length === 0) throw error;
      return { stream: streamAnswer(answer, { chunkSize: step.chunkSize, hang: step.hang === 'middle', error }, options.abortSignal) };
    },
    async doGenerate(options) {
      const { step, answer, error } = await begin(options);
      if (step.hang !== undefined) await rejectOnAbort(options.abortSignal);
      if (error !== undefined) throw error;
      return { ...answer, warnings: [] };
    },
  };
}

async function readScript(path: string): Promise<string> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error('it is not a file');
  if (stats.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
  return readFile(path, 'utf8');
}

function describeReadError(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : error instanceof Error ? error.message : String(error);
}
