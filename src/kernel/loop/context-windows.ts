// The context windows that the configuration sets for single models. They replace the known ones.
import type { CompactionSettings } from '../../contract/compaction.ts';
import type { Models } from '../../ports/model.ts';

/** An answer may take at most this share of the window, as for windows that are known. */
const answerShare = 1 / 4;

export function withContextWindows(models: Models, { models: configured = {} }: CompactionSettings = {}): Models {
  if (Object.keys(configured).length === 0) return models;
  return {
    async resolve(name, run) {
      const handle = await models.resolve(name, run);
      const contextWindow = Object.hasOwn(configured, handle.id) ? configured[handle.id]?.contextWindow : undefined;
      if (contextWindow === undefined) return handle;
      const longestAnswer = Math.floor(contextWindow * answerShare);
      const maxOutputTokens = handle.maxOutputTokens === null ? null : Math.min(handle.maxOutputTokens, longestAnswer);
      return { ...handle, contextWindow, maxOutputTokens };
    },
  };
}
