import type { LanguageModelV4CallOptions, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createScriptModels } from '../../src/models/script.ts';
import type { ModelHandle, ModelRequester } from '../../src/ports/model.ts';
import { createHandClock, type HandClock } from '../../src/testing/hand-clock.ts';

export const root = '00000000000000aa';

export function userOf(given: Partial<ModelRequester> = {}): ModelRequester {
  return { runId: root, rootId: root, workspace: '/w', agent: 'general', label: null, task: 'the task', ...given };
}

/** A script that exists only in memory, as /w/s.json. */
export function models(script: unknown, clock: HandClock = createHandClock()): (user?: Partial<ModelRequester>) => Promise<ModelHandle> {
  const provider = createScriptModels({ clock, readFile: async () => (typeof script === 'string' ? script : JSON.stringify(script)) });
  return (user) => provider('s.json', userOf(user));
}

/** One entry with these steps. */
export const steps = (...list: unknown[]): unknown => ({ runs: [{ steps: list }] });

export function prompt(...said: string[]): LanguageModelV4Prompt {
  return said.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text }] }));
}

export function ask(handle: ModelHandle, given: Partial<LanguageModelV4CallOptions> = {}): Promise<LanguageModelV4StreamPart[]> {
  return collect(handle, { prompt: prompt('the task'), ...given });
}

async function collect(handle: ModelHandle, options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = [];
  const { stream } = await handle.model.doStream(options);
  for await (const part of stream) parts.push(part);
  return parts;
}

/** The text of an answer. */
export async function say(handle: ModelHandle, given: Partial<LanguageModelV4CallOptions> = {}): Promise<string> {
  return (await ask(handle, given)).map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
}
