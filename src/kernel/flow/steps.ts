// The steps that a flow's program takes. Each is compared with the record if it has one; otherwise it is recorded and carried out.
import type { Draft, FactData } from '../../contract/fact.ts';
import { flowQuestion, type StepKind } from '../../contract/flow.ts';
import { hashCall } from '../../conversation/tool-calls.ts';
import type { FlowAnswer, FlowSteps } from '../../ports/flow.ts';
import type { ProgramCheck } from '../../ports/schema.ts';
import { cutBytes } from '../../text/cut.ts';
import { isoToMs, msToIso } from '../../text/instant.ts';
import { applyForFlow } from '../delegation/apply.ts';
import { cancelRun } from '../orders.ts';
import { waitWhilePaused } from '../pause.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { answerApproval } from '../tool-calls/approval.ts';
import { errorToRecord, hashBrief, resultToValue, valueToRecord } from './results.ts';
import { describeStepChange, type FlowState, type StepResult, type StepState } from './state.ts';

export interface FlowProgress {
  /** How many steps the program has begun in this process. */
  begun: number;
  /** Steps whose results the program waits for. */
  waiting: Map<number, (result: StepResult) => void>;
  /** Delegations that the program has cancelled, with the reason. */
  cancelled: Map<number, string>;
  /** Side effects that are under way. */
  effects: Set<Promise<unknown>>;
  /** How the program differs from the record; it gets no further results. */
  failure: string | null;
  /** Aborts when nothing more may be recorded. */
  ends: AbortController;
}

const maxNameBytes = 2_000;

