// One run in the loop, as its parts share it.
import type { Draft, FactData } from '../../contract/fact.ts';
import type { PinnedParts } from '../../conversation/request.ts';
import type { ModelHandle } from '../../ports/model.ts';
import type { Lane } from '../../scheduling/lanes.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import type { Ending } from '../state/outcome.ts';
import type { RunState } from '../state/state.ts';
import type { ToolSessionState } from '../tool-calls/tool-execution.ts';
import type { CallPlan } from './call-plan.ts';

/** One run in the loop: the run, what its requests share, and the model in use. */
export interface Loop {
  run: Run;
  state: RunState;
  services: Services;
  tools: ToolSessionState;
  pinned: PinnedParts;
  model: ModelHandle;
  lane: Lane;
  /** `model` writes a summary, and is not the run's own. */
  isHelper: boolean;
  /** Of the current call. */
  plan: CallPlan;
  /** The budget has just made the run change its model; not recorded yet. */
  instead: FactData['model.asked']['instead'] | null;
  /** Models still to fall back to. */
  fallbacks: string[];
  /** The number of turns at which the budget had no room for a compaction. */
  compactionRefusedAt: number | null;
  /** A call was slow or failed: answers in one piece would hide whether the provider is silent. */
  mustStream: boolean;
}

/** Null: the run was stopped from outside. */
export type LoopStepResult = Ending | 'continue' | null;

/** Records a fact without waiting: it is durable with the next fact that is waited for. */
export function recordWithoutWaiting({ run }: Loop, draft: Draft): void {
  void run.record([draft], { canWait: true });
}
