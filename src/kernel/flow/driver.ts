// The driver of flows. It runs the program from the start and gives it the recorded results of its steps.
//
// W1. Steps are numbered in the order in which the program begins them. Results reach the program one at a time, in the order of their facts, and it
//     runs until it is idle between two of them. So a program without other sources of chance begins the same steps again.
// W2. An effect happens after its `step.started` is durable, and with it everything that the program knew then (invariant 2).
// W3. A step with a recorded result is never executed again.
import { RetinueError } from '../../contract/error.ts';
import { isoToMs } from '../../text/instant.ts';
import type { Driver, DriverResult } from '../lifecycle.ts';
import { waitWhilePaused } from '../pause.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { completedEnding, createFailedEnding } from '../state/outcome.ts';
import { deadlineOf, startedFact } from '../state/state.ts';
import { graceMs } from '../tool-calls/tool-execution.ts';
import { copySortedJson, describeProgramError, valueToRecord } from './results.ts';
import { describeOpenSteps, type FlowState } from './state.ts';
import { createFlowSteps, type FlowProgress } from './steps.ts';

/** How long a resumed program may take to begin a step whose result is recorded. */
const maxIdleMs = 10_000;

type ProgramEnd = { ok: true; value: unknown } | { ok: false; error: unknown };

export const driveFlow: Driver = async (run, services) => {
  const { program, state } = run;
  const input = state.created.data.flow?.input;
  if (!program || input === undefined || !state.flow) throw new RetinueError('internal', `run ${run.id} has no program`);
  // The process ended before it could record the end of the run.
  if (state.flow.hasReturned) return { ending: completedEnding };
  continueTimer(run, services);
  const progress: FlowProgress = {
    begun: 0,
    waiting: new Map(),
    cancelled: new Map(),
    effects: new Set(),
    failure: null,
    ends: new AbortController(),
  };
  let end: ProgramEnd | null = null;
  void Promise.resolve()
    .then(() => program.run(createFlowSteps(run, progress, services), copySortedJson(input)))
    .then(
      (value) => ({ ok: true as const, value }),
      (error: unknown) => ({ ok: false as const, error }),
    )
    .then((result) => {
      end = result;
      run.notify();
    });
  const getEnd = (): ProgramEnd | null => end;
  try {
    await deliverResults(run, { progress, hasEnded: () => getEnd() !== null }, services);
  } finally {
    progress.ends.abort();
    await endEffects(progress, services);
    run.clearDeadline();
  }
  if (run.signal.aborted) return null;
  return endFlow(run, { progress, end: getEnd() }, services);
};

function continueTimer(run: Run, { clock }: Services): void {
  const started = startedFact(run.state);
  run.startTimer(clock, started ? clock.now() - isoToMs(started.at) : 0);
  const deadline = deadlineOf(run.state);
  if (deadline !== null) run.setDeadline(clock.monotonic() + isoToMs(deadline) - clock.now());
}

/** Returns when the program has ended, the flow was stopped, or its steps are not those of the log. */
async function deliverResults(
  run: Run,
  { progress, hasEnded }: { progress: FlowProgress; hasEnded: () => boolean },
  services: Services,
): Promise<void> {
  const { clock, deadlines } = services;
  const { finished } = run.state.flow as FlowState;
  const isOver = () => hasEnded() || progress.failure !== null || run.signal.aborted;
  for (let delivered = 0; ; ) {
    // The program runs until it waits for its steps.
    await new Promise<void>((resolve) => clock.defer(resolve));
    if (isOver()) return;
    if (run.pauseRequest || run.state.paused) {
      await waitWhilePaused(run, services);
      continue;
    }
    const next = finished[delivered];
    const settle = next && progress.waiting.get(next.step);
    if (next?.result && settle) {
      progress.waiting.delete(next.step);
      delivered++;
      settle(next.result);
      continue;
    }
    const endTimer = next
      ? deadlines.at(clock.monotonic() + maxIdleMs, () => {
          progress.failure ??= `the program does not begin step ${next.step}, \`${next.kind} ${next.name}\` at ${next.at}, as it did before`;
          run.notify();
        })
      : () => {};
    while (!isOver() && !run.pauseRequest && finished[delivered] === next && !(next && progress.waiting.has(next.step)))
      await run.waitForChange();
    endTimer();
  }
}

/** Side effects get the abort signal and `graceMs`. A result that comes later is not recorded. */
async function endEffects({ effects }: FlowProgress, { clock, deadlines }: Services): Promise<void> {
  if (effects.size === 0) return;
  const late = Promise.withResolvers<void>();
  const endTimer = deadlines.at(clock.monotonic() + graceMs, late.resolve);
  await Promise.race([Promise.allSettled(effects), late.promise]);
  endTimer();
}

async function endFlow(
  run: Run,
  { progress, end }: { progress: FlowProgress; end: ProgramEnd | null },
  { redact }: Services,
): Promise<DriverResult> {
  const next = run.state.flow?.steps[progress.begun];
  if (end?.ok && next) progress.failure ??= `the program ended before step ${next.step}, \`${next.kind} ${next.name}\` at ${next.at}`;
  if (progress.failure !== null) {
    const advice = 'do what depends on time, chance or files inside flow.step, and start the flow again';
    return { ending: createFailedEnding('flow_changed', `${progress.failure}; ${advice}`) };
  }
  if (!end?.ok) return { ending: describeProgramError(end?.error, redact) };
  try {
    const value = valueToRecord(end.value, 'the return value', redact);
    const notices = describeOpenSteps(run.state.flow as FlowState, progress.cancelled);
    const data = { ...(notices.length > 0 && { notices }), ...(value !== undefined && { value }) };
    await run.record([{ type: 'flow.returned', data }]);
    return { ending: completedEnding };
  } catch (error) {
    return { ending: describeProgramError(error, redact) };
  }
}