export function createFlowSteps(run: Run, progress: FlowProgress, services: Services): FlowSteps {
  const { clock, deadlines, journal, redact, runs } = services;
  const flow = run.state.flow as FlowState;
  const { cancelled } = progress;
  const isOver = () => progress.ends.signal.aborted || run.signal.aborted || progress.failure !== null;

  type NewStep = Pick<FactData['step.started'], 'kind' | 'name' | 'at'> & {
    brief?: string | undefined;
    formerName?: string | undefined;
    idempotent?: boolean;
    until?: string;
    more?: (step: number) => Draft[];
  };

  /** Numbers a step, in the same tick as the program's call. `recorded` resolves when it is recorded; null if it must not be carried out. */
  function begin({ kind, name: given, formerName, at, brief, idempotent = true, until, more }: NewStep): {
    step: number;
    recorded: Promise<StepState | null>;
  } {
    const step = ++progress.begun;
    const toName = (text: string) => cutBytes(redact(text.toWellFormed(), false), maxNameBytes).text;
    const name = toName(given);
    const known = flow.steps[step - 1];
    const names = [name, ...(formerName === undefined ? [] : [toName(formerName)])];
    const change = known && describeStepChange(known, { at, brief, kind, name }, names);
    if (change) {
      progress.failure ??= `step ${step} is now ${change}`;
      run.notify();
    }
    if (isOver()) return { step, recorded: Promise.resolve(null) };
    if (known) return { step, recorded: Promise.resolve(known) };
    const data = { at, ...(brief !== undefined && { brief }), idempotent, kind, name, step, ...(until !== undefined && { until }) };
    const durable = run.record([{ type: 'step.started', data }, ...(more?.(step) ?? [])]);
    return {
      step,
      // A tree that was lost stops the run.
      recorded: durable.then(
        () => (isOver() ? null : (flow.steps[step - 1] ?? null)),
        () => null,
      ),
    };
  }

  /** Never settles if the flow is over. */
  function waitForResult(step: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (isOver()) return promise;
    // A program that ends without looking at it must not end the process.
    promise.catch(() => {});
    progress.waiting.set(step, (result) => {
      const settled = resultToValue(flow.steps[step - 1] as StepState, result);
      if (settled.ok) resolve(settled.value);
      else reject(settled.error);
    });
    run.notify();
    return promise;
  }

  /** Carries a step out, and records a failure of doing so. */
  function carryOut(step: number, recorded: Promise<StepState | null>, work: (step: StepState) => Promise<void>): void {
    const effect = recorded
      .then(async (state) => {
        if (!state || state.result) return;
        if (run.pauseRequest || run.state.paused) {
          await waitWhilePaused(run, services);
          // Otherwise a crash could leave the record of a pause during which nothing had begun.
          await journal.flushed();
        }
        if (isOver()) return;
        run.begun.add(state);
        await work(state);
      })
      // A side effect that the stop of the flow cut off has an unknown result.
      .catch((error: unknown) => (isOver() ? undefined : finish({ error: errorToRecord(error, redact), status: 'error', step })))
      .catch(() => {});
    progress.effects.add(effect);
    void effect.then(() => progress.effects.delete(effect));
  }

  async function finish(data: FactData['step.finished']): Promise<void> {
    // A result that came in time for the record is recorded even if the flow was stopped meanwhile.
    if (run.isClosing || flow.steps[data.step - 1]?.result) return;
    await run.record([{ type: 'step.finished', data }]);
    run.notify();
  }

  async function startChild({ step, childId }: StepState, brief: unknown, check: ProgramCheck | undefined): Promise<void> {
    if (childId === null) await services.startRun(brief, { parent: run, call: { index: 0, n: 0, turn: step }, check });
    const reason = cancelled.get(step);
    if (reason !== undefined) await cancelChild(step, reason);
  }

  async function cancelChild(step: number, reason: string): Promise<void> {
    const child = runs.get(flow.steps[step - 1]?.childId ?? '');
    if (child) await cancelRun(child, { reason, by: `run ${run.id}` }, services);
  }

  /** Calls `fire` at a time of the wall clock, unless the flow ends first. */
  function waitUntil(instant: string, fire: () => void): Promise<void> {
    const { signal } = progress.ends;
    return new Promise<void>((resolve) => {
      const stop = () => {
        endTimer();
        resolve();
      };
      const endTimer = deadlines.at(clock.monotonic() + isoToMs(instant) - clock.now(), () => {
        signal.removeEventListener('abort', stop);
        fire();
        resolve();
      });
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** The end of the last merge. They come one after the other, so an open plan is one of an earlier process. */
  let lastApply: Promise<unknown> = Promise.resolve();

  const expiresAt = (ms: number) => msToIso(clock.now() + ms);

  return {
    workspace: run.workspace,
    apply(runIds) {
      const applied = lastApply.then(() => applyForFlow(run, runIds, services));
      lastApply = applied.catch(() => {});
      return applied;
    },
    delegate(brief, { name, formerName, check }, at) {
      const { step, recorded } = begin({ kind: 'delegate', name, formerName, at, brief: hashBrief(brief, redact) });
      carryOut(step, recorded, (state) => startChild(state, brief, check));
      return { step, outcome: waitForResult(step) as ReturnType<FlowSteps['delegate']>['outcome'] };
    },
    cancel(step, reason) {
      cancelled.set(step, reason);
      void cancelChild(step, reason).catch(() => {});
    },
    step(name, effect, { idempotent, timeoutMs }, at) {
      const { step, recorded } = begin({ kind: 'step', name, at, idempotent });
      carryOut(step, recorded, async () => {
        const value = await runEffect(
          effect,
          { timeoutMs, name, signal: AbortSignal.any([run.signal.toAbortSignal(), progress.ends.signal]) },
          services,
        );
        const kept = valueToRecord(value, `the result of step \`${name}\``, redact);
        await finish({ status: 'ok', step, ...(kept !== undefined && { value: kept }) });
      });
      return waitForResult(step) as ReturnType<FlowSteps['step']>;
    },
    ask(question, { timeoutMs }, at) {
      const args = { question: redact(question.toWellFormed(), false) };
      const { owner, tool } = flowQuestion;
      const hash = hashCall(tool, args);
      const decision = { action: 'ask' as const, owner, rule: null };
      const more = (turn: number): Draft[] => [
        {
          type: 'approval.asked',
          data: { arguments: args, decision, expiresAt: expiresAt(timeoutMs), hash, index: 0, subjects: [], tool, turn },
        },
      ];
      const { step, recorded } = begin({ kind: 'ask', name: question, at, more });
      const refusal = { allowed: false, by: 'Retinue', reason: 'there was no answer in time' };
      carryOut(step, recorded, async ({ question: asked }) => {
        const refuse = () => void answerApproval(run, { call: { turn: step, index: 0, hash }, answer: refusal }, services).catch(() => {});
        if (asked?.approval) await waitUntil(asked.approval.expiresAt, refuse);
      });
      return waitForResult(step) as Promise<FlowAnswer>;
    },
    sleep(ms, at) {
      const { step, recorded } = begin({ kind: 'sleep', name: `${ms} ms`, at, until: expiresAt(ms) });
      const wake = () => void finish({ status: 'ok', step }).catch(() => {});
      carryOut(step, recorded, ({ until }) => waitUntil(until ?? expiresAt(0), wake));
      return waitForResult(step) as Promise<void>;
    },
    log(text, at) {
      const kind: StepKind = 'log';
      void begin({ kind, name: text, at });
    },
  };
}

export interface EffectOptions {
  name: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Rejects when the time is over, even if the effect ignores its signal. */
export async function runEffect(
  effect: (signal: AbortSignal) => unknown,
  { name, timeoutMs, signal }: EffectOptions,
  { clock, deadlines }: Services,
): Promise<unknown> {
  const late = Promise.withResolvers<never>();
  const controller = new AbortController();
  const endTimer = deadlines.at(clock.monotonic() + timeoutMs, () => {
    controller.abort();
    late.reject(new Error(`step \`${name}\` took longer than ${timeoutMs} ms`));
  });
  try {
    return await Promise.race([effect(AbortSignal.any([signal, controller.signal])), late.promise]);
  } finally {
    endTimer();
  }
}
