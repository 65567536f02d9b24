// What follows a model call that failed: wait and retry, fall back to another model, remove old tool results, pause, or end the run.
import type { ErrorInfo } from '../../contract/error.ts';
import type { ModelCallResult } from '../../ports/model.ts';
import { computeRetryDelay } from '../../scheduling/lanes.ts';
import { msToIso } from '../../text/instant.ts';
import { createModelRequester } from '../admission/admission.ts';
import { requestPause } from '../pause.ts';
import type { Run, StopCause } from '../run.ts';
import { createFailedEnding } from '../state/outcome.ts';
import { findOpenRequest } from '../state/state.ts';
import { planCall } from './call-plan.ts';
import { canCompact } from './compaction.ts';
import { type Loop, type LoopStepResult, recordWithoutWaiting } from './loop-context.ts';
import { prunableCalls } from './pruning.ts';

const maxAttempts = 6;
/** Longer Retry-After values pause the run instead of blocking it. */
const pauseAfterMs = 60_000;

/** Records a failed attempt and decides what follows: wait and retry, fall back to another model, pause, or end the run. */
export async function handleFailure(loop: Loop, attempt: Extract<ModelCallResult, { ok: false }>): Promise<LoopStepResult> {
  const { run, state, services, plan } = loop;
  const { clock, redact, deadlines, ids } = services;
  const { signal, deadline } = run;
  const { retryAfterMs, limited } = attempt.failure;
  const error = attempt.aborted ? stopToError(run) : { ...attempt.failure.error, message: redact(attempt.failure.error.message, true) };
  const asked = findOpenRequest(state);
  const isCompaction = asked?.purpose === 'compact';
  const attempts = asked?.attempt ?? 1;
  const attemptsOnThisModel = isCompaction ? attempts : attempts - (state.fallback?.attempt ?? 0);
  const toPrune = error.code === 'context_length' && !isCompaction ? prunableCalls(state) : [];
  const isTooLate = retryAfterMs !== null && deadline !== null && clock.monotonic() + retryAfterMs >= deadline;
  const canRetry = !attempt.aborted && !isTooLate && (toPrune.length > 0 || (error.retryable && attemptsOnThisModel < maxAttempts));
  // A long Retry-After pauses the run, which frees its slot.
  const pauseMs = limited && retryAfterMs !== null && retryAfterMs >= pauseAfterMs && !isTooLate && !attempt.aborted ? retryAfterMs : null;
  const fallback = canRetry || attempt.aborted || !error.retryable || isCompaction ? null : await fallBack(loop);
  const isCompactable = error.code === 'context_length' && !isCompaction && !canRetry && !attempt.aborted && isCompactionAllowed(loop);
  const again = canRetry || pauseMs !== null || fallback !== null || isCompactable;
  const costUsd = attempt.usage && plan.price ? plan.price(attempt.usage) : null;
  const text = redact(attempt.text, false);
  const next = isCompactable ? { next: 'compact' as const } : {};
  recordWithoutWaiting(loop, {
    type: 'model.failed',
    data: { again, attempt: attempts, costUsd, error, fallback, ...next, text, turn: state.guards.turns + 1, usage: attempt.usage },
  });
  if (attempt.aborted) return null;
  if (fallback !== null || isCompactable || (isCompaction && !again)) return 'continue';
  const lateMessage = `${error.message} (the provider asks to wait ${retryAfterMs} ms, which is past the deadline)`;
  if (!again) return createFailedEnding(error.code, isTooLate ? lateMessage : error.message, error.retryable);
  if (pauseMs !== null) requestPause(run, error.message, { resumeAt: msToIso(clock.now() + pauseMs) });
  else if (toPrune.length > 0) recordWithoutWaiting(loop, { type: 'context.pruned', data: { calls: toPrune } });
  // After a rate limit the lane delays all its calls; after other failures this run waits.
  else if (!limited)
    await deadlines.wait(
      computeRetryDelay(attemptsOnThisModel, retryAfterMs, () => ids.random()),
      signal,
    );
  return signal.aborted ? null : 'continue';
}

/** Whether a request that was too long can be made shorter by a summary of what came before it. */
function isCompactionAllowed({ state, services }: Loop): boolean {
  return services.settings.compaction?.enabled !== false && canCompact(state);
}

/** Switches to the next model of the list that the cost limit covers; null if there is none. */
async function fallBack(loop: Loop): Promise<string | null> {
  const { services, run } = loop;
  const name = loop.fallbacks.shift();
  if (name === undefined) return null;
  const model = await services.models.resolve(name, createModelRequester(run));
  // Its cost could not be charged to the limit.
  if (model.price === null && run.budget.limitsCost()) return fallBack(loop);
  loop.model = model;
  loop.lane = services.lanes.lane(model.lane, model.account);
  loop.plan = planCall(run, { model, isHelper: false }, services);
  return name;
}

/** A call that was stopped with its run is not the provider's failure. */
function stopToError({ stopCause }: Run): ErrorInfo {
  const { code, message } = stopCause as StopCause;
  return { code: code === 'lost' ? 'fenced' : code, message, retryable: false };
}
