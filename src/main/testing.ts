// The entry point `retinue/testing`: the fakes that Retinue's own tests use. No other production file imports `testing/`.
import type { Provider } from '../models/models.ts';
import { createScriptModels } from '../models/script.ts';
import type { Clock } from '../ports/clock.ts';
import { systemClock } from '../system/clock.ts';

export { createMemoryStore } from '../stores/memory.ts';
export { createHandClock, type HandClock } from '../testing/hand-clock.ts';
export { checkInvariants, type InvariantName, type InvariantOptions, invariantNames, type Violation } from '../testing/invariants.ts';
export {
  type Fault,
  type ProviderRequest,
  type ProviderServer,
  type ProviderStep,
  type Scenario,
  startProviderServer,
} from '../testing/provider-server.ts';

/**
 * A strict scripted model for `createRetinue`'s `model`. It answers from a script (docs/scripted-models.md). It fails a call that the script
 * does not expect, and a run that ends before its steps are used up.
 */
export function scriptedModel(script: object, { clock = systemClock }: { clock?: Clock } = {}): Provider {
  const text = JSON.stringify(script);
  return createScriptModels({ clock, readFile: async () => text });
}
