// The models that this machine can use, checking one with a real call, and making it the user's default.
import { join } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { ListedModel } from '../contract/http.ts';
import { anyAgent } from '../kernel/admission/model-routes.ts';
import { withContextWindows } from '../kernel/loop/context-windows.ts';
import { findModelOptions, listOllamaModels } from '../models/advice.ts';
import { createModelCaller } from '../models/call.ts';
import { withPrices } from '../models/prices.ts';
import type { ModelHandle } from '../ports/model.ts';
import { systemClock } from '../system/clock.ts';
import { readBytes } from './files.ts';
import { maxConfigBytes, parseJsonDocument } from './json-document.ts';
import { createNamedModels } from './models.ts';
import { createRedact } from './redact.ts';
import type { Config } from './schema.ts';
import type { Settings } from './settings.ts';
import { writeUserFile } from './user-file.ts';
import { type Env, userConfigFolder } from './user-folders.ts';
import { validateConfig } from './validate.ts';

export type { ListedModel };

export type ModelCheck = { ok: true; ms: number } | { ok: false; message: string };

const probeTask = 'Reply with the word OK.';
const million = 1_000_000;

/** The default first, then what keys and local servers offer. */
export async function listModels(settings: Settings, env: Env): Promise<ListedModel[]> {
  const probe = globalThis.fetch;
  const options = (await findModelOptions({ env, probe })).filter(({ model }) => !model.endsWith('/NAME'));
  const local = await listOllamaModels(env, probe).catch(() => []);
  const reasons = new Map<string, string>();
  if (settings.model) reasons.set(settings.model.value, `your default (${settings.model.from})`);
  const found = [...options.map(({ model, reason }) => [model, reason]), ...local.map((name) => [`ollama/${name}`, 'Ollama is running'])];
  for (const [model, reason] of found as [string, string][]) if (!reasons.has(model)) reasons.set(model, reason);
  return Promise.all(
    [...reasons].map(async ([name, reason]) => ({
      name,
      reason,
      isDefault: name === settings.model?.value,
      ...(await describeModel(settings, name, env)),
    })),
  );
}

async function describeModel(settings: Settings, name: string, env: Env): Promise<Pick<ListedModel, 'price' | 'contextWindow'>> {
  const handle = await resolveModel(settings, name, env).catch(() => null);
  const usage = { input: 0, output: 0, cached: 0, reasoning: 0, estimated: false };
  const input = handle?.price?.({ ...usage, input: million }) ?? null;
  const output = handle?.price?.({ ...usage, output: million }) ?? null;
  return { price: input === null || output === null ? null : { input, output }, contextWindow: handle?.contextWindow ?? null };
}

/** In tokens; null if it is unknown. */
export async function findContextWindow(settings: Settings, name: string, env: Env): Promise<number | null> {
  return (await resolveModel(settings, name, env).catch(() => null))?.contextWindow ?? null;
}

/** Makes one short call. Rejects with `unknown_model` if there is no such model. */
export async function checkModel(settings: Settings, name: string, env: Env): Promise<ModelCheck> {
  const handle = await resolveModel(settings, name, env);
  const begun = systemClock.monotonic();
  const result = await createModelCaller(systemClock)({
    model: handle.model,
    options: {
      prompt: [{ role: 'user', content: [{ type: 'text', text: probeTask }] }],
      maxOutputTokens: Math.min(1024, handle.maxOutputTokens ?? 1024),
    },
    requestBytes: probeTask.length,
    maxToolCalls: 1,
    firstByteMs: 60_000,
    idleMs: 60_000,
    signal: new AbortController().signal,
    onFirst() {},
    onDelta() {},
  });
  if (result.ok) return { ok: true, ms: systemClock.monotonic() - begun };
  const names = Object.values(settings.providers).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  const { code, message } = result.failure.error;
  return { ok: false, message: createRedact(env, { names, values: [] })(`${code}: ${message}`, true) };
}

function resolveModel(settings: Settings, name: string, env: Env): Promise<ModelHandle> {
  const requester = { runId: 'check', rootId: 'check', workspace: settings.workspace, agent: 'general', label: null, task: probeTask };
  const models = withPrices(createNamedModels(env, settings.providers), settings.prices);
  return withContextWindows(models, settings.compaction).resolve(name, requester);
}

/** Writes `model` into the user's own configuration and returns its path. Other settings stay. Throws `invalid_config` if the file is invalid. */
export function saveModel(name: string, env: Env): string {
  const path = userConfigFile(env);
  const bytes = readBytes(path, maxConfigBytes);
  const before = bytes === null ? {} : validateConfig(parseJsonDocument(path, bytes));
  if (name.trim() === '' || name.length > 500) throw new RetinueError('usage', 'a model is a name like `anthropic/…`');
  writeUserFile(path, { ...before, model: withDefault(before.model, name) });
  return path;
}

/** Routes of single agents stay. */
function withDefault(before: Config['model'], name: string): Config['model'] {
  return typeof before === 'object' && !Array.isArray(before) ? { ...before, [anyAgent]: name } : name;
}

function userConfigFile(env: Env): string {
  return join(userConfigFolder(env), 'config.json');
}
