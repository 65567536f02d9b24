import { RetinueError } from '../contract/error.ts';
import type { ModelHandle, ModelRequester, Models } from '../ports/model.ts';

/** Finds the model of one provider: `rest` is its name without the provider's. */
export type Provider = (rest: string, user: ModelRequester) => Promise<ModelHandle>;

/** Models by name: what stands before the first `/` chooses the provider. */
export function createModels({ providers }: { providers: Record<string, Provider> }): Models {
  return {
    async resolve(name, user) {
      const [, kind = name, rest = ''] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
      const provider = Object.hasOwn(providers, kind) ? providers[kind] : undefined;
      if (provider !== undefined && rest !== '') return provider(rest, user);
      const known = Object.keys(providers).map((provider) => `${provider}/…`);
      const fault = provider === undefined ? `there is no provider ${JSON.stringify(kind)}` : 'it names no model';
      const guess = guesses.find(([pattern, kind]) => pattern.test(name) && Object.hasOwn(providers, kind));
      if (guess) throw new RetinueError('unknown_model', `unknown model ${JSON.stringify(name)}: did you mean ${guess[1]}/${name}?`);
      throw new RetinueError('unknown_model', `unknown model ${JSON.stringify(name)}: ${fault}; there are ${known.join(', ') || 'none'}`);
    },
  };
}

/** Names that are often given without their provider. */
const guesses: [RegExp, string][] = [
  [/^claude-[\w.-]+$/, 'anthropic'],
  [/^(gpt-|o\d)[\w.-]*$/, 'openai'],
  [/^gemini-[\w.-]+$/, 'google'],
];
