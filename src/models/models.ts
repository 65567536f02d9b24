// Models by name, whatever provides them: network providers (providers.ts), scripts (script.ts) or rules (offline.ts). This folder contains
// everything that knows how to reach a model, and call.ts, which makes a call. Retries, budgets and queues belong to the kernel.
import { RetinueError } from '../contract/error.ts';
import type { ModelHandle, ModelRequester, Models } from '../ports/model.ts';

/** Finds a model of one provider. `rest` is the model name without the provider. */
export type Provider = (rest: string, run: ModelRequester) => Promise<ModelHandle>;

/** The part of a name before the first `/` selects the provider. `internal`: providers that only Retinue itself names; no message offers them. */
export function createModels(options: { providers: Record<string, Provider>; internal?: Record<string, Provider> }): Models {
  const providers = { ...options.providers, ...options.internal };
  return {
    async resolve(name, run) {
      const [, kind = name, rest = ''] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
      const provider = Object.hasOwn(providers, kind) ? providers[kind] : undefined;
      if (provider !== undefined && rest !== '') return provider(rest, run);
      const known = Object.keys(options.providers).map((provider) => `${provider}/…`);
      const problem = provider === undefined ? `there is no provider ${JSON.stringify(kind)}` : 'the name of the model is missing';
      const guess = providerGuesses.find(([pattern, kind]) => pattern.test(name) && Object.hasOwn(providers, kind));
      if (guess) throw new RetinueError('unknown_model', `unknown model ${JSON.stringify(name)}: did you mean ${guess[1]}/${name}?`);
      throw new RetinueError(
        'unknown_model',
        `unknown model ${JSON.stringify(name)}: ${problem} (available: ${known.join(', ') || 'none'})`,
      );
    },
  };
}

/** Model names that are often written without their provider. */
const providerGuesses: [RegExp, string][] = [
  [/^claude-[\w.-]+$/, 'anthropic'],
  [/^(gpt-|o\d)[\w.-]*$/, 'openai'],
  [/^gemini-[\w.-]+$/, 'google'],
];
