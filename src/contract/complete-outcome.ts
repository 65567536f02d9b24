// What readers get of a recorded outcome. Without schemas, because pages use it too.
import type { Outcome, RecordedOutcome } from './outcome.ts';

/** With all keys, in the order of the contract: facts have sorted keys, and no `verified` for a run without checks. */
export function completeOutcome(recorded: RecordedOutcome): Outcome {
  const { runId, parentId, rootId, depth, label, agent, status, success, verified = null, summary, data } = recorded;
  const { artifacts, error, terminated, truncated, turns, costUsd, startedAt, endedAt, durationMs, notices } = recorded;
  const { input, output, cached, reasoning } = recorded.tokens;
  return {
    ...{ runId, parentId, rootId, depth, label, agent, status, success, verified, summary },
    ...(data === undefined ? {} : { data }),
    ...{
      artifacts,
      error,
      terminated,
      truncated,
      turns,
      tokens: { input, output, cached, reasoning },
      costUsd,
      startedAt,
      endedAt,
      durationMs,
    },
    ...(notices === undefined ? {} : { notices }),
  };
}
