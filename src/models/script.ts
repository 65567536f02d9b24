import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Usage } from '../contract/content.ts';
import { RetinueError } from '../contract/error.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelHandle, ModelRequester } from '../ports/model.ts';
import type { Provider } from './models.ts';
import { answerOf, errorOf } from './script/answer.ts';
import { parseScript, type Script } from './script/format.ts';
import { aborted, pause, streamOf } from './script/stream.ts';
import { createScriptTree, type ScriptTree } from './script/tree.ts';

const maxBytes = 16 * 1024 * 1024;

/**
 * The strict scripted model: `script/<file>` answers from a file and fails on every call that the file does not foresee.
 * The file is read once for each tree; `readFile` rejects where it cannot be.
 */
export function createScriptModels(options: { clock: Clock; readFile?: (path: string) => Promise<string> }): Provider {
  const read = options.readFile ?? readScript;
  const trees = new Map<string, Promise<{ script: Script; tree: ScriptTree }>>();

  const load = async (file: string): Promise<{ script: Script; tree: ScriptTree }> => {
    const text = await read(file).catch((error) => {
      throw new RetinueError('unknown_model', `the script ${file} cannot be read: ${reasonOf(error)}`, { cause: error });
    });
    const script = parseScript(file, text);
    return { script, tree: createScriptTree(file, script) };
  };

  return async (rest, user) => {
    const file = isAbsolute(rest) ? rest : join(user.workspace, rest);
    const key = JSON.stringify([file, user.rootId]);
    const loading = trees.get(key) ?? load(file);
    trees.set(key, loading);
    const { script, tree } = await loading.catch((error) => {
      trees.delete(key);
      throw error;
    });
    return handleOf({ id: `script/${rest}`, file, script, tree, user, clock: options.clock, forget: () => trees.delete(key) });
  };
}

interface Parts {
  id: string;
  file: string;
  script: Script;
  tree: ScriptTree;
  user: ModelRequester;
  clock: Clock;
  forget(): void;
}

function handleOf(parts: Parts): ModelHandle {
  const { id, script, tree, user, forget } = parts;
  return {
    id,
    lane: 'script',
    model: modelOf(parts),
    contextWindow: script.model?.contextWindow ?? null,
    maxOutputTokens: script.model?.maxOutputTokens ?? null,
    price: priceOf(script),
    finished(runId) {
      const left = tree.leftOver(user);
      if (runId === user.rootId) forget();
      return left;
    },
  };
}

function modelOf({ id, file, tree, user, clock }: Parts): LanguageModelV4 {
  const url = `script:${file}`;

  /** Takes the next step and does all that comes before an answer begins. */
  const begin = async (options: LanguageModelV4CallOptions) => {
    const signal = options.abortSignal;
    signal?.throwIfAborted();
    const { step, position } = tree.next(user, options);
    const answer = answerOf(step, { file, position }, options);
    if (step.delayMs !== undefined) await pause(clock, step.delayMs, signal);
    if (step.hang === 'start') await aborted(signal);
    return { step, answer, error: step.error && errorOf(step.error, url) };
  };

  return {
    specificationVersion: 'v4',
    provider: 'script',
    modelId: id,
    supportedUrls: {},
    async doStream(options) {
      const { step, answer, error } = await begin(options);
      if (error !== undefined && answer.content.length === 0) throw error;
      return { stream: streamOf(answer, { chunkSize: step.chunkSize, hang: step.hang === 'middle', error }, options.abortSignal) };
    },
    async doGenerate(options) {
      const { step, answer, error } = await begin(options);
      if (step.hang !== undefined) await aborted(options.abortSignal);
      if (error !== undefined) throw error;
      return { ...answer, warnings: [] };
    },
  };
}

function priceOf(script: Script): ((usage: Usage) => number) | null {
  const price = script.model?.price;
  if (price === undefined) return null;
  return ({ input, output, cached }) =>
    (Math.max(0, input - cached) * price.input + cached * (price.cached ?? price.input) + output * price.output) / 1_000_000;
}

async function readScript(path: string): Promise<string> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error('it is not a file');
  if (stats.size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
  return readFile(path, 'utf8');
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : error instanceof Error ? error.message : String(error);
}
