// What a model call needs besides its request: how much to think, how long the provider keeps its cache, and the price of both.
import type { Effort } from '../../contract/effort.ts';
import type { PromptCache } from '../../contract/prompt-cache.ts';
import type { CallSettings, ModelHandle, Price, Thinking } from '../../ports/model.ts';
import { isoToMs } from '../../text/instant.ts';
import { resolveEffort } from '../admission/effort.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { cacheLifetimeMs } from '../state/state.ts';

export interface CallPlan {
  effort: Effort | null;
  /** As the effort sets it; null if nothing does. */
  thinking: Thinking | null;
  settings: CallSettings;
  price: Price | null;
}

/** `isHelper`: the model is not the run's own, but writes a summary for it. */
export function planCall(
  run: Run,
  { model, isHelper }: { model: ModelHandle; isHelper: boolean },
  { settings, clock }: Pick<Services, 'settings' | 'clock'>,
): CallPlan {
  const own = isHelper ? null : resolveEffort(run, model);
  const long =
    model.longCache && wantsLongCache(run, model, { choice: settings.promptCache ?? 'auto', now: clock.now() }) ? model.longCache : null;
  return {
    effort: own?.effort ?? null,
    thinking: own?.thinking ?? null,
    settings: mergeSettings(own?.settings, long?.settings),
    price: long ? long.price : model.price,
  };
}

function wantsLongCache({ state }: Run, { longCache }: ModelHandle, { choice, now }: { choice: PromptCache; now: number }): boolean {
  if (choice !== 'auto' || longCache?.isOnlyByChoice) return choice === '1h';
  return state.hasWaitedLong || (state.answeredAt !== null && now - isoToMs(state.answeredAt) > cacheLifetimeMs);
}

function mergeSettings(a: CallSettings = {}, b: CallSettings = {}): CallSettings {
  if (!a.providerOptions || !b.providerOptions) return { ...a, ...b };
  const providerOptions = { ...a.providerOptions };
  for (const [name, options] of Object.entries(b.providerOptions)) providerOptions[name] = { ...providerOptions[name], ...options };
  return { ...a, ...b, providerOptions };
}
